"""What the papers add to podium's registries; imported at the first name that those lack."""

from __future__ import annotations

import podium.papers.hiranandani2020.loose_struct
import podium.papers.xia2009.luce  # noqa: F401  each registers its loss
from podium.rankers.registry import register

_BASELINES = "podium.papers.hiranandani2020.baselines"

register("rankboost", "podium.papers.xia2009.rankboost", "RankBoost")
register("svm-pauc", _BASELINES, "SVMpAUC")
register("sgd-at-k", _BASELINES, "SGDAtK")
register("greedy-pap", _BASELINES, "GreedyPAp")
register("select-pap", _BASELINES, "SelectPAp")
