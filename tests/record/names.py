"""All that the record takes from podium: after a move, only this file changes."""

from __future__ import annotations

import podium
from podium import losses, metrics, rankers, recommenders, sampled
from podium.cli import main
from podium.data import movielens as read_movielens
from podium.errors import PodiumError
from podium.executors import Threads
from podium.experiments import behance, citation, movielens
from podium.experiments.papers._robirank_scale_cell import measure as scale_measure
from podium.experiments.papers.pap_objectives import Context as ObjectivesContext
from podium.experiments.papers.robirank_msd import FILE as TRIPLETS
from podium.experiments.papers.robirank_scale import asked as scale_asked
from podium.experiments.papers.table3 import Context as Table3Context
from podium.experiments.recipe import Recipe, load
from podium.experiments.recipe import names as recipe_names
from podium.experiments.rows import Rows
from podium.experiments.runner import study_of
from podium.experiments.verdict import judge
from podium.factorization import RoBiRank
from podium.groups import Groups
from podium.rankers import baselines
from podium.ranking import Ranking

__all__ = [
    "TRIPLETS",
    "Groups",
    "ObjectivesContext",
    "PodiumError",
    "Ranking",
    "Recipe",
    "RoBiRank",
    "Rows",
    "Table3Context",
    "Threads",
    "baselines",
    "behance",
    "citation",
    "judge",
    "load",
    "losses",
    "main",
    "metrics",
    "movielens",
    "podium",
    "rankers",
    "read_movielens",
    "recipe_names",
    "recommenders",
    "sampled",
    "scale_asked",
    "scale_measure",
    "study_of",
]
