"""The registry of rankers by name, for `podium train --model` and files of models.

``get("linear", l2=0.1)`` returns a ranker, and ``REGISTRY["linear"]`` is its class.
"""

from __future__ import annotations

from typing import Any

from podium.registry import Models

REGISTRY: Models[Any] = Models("ranker", "name or name(param=value), such as linear(l2=0.1)")
"""Every ranker by its name. The tests in tests/laws run on each of them."""

register, register_at = REGISTRY.register, REGISTRY.register_at
get, parse = REGISTRY.make, REGISTRY.parse

register_at("linear", "podium.rankers.linear", "LinearRanker")
register_at("neural", "podium.rankers.neural", "NeuralRanker")
register_at("lightgbm", "podium.rankers.boosting.lightgbm", "LightGBMRanker")
register_at("xgboost", "podium.rankers.boosting.xgboost", "XGBoostRanker")
register_at("logistic-regression", "podium.rankers.logistic", "LogisticRanker")
