"""The registry of estimators by name."""

from __future__ import annotations

from podium.registry import Values
from podium.sampled.estimators.base import Estimator

REGISTRY: Values[Estimator] = Values(
    "estimator", "name or name(param=value), as bv(gamma=0.1)", base=Estimator
)
"""Every estimator class by its name; the law tests loop over it and read the declarations."""

# The default, and the literature's name for BV's distribution of ranks.
REGISTRY.aliases.update({"auto": "smooth", "bv-ranks": "bv"})

register, get, parse = REGISTRY.register, REGISTRY.make, REGISTRY.parse
