"""Losses: functions of the scores and relevance of rows in groups, independent of the model.

A loss returns one value per group, and the gradient of their mean with respect to the score of
each row. Any model that scores whole groups can therefore be trained on it. `get` makes a loss
from its name, such as ``get("pap-avg@10")``. Losses are frozen dataclasses. To add one, subclass
`podium.losses.Loss`, or `podium.losses.base.GroupLoss` if one pass over the groups computes the
loss. Declare its properties and register it. The tests in tests/laws then check the declared
properties.
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
from podium.losses.lambdarank import LambdaRank, LambdaTarget
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
from podium.losses.sl import TopSoftmax, TopSoftmaxTarget
from podium.losses.smooth_ranks import ApproxNDCG, ApproxTarget

__all__ = [
    "REGISTRY",
    "ApproxNDCG",
    "ApproxTarget",
    "BinaryTarget",
    "CosineTarget",
    "GroupLogistic",
    "GroupLogisticTarget",
    "LambdaRank",
    "LambdaTarget",
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
    "TopSoftmax",
    "TopSoftmaxTarget",
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
