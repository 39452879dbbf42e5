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
from podium.losses._listwise import (
    CosineTarget,
    ListMLE,
    ListMLETarget,
    ListNet,
    ListNetLuce,
    LuceTarget,
    RankCosine,
    SoftmaxCrossEntropy,
    SoftmaxTarget,
)
from podium.losses._pairwise import (
    PairTarget,
    PairwiseExponential,
    PairwiseHinge,
    PairwiseLogistic,
)
from podium.losses._pap import PApAverage, PApMax, PApRamp, PAUCHinge
from podium.losses._pap_base import PApTarget
from podium.losses._pointwise import BinaryTarget, Logistic, Squared, SquaredTarget
from podium.losses._registry import (
    REGISTRY,
    from_spec,
    get,
    is_registered,
    parse,
    register,
    register_as,
    spec,
    split,
)
from podium.losses._robust import RoBiRank, RoBiRankTarget, RobustBinary
from podium.losses._structural import PApStruct, PApTightStruct

__all__ = [
    "REGISTRY",
    "BinaryTarget",
    "CosineTarget",
    "GroupLogistic",
    "GroupLogisticTarget",
    "ListMLE",
    "ListMLETarget",
    "ListNet",
    "ListNetLuce",
    "Logistic",
    "LuceTarget",
    "PAUCHinge",
    "PApAverage",
    "PApLogistic",
    "PApLogisticTarget",
    "PApMax",
    "PApRamp",
    "PApStruct",
    "PApTarget",
    "PApTightStruct",
    "PairTarget",
    "PairwiseExponential",
    "PairwiseHinge",
    "PairwiseLogistic",
    "RankCosine",
    "RoBiRank",
    "RoBiRankTarget",
    "RobustBinary",
    "SoftmaxCrossEntropy",
    "SoftmaxTarget",
    "Squared",
    "SquaredTarget",
    "from_spec",
    "get",
    "is_registered",
    "parse",
    "register",
    "register_as",
    "spec",
    "split",
]
