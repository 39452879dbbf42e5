"""All names that the record imports from podium; after a move only this file changes."""

from __future__ import annotations

import podium
from podium import losses, metrics, rankers, recommenders, sampled
from podium.cli import main
from podium.errors import PodiumError
from podium.executors import Threads
from podium.groups import Groups
from podium.ranking import Ranking
from podium.recommenders import Factorization

__all__ = [
    "Factorization",
    "Groups",
    "PodiumError",
    "Ranking",
    "Threads",
    "losses",
    "main",
    "metrics",
    "podium",
    "rankers",
    "recommenders",
    "sampled",
]
