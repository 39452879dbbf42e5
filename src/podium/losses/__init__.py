"""Losses in score space: immutable values that depend on scores in groups, and on no model.

A loss returns one value per group, and the gradient of their mean with respect to the score of
each row. Any model that scores whole groups can therefore be trained on it. `get` makes a loss
from its name, such as ``get("pap-avg@10")``. To add a loss, write a frozen dataclass on
`podium.losses.Loss` (or on `podium.losses.base.GroupLoss`, if one pass over the groups computes
it), declare its properties, and register it. The law tests then test these declarations.
"""

from podium.losses.base import (
    REGISTRY,
    Loss,
    as_loss,
    from_spec,
    get,
    is_registered,
    parse,
    register,
    register_as,
    spec,
    split,
)
from podium.losses.grouped import (
    GroupLogistic,
    GroupLogisticTarget,
    PApLogistic,
    PApLogisticTarget,
)
from podium.losses.listmle import ListMLE, ListMLETarget
from podium.losses.listnet import ListNet, SoftmaxCrossEntropy, SoftmaxTarget
from podium.losses.pairwise import (
    PairTarget,
    PairwiseExponential,
    PairwiseHinge,
    PairwiseLogistic,
)
from podium.losses.pap import PApAverage, PApMax, PApRamp, PApTarget, PApTightStruct, PAUCHinge
from podium.losses.pointwise import BinaryTarget, Logistic, Squared, SquaredTarget
from podium.losses.rankcosine import CosineTarget, RankCosine
from podium.losses.robust import RoBiRank, RoBiRankTarget, RobustBinary

__all__ = [
    "REGISTRY",
    "BinaryTarget",
    "CosineTarget",
    "GroupLogistic",
    "GroupLogisticTarget",
    "ListMLE",
    "ListMLETarget",
    "ListNet",
    "Logistic",
    "Loss",
    "PAUCHinge",
    "PApAverage",
    "PApLogistic",
    "PApLogisticTarget",
    "PApMax",
    "PApRamp",
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
    "as_loss",
    "from_spec",
    "get",
    "is_registered",
    "parse",
    "register",
    "register_as",
    "spec",
    "split",
]
