"""Whole rankings of users whose targets share a sample: every measure, with all their targets."""

from podium.sampled.shared.ranks import SharedRanks
from podium.sampled.shared.sampling import sample_shared

__all__ = ["SharedRanks", "sample_shared"]
