"""The contract of deviations: faults of an implementation, beside the conventions of a protocol.

A deviation is one function under the decorator `register`. Its `stage` states what it takes:

- "tables": the truth and the run before they are joined. It returns both, or None if nothing
  changes.
- "values": a `Case`, the lists and the measure. It returns the value of each user, or a mean.
- "mean": the values that count, nan where none does, and the `Case`. It returns the mean.

The first sentence of the docstring is the answer of `podium.explain`, and the second paragraph is
the remedy. A plugin adds one in the same way (see `podium.registry`).
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium.discounts import discounts
from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.metrics import get as get_measure
from podium.ranking import Ranking
from podium.registry import Registry
from podium.types import Counts, Mask, PerGroup, PerRow

WHOLE = 2**31
"""The cutoff of a measure of whole lists."""

_MOST_ONES = 100_000


@dataclass(frozen=True, eq=False)
class Case:
    """Lists and a measure, with what formulas of deviations read.

    Attributes
    ----------
    ranking : Ranking
    measure : Measure
    n_others : int
        The users of the run that the truth lacks.
    """

    ranking: Ranking
    measure: Measure
    n_others: int = 0

    @property
    def k(self) -> int:
        """The cutoff, `WHOLE` without one."""
        return self.measure.k or WHOLE

    @cached_property
    def lengths(self) -> Counts:
        """The number of ranks of each list down to the cutoff, (n_users,)."""
        return np.minimum(self.ranking.groups.sizes, self.k)

    @cached_property
    def user(self) -> NDArray[np.int64]:
        """The number of the user of each rank, (n_rows,)."""
        return np.repeat(np.arange(self.ranking.n_groups), self.ranking.groups.sizes)

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Each rank, from 1, (n_rows,)."""
        return ranks(self.ranking.groups.offsets)

    @cached_property
    def within(self) -> Mask:
        """Whether a rank is within the cutoff, (n_rows,)."""
        return self.rank <= self.k

    @cached_property
    def hit(self) -> Mask:
        """Whether a rank within the cutoff has a positive, (n_rows,)."""
        return self.within & (self.ranking.relevance >= self.ranking.min_relevance)

    @cached_property
    def n_hits(self) -> PerGroup:
        """The number of hits of each user, (n_users,)."""
        return self.total(self.hit)

    @cached_property
    def precision(self) -> PerRow:
        """The share of hits among the ranks to each rank, (n_rows,)."""
        counts = np.cumsum(self.hit)
        before = np.append(0, counts)[self.ranking.groups.offsets[:-1]]
        return (counts - before[self.user]) / self.rank

    @cached_property
    def first(self) -> PerGroup:
        """The rank of the first hit of each user; inf without one, (n_users,)."""
        first = np.full(self.ranking.n_groups, np.inf)
        np.minimum.at(first, self.user[self.hit], self.rank[self.hit])
        return first

    @cached_property
    def last(self) -> PerGroup:
        """The rank of the last hit of each user; inf without one, (n_users,)."""
        last = np.where(self.n_hits > 0, 0.0, np.inf)
        np.maximum.at(last, self.user[self.hit], self.rank[self.hit])
        return last

    def total(self, values: Any) -> PerGroup:
        """Sum values of ranks by user."""
        return np.bincount(self.user, values, self.ranking.n_groups).astype(np.float64)

    def option(self, name: str) -> Any:
        """Return an option of the measure."""
        return self.measure.arguments().get(name, self.measure.metric.options.get(name))

    def value(self, name: str | None = None) -> PerGroup:
        """Return the value of the measure, or of another metric with the same cutoff."""
        k = None if name == "r_precision" else self.measure.k
        return (self.measure if name is None else get_measure(name, k=k))(self.ranking)

    def cut(self, k: int | None) -> PerGroup:
        """Return the value of the measure with another cutoff."""
        return replace(self.measure, k=k)(self.ranking)

    def gains(self, values: PerRow, gain: str | None = None) -> PerRow:
        """Return gains of relevances, by default those of the measure."""
        kind = gain or self.option("gain") or "linear"
        return GAINS[kind](values, self.ranking.min_relevance)

    def weights(self, ranks: NDArray[np.int64], discount: str | None = None) -> PerRow:
        """Return the discount of ranks, by default that of the measure."""
        kind: Any = discount or self.option("discount") or "log2"
        weights = DISCOUNTS.get(kind, lambda rank: discounts(rank.size, kind))
        with np.errstate(divide="ignore"):
            return weights(np.arange(1, int(ranks.max(initial=1)) + 1))[ranks - 1]

    def dcg(self, gain: str | None = None, discount: str | None = None) -> PerGroup:
        """Return the discounted gain of the lists."""
        weights = self.weights(self.rank, discount) * self.within
        return self.total(self.gains(self.ranking.relevance, gain) * weights)

    def best(
        self, depth: Any = None, gain: str | None = None, discount: str | None = None
    ) -> PerGroup:
        """Return the discounted gain of the best lists to a depth, by default the cutoff.

        The gain "ones" is 1 at each rank.
        """
        limit = np.broadcast_to(self.k if depth is None else depth, self.ranking.n_groups)
        if gain == "ones":
            last = int(np.minimum(limit, _MOST_ONES).max(initial=0))
            weights = self.weights(np.arange(1, last + 1), discount)
            return np.append(0.0, np.cumsum(weights))[np.minimum(limit, last).astype(np.int64)]
        user, rank = self.best_ranks
        weights = self.weights(rank, discount) * (rank <= limit[user])
        terms = self.gains(self.ranking.ideal, gain) * weights
        return np.bincount(user, terms, self.ranking.n_groups).astype(np.float64)

    @cached_property
    def best_ranks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The user and the rank of each item of the best lists."""
        offsets = self.ranking.ideal_offsets
        return np.repeat(np.arange(offsets.size - 1), np.diff(offsets)), ranks(offsets)


GAINS: dict[str, Callable[[PerRow, float], PerRow]] = {
    "linear": lambda grade, least: grade,
    "exp2": lambda grade, least: np.exp2(grade) - 1.0,
    "binary": lambda grade, least: (grade >= least).astype(np.float64),
    "squared": lambda grade, least: grade**2,
    "plus 1": lambda grade, least: grade + (grade > 0),
    "exp2 + 1": lambda grade, least: np.exp2(grade) * (grade > 0),
}
"""The gains of grades, given the threshold of relevant items."""

DISCOUNTS: dict[str, Callable[[NDArray[np.int64]], Any]] = {
    "shifted": lambda rank: 1.0 / np.log2(rank + 2.0),
    "natural": lambda rank: 1.0 / np.log(rank + 1.0),
    "decimal": lambda rank: 1.0 / np.log10(rank + 1.0),
    "reciprocal": lambda rank: 1.0 / rank,
    "root": lambda rank: rank**-0.5,
    "of-index": lambda rank: np.where(rank > 1, 1.0 / np.log2(np.maximum(rank, 2)), 0.0),
    "none": lambda rank: np.ones(rank.size),
}
"""The discounts that no convention has, of the ranks from 1."""


def ranks(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each row in its group, from 1."""
    return np.arange(1, int(offsets[-1]) + 1) - np.repeat(offsets[:-1], np.diff(offsets))


