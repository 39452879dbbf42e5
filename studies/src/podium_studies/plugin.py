"""Registration of the papers' rankers and losses, imported at the first unknown name."""

from __future__ import annotations

from importlib import import_module

from podium.rankers import REGISTRY
from podium.recommenders import REGISTRY as RECOMMENDERS

_BASELINES = "podium_studies.hiranandani2020.baselines"

REGISTRY.register_at("rankboost", "podium_studies.xia2009.rankboost", "RankBoost")
REGISTRY.register_at("svm-pauc", _BASELINES, "SVMpAUC")
REGISTRY.register_at("greedy-pap", _BASELINES, "GreedyPAp")
REGISTRY.register_at("select-pap", _BASELINES, "SelectPAp")

for _name, _package, _class in (
    ("als", "implicit", "ALS"),
    ("bpr", "implicit", "BPR"),
    ("warp", "lightfm", "WARP"),
    ("multi-vae", "cornac", "MultiVAE"),
    ("neumf", "cornac", "NeuMF"),
):
    RECOMMENDERS.register_at(_name, f"podium_studies.rivals.with_{_package}", _class)

# These modules register their losses.
for _losses in (
    *("hiranandani2020.surrogates", "xia2009.exponential", "xia2009.luce"),
    "yun2014.robust_binary",
):
    import_module(f"podium_studies.{_losses}")
