"""Whether a loss is top-k subgroup order sensitive: a search for what would refute it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from podium import _check
from podium.losses import Loss
from podium.papers.xia2009.consistency import _orders
from podium.papers.xia2009.consistency._reading import Reading, Scores
from podium.papers.xia2009.consistency._search import CONDITIONS, Condition, CounterExample, Search


@dataclass(frozen=True)
class Sensitivity:
    """What a search for counter-examples to definition 3 came back with.

    Attributes
    ----------
    n, k : int
    n_scores : int
        Score vectors tried, each with all n! orders and all pairs.
    counterexamples : tuple of CounterExample
        The first of each condition that was found violated; scores are tried from small whole
        numbers upwards.
    """

    n: int
    k: int
    n_scores: int
    counterexamples: tuple[CounterExample, ...]

    @property
    def refuted(self) -> bool:
        """True is a proof, by example. False says that this search found nothing, no more."""
        return bool(self.counterexamples)

    @property
    def violated(self) -> tuple[Condition, ...]:
        """Which conditions have a counter-example."""
        return tuple(found.condition for found in self.counterexamples)

    def __str__(self) -> str:
        what = f"top-{self.k} subgroup order sensitive for {self.n} objects"
        if not self.refuted:
            return f"{what}: no counter-example at {self.n_scores} score vectors (no proof)"
        return f"not {what}: violates {', '.join(self.violated)}"


def sensitivity(
    loss: Loss | str, n: int, k: int, *, n_random: int = 200, seed: int = 0
) -> Sensitivity:
    """Search for counter-examples to a loss being top-k subgroup order sensitive.

    Parameters
    ----------
    loss : Loss or str
        A loss, or its name as ``"listmle@2"``. It reads an order as relevance n at the
        top, n - 1 below it, and so on to 1.
    n : int
        Objects, 2 to 8; 5 take a second or so.
    k : int
        Of the top-k subgroups; the loss's own k, if it has one, is its own affair.
    n_random : int
        Score vectors drawn, beside all vectors of 0, 1 and 2 and others with ties and large gaps.
    seed : int

    Returns
    -------
    Sensitivity
        `refuted`, and the smallest counter-example found to each condition. A search that finds
        none has proved nothing.

    Notes
    -----
    Differences below 1e-9 of a value count as none. A kink counts against the loss: the
    definition asks for a differentiable one. The vector of zeros is left out, where cosines are
    undefined.

    References
    ----------
    xia2009, definition 3.

    Examples
    --------
    >>> from podium import losses
    >>> print(sensitivity(losses.get("listmle"), n=3, k=1))
    not top-1 subgroup order sensitive for 3 objects: violates constant
    >>> print(sensitivity(losses.get("listmle@1"), n=3, k=1))
    top-1 subgroup order sensitive for 3 objects: no counter-example at 244 score vectors (no proof)
    """
    n = _orders.size(n)
    search = Search(Reading(loss, n), _orders.depth(k, n))
    count = n_random and _check.cutoff(n_random, name="n_random")
    n_scores = 0
    for scores in _vectors(n, count, np.random.default_rng(_check.seed(seed))):
        search.at(scores)
        n_scores += 1
    found = [search.found[name] for name in CONDITIONS if name in search.found]
    return Sensitivity(n, search.k, n_scores, tuple(found))


def _vectors(n: int, n_random: int, rng: np.random.Generator) -> Iterator[Scores]:
    """Yield small whole numbers first, then large gaps, then draws with and without ties."""
    grid = sorted(itertools.product((0.0, 1.0, 2.0), repeat=n), key=lambda v: (max(v), sum(v)))
    yield from (np.array(v) for v in grid if any(v))
    for gap in (-1.0, 8.0, 40.0):
        yield from (np.array(v) for v in sorted(set(itertools.permutations([gap, *range(n - 1)]))))
    for i in range(n_random):
        drawn = rng.standard_normal(n) * rng.choice([0.3, 1.0, 4.0])
        if i % 2:
            drawn[rng.integers(n)] = drawn[rng.integers(n)]
        yield drawn
