"""Populations of users whose ranks have a known distribution: power laws, lognormals and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import beta, norm

from podium_studies.jin2021.protocol import Floats, Ints

Part: TypeAlias = "tuple[float, str, float, float]"
"""The weight of a part of a mixture, the name of its family, and two parameters of the family."""


def _power(ranks: Floats, exponent: float, shift: float) -> Floats:
    """Return the cumulative weights of (rank + shift) ** -exponent."""
    return np.cumsum((ranks + shift) ** -exponent)


def _lognormal(ranks: Floats, divisor: float, deviation: float) -> Floats:
    """Return a lognormal distribution with median n_items / divisor; `deviation` is of the log."""
    return norm.cdf(np.log(ranks * divisor / ranks.size) / deviation)


def _beta(ranks: Floats, a: float, b: float) -> Floats:
    """Return a Beta distribution of the rank's share of the catalogue."""
    return beta.cdf(ranks / ranks.size, a, b)


FAMILIES: Mapping[str, Callable[[Floats, float, float], Floats]] = {
    "power": _power,
    "lognormal": _lognormal,
    "beta": _beta,
}
"""The families by name. Continuous ranks are rounded up."""


@lru_cache(maxsize=4)
def cumulative(parts: tuple[Part, ...], n_items: int) -> Floats:
    """Return the probability of each rank or a smaller one, in a mixture: float64, (n_items,).

    Examples
    --------
    >>> cumulative(((1.0, "power", 0.0, 0.0),), 4)
    array([0.25, 0.5 , 0.75, 1.  ])
    """
    ranks = np.arange(1.0, n_items + 1)
    total = np.zeros(n_items)
    for weight, family, first, second in parts:
        values = FAMILIES[family](ranks, first, second)
        total += weight * values / values[-1]
    return total / total[-1]


def mixture(parts: Iterable[Iterable[Any]]) -> tuple[Part, ...]:
    """Return the parts of a mixture, read from the lists of a recipe."""
    return tuple((float(w), str(family), float(a), float(b)) for w, family, a, b in parts)


def draw(parts: tuple[Part, ...], n_items: int, n_users: int, rng: np.random.Generator) -> Ints:
    """Draw the ranks of users from a mixture: int64, (n_users,)."""
    places = np.searchsorted(cumulative(parts, n_items), rng.random(n_users), side="right")
    return np.minimum(places, n_items - 1) + 1
