"""Losses of whole lists against their ground-truth order, in full and at the top."""

from podium.losses._listwise._listmle import ListMLE, ListMLETarget
from podium.losses._listwise._luce import ListNetLuce, LuceTarget
from podium.losses._listwise._rankcosine import CosineTarget, RankCosine
from podium.losses._listwise._softmax import ListNet, SoftmaxCrossEntropy, SoftmaxTarget

__all__ = [
    "CosineTarget",
    "ListMLE",
    "ListMLETarget",
    "ListNet",
    "ListNetLuce",
    "LuceTarget",
    "RankCosine",
    "SoftmaxCrossEntropy",
    "SoftmaxTarget",
]
