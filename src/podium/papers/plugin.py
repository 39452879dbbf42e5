"""What the papers add to podium's registries; imported at the first name that those lack."""

from __future__ import annotations

import podium.papers.hiranandani2020.loose_struct
import podium.papers.xia2009.luce  # noqa: F401  each registers its loss
from podium.rankers.registry import register_at

_BASELINES = "podium.papers.hiranandani2020.baselines"

register_at("rankboost", "podium.papers.xia2009.rankboost", "RankBoost")
register_at("svm-pauc", _BASELINES, "SVMpAUC")
register_at("sgd-at-k", _BASELINES, "SGDAtK")
register_at("greedy-pap", _BASELINES, "GreedyPAp")
register_at("select-pap", _BASELINES, "SelectPAp")
