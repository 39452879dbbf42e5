"""Losses of pairs: what two rows of one group and different relevance cost, by their scores."""

from podium.losses._pairwise._base import PairTarget
from podium.losses._pairwise._losses import PairwiseExponential, PairwiseHinge, PairwiseLogistic

__all__ = ["PairTarget", "PairwiseExponential", "PairwiseHinge", "PairwiseLogistic"]
