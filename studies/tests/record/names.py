"""All names that the record imports from the studies; after a move only this file changes."""

from __future__ import annotations

from podium_studies.archive import movielens as read_movielens
from podium_studies.cells import parts
from podium_studies.hiranandani2020 import baselines, behance, citation, movielens
from podium_studies.hiranandani2020.splits import scaled_parts as objective_splits
from podium_studies.hiranandani2020.table3 import Context as Table3Context
from podium_studies.page import shown
from podium_studies.recipe import load
from podium_studies.recipe import names as recipe_names
from podium_studies.rows import Rows
from podium_studies.runner import study_of
from podium_studies.study import Recipe
from podium_studies.verdict import judge
from podium_studies.xia2009.rankboost import RankBoost
from podium_studies.yun2014.msd import FILE as TRIPLETS
from podium_studies.yun2014.scale import asked as scale_asked
from podium_studies.yun2014.scale import measure as scale_measure

__all__ = [
    "TRIPLETS",
    "RankBoost",
    "Recipe",
    "Rows",
    "Table3Context",
    "baselines",
    "behance",
    "citation",
    "judge",
    "load",
    "movielens",
    "objective_splits",
    "parts",
    "read_movielens",
    "recipe_names",
    "scale_asked",
    "scale_measure",
    "shown",
    "study_of",
]
