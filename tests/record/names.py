"""All names that the record imports from podium; after a move only this file changes."""

from __future__ import annotations

import podium
from podium import losses, metrics, rankers, recommenders, sampled
from podium.cli import main
from podium.data import movielens as read_movielens
from podium.errors import PodiumError
from podium.executors import Threads
from podium.groups import Groups
from podium.papers.hiranandani2020 import baselines, behance, citation, movielens
from podium.papers.hiranandani2020.objectives import splits as objective_splits
from podium.papers.hiranandani2020.table3 import Context as Table3Context
from podium.papers.recipe import Recipe, load
from podium.papers.recipe import names as recipe_names
from podium.papers.rows import Rows
from podium.papers.runner import study_of
from podium.papers.verdict import judge
from podium.papers.xia2009.rankboost import RankBoost
from podium.papers.yun2014.msd import FILE as TRIPLETS
from podium.papers.yun2014.scale import asked as scale_asked
from podium.papers.yun2014.scale_fit import measure as scale_measure
from podium.ranking import Ranking
from podium.recommenders import Factorization

__all__ = [
    "TRIPLETS",
    "Factorization",
    "Groups",
    "PodiumError",
    "RankBoost",
    "Ranking",
    "Recipe",
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
    "objective_splits",
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
