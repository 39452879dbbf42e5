"""Registration of the papers' rankers and losses, imported at the first unknown name."""

from __future__ import annotations

from importlib import import_module

from podium.rankers.registry import register_at

_BASELINES = "podium.papers.hiranandani2020.baselines"

register_at("rankboost", "podium.papers.xia2009.rankboost", "RankBoost")
register_at("svm-pauc", _BASELINES, "SVMpAUC")
register_at("sgd-at-k", _BASELINES, "SGDAtK")
register_at("greedy-pap", _BASELINES, "GreedyPAp")
register_at("select-pap", _BASELINES, "SelectPAp")

# These modules register their losses.
for _losses in ("hiranandani2020.loose_struct", "xia2009.luce"):
    import_module(f"podium.papers.{_losses}")
