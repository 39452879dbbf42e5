"""Ranks of targets by an expensive model that scores few items: those of a proxy, and random ones.

`scan` lets a model score as few items as possible. `evaluate_scan` estimates measures
from the result, and `compare_scans` compares several models. `draw_strata` chooses all items to
score in advance.
"""

from podium.sampled.scanning.ranks import ScannedRanks
from podium.sampled.scanning.results import compare_scans, evaluate_scan
from podium.sampled.scanning.scan import scan
from podium.sampled.scanning.strata import StratifiedCandidates, draw_strata

__all__ = [
    "ScannedRanks",
    "StratifiedCandidates",
    "compare_scans",
    "draw_strata",
    "evaluate_scan",
    "scan",
]
