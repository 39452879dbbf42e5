"""Robust losses: a sum of costs bent by a concave rho, of a row's margin or of its rank."""

from podium.losses._robust._binary import RobustBinary
from podium.losses._robust._robirank import RoBiRank, RoBiRankTarget

__all__ = ["RoBiRank", "RoBiRankTarget", "RobustBinary"]
