"""Registration of the papers' rankers and losses, imported at the first unknown name."""

from __future__ import annotations

from importlib import import_module

from podium.rankers import REGISTRY

_BASELINES = "podium_studies.hiranandani2020.baselines"

REGISTRY.register_at("rankboost", "podium_studies.xia2009.rankboost", "RankBoost")
REGISTRY.register_at("svm-pauc", _BASELINES, "SVMpAUC")
REGISTRY.register_at("sgd-at-k", _BASELINES, "SGDAtK")
REGISTRY.register_at("greedy-pap", _BASELINES, "GreedyPAp")
REGISTRY.register_at("select-pap", _BASELINES, "SelectPAp")

# These modules register their losses.
for _losses in ("hiranandani2020.loose_struct", "xia2009.luce"):
    import_module(f"podium_studies.{_losses}")
