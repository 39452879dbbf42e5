"""Losses: functions of the scores and relevance of rows in groups, independent of the model.

A loss returns one value per group, and the gradient of their mean with respect to the score of
each row. Any model that scores whole groups can therefore be trained on it. `get` makes a loss
from its name, such as ``get("pap-avg@10")``. Losses are frozen dataclasses. To add one, subclass
`podium.losses.Loss`, or `podium.losses.base.GroupLoss` if one pass over the groups computes the
loss. Declare its properties and register it. The tests in tests/laws then check the declared
properties.
"""

# Its losses are registered, but no names of this package.
from podium.losses import pairwise  # noqa: F401 # pyright: ignore[reportUnusedImport]
from podium.losses._margins import Margins, margins
from podium.losses.base import (
    REGISTRY,
    Loss,
    as_loss,
    from_spec,
    get,
    is_registered,
    parse,
    register,
    spec,
    split,
)
from podium.losses.gains import LambdaRank, RoBiRank
from podium.losses.grouped import GroupLogistic, PApLogistic
from podium.losses.listnet import ListNet, RankCosine
from podium.losses.listwise import ListMLE
from podium.losses.pap import PApAverage, PApMax, PApRamp, PApTightStruct
from podium.losses.pointwise import Logistic

__all__ = [
    "REGISTRY",
    "GroupLogistic",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "Logistic",
    "Loss",
    "Margins",
    "PApAverage",
    "PApLogistic",
    "PApMax",
    "PApRamp",
    "PApTightStruct",
    "RankCosine",
    "RoBiRank",
    "as_loss",
    "from_spec",
    "get",
    "is_registered",
    "margins",
    "parse",
    "register",
    "spec",
    "split",
]