@dataclass(frozen=True, eq=False)
class Deviation:
    """A fault of an implementation.

    Attributes
    ----------
    name : str
    function : callable
    stage : {"tables", "values", "mean"}
        The arguments of the function, see the module.
    measures : tuple of str
        The metrics that can have it; empty for all.
    cutoffs : bool
        Whether only measures with a cutoff can have it.
    reads_whole : bool
        Whether it reads whole lists, and not only the ranks to the cutoff and the next one.
    keeps_nan : bool
        Whether nan leaves a user out; otherwise 0/0 counts 0.
    packages : tuple of str
        The packages that compute the measure in this way.
    keeps_ideal : bool
        Whether the best lists remain those of the tables before.
    reads_repeated : bool
        Whether it takes the run as given, in which items can be repeated.
    reads_ties : bool
        Whether it concerns the order of equal scores.
    odds : float
        How often an implementation has it, compared with not having it.
    """

    name: str
    function: Callable[..., Any]
    stage: Literal["tables", "values", "mean"] = "values"
    measures: tuple[str, ...] = ()
    cutoffs: bool = False
    reads_whole: bool = False
    keeps_nan: bool = False
    packages: tuple[str, ...] = ()
    keeps_ideal: bool = False
    reads_repeated: bool = False
    reads_ties: bool = False
    odds: float = 0.01

    @property
    def is_of_mean(self) -> bool:
        """Whether it concerns the users in the mean, or their weights."""
        return self.stage == "mean" or self.keeps_nan

    @property
    def _paragraphs(self) -> list[str]:
        text = inspect.getdoc(self.function) or ""
        return [" ".join(part.split()) for part in text.split("\n\n")]

    @property
    def sentence(self) -> str:
        """What is done, in one sentence."""
        return self._paragraphs[0].replace("{name}", self.name.partition("-")[2])

    @property
    def remedy(self) -> str:
        """What to do instead."""
        return "".join(self._paragraphs[1:2])

    def applies(self, measure: Measure) -> bool:
        """Return whether a measure can have this fault."""
        if (measure.k is None and self.cutoffs) or (
            self.measures and measure.name not in self.measures
        ):
            return False
        return self.name not in (f"as-{measure.name}", f"cutoff-{measure.k}")

    def values(self, case: Case) -> PerGroup | float:
        """Return the value of each user, or the mean; users without a relevant item have nan."""
        if case.ranking.ties in ("average", "threshold"):
            rule = case.ranking.ties
            raise ArgumentError(f"{self.name} is undefined for ties={rule!r}. Use another rule.")
        ranking, measure = case.ranking, case.measure
        n_relevant = ranking.n_relevant if measure.graded else ranking.n_pos
        if not n_relevant.any():
            return np.full(n_relevant.size, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.function(case)
        if np.ndim(values) == 0:
            return float(values)
        if not self.keeps_nan:
            values = np.where(np.isnan(values), 0.0, values)
            if ranking.absent is not None:
                values = np.where(ranking.absent, measure.metric.worst, values)
        return np.where(n_relevant == 0, np.nan, values)


REGISTRY: Registry[Deviation] = Registry("deviation", "a name such as ideal-not-cut")
"""Every deviation by its name."""


def register(
    name: str, *measures: str, **properties: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that registers a deviation of some metrics, or of all.

    Parameters
    ----------
    name : str
    *measures : str
        The names of metrics.
    **properties
        The other attributes of `Deviation`.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        REGISTRY.enter(name, Deviation(name, function, measures=measures, **properties))
        return function

    return enter


def register_file(
    name: str, function_of: Callable[[str, Any], Callable[..., Any]], **properties: Any
) -> None:
    """Register the deviations of a file in TOML, which has their words and attributes.

    Parameters
    ----------
    name : str
        A file of this package. An entry with `names` stands for several deviations.
    function_of : callable
        A function from the name of a deviation and its entry to the function of the deviation.
    **properties
        Further attributes of all deviations.
    """
    known = {field.name for field in fields(Deviation)}
    content = files("podium.decide.explain").joinpath(name).read_text("utf-8")
    for key, entry in tomllib.loads(content).items():
        attributes: dict[str, Any] = {name: entry[name] for name in entry.keys() & known}
        attributes |= {name: tuple(entry.get(name, ())) for name in ("measures", "packages")}
        for deviation in entry.get("names", [key]):
            function = function_of(deviation, entry)
            function.__doc__ = f"{entry['sentence']}\n\n{entry['remedy']}"
            REGISTRY.enter(deviation, Deviation(deviation, function, **attributes, **properties))
