"""Losses in score space: frozen values that read scores in groups and know no model.

A loss returns one value per group and the gradient of their mean by each row's score, so any
model that scores whole groups can be trained on it. `get` makes one from its name, as
``get("pap-avg@10")``. To add a loss, write a frozen dataclass that follows `podium.types.Loss`,
declare what holds of it, and register it: the law tests find it and test the declarations.
"""

from podium.losses._grouped import (
    GroupLogistic,
    GroupLogisticTarget,
    PApLogistic,
    PApLogisticTarget,
)
from podium.losses._pap import PApAverage, PApMax, PApRamp, PAUCHinge
from podium.losses._pap_base import PApTarget
from podium.losses._pointwise import Logistic, LogisticTarget
from podium.losses._registry import REGISTRY, from_spec, get, register, register_as, spec
from podium.losses._structural import PApStruct, PApTightStruct

__all__ = [
    "REGISTRY",
    "GroupLogistic",
    "GroupLogisticTarget",
    "Logistic",
    "LogisticTarget",
    "PAUCHinge",
    "PApAverage",
    "PApLogistic",
    "PApLogisticTarget",
    "PApMax",
    "PApRamp",
    "PApStruct",
    "PApTarget",
    "PApTightStruct",
    "from_spec",
    "get",
    "register",
    "register_as",
    "spec",
]
