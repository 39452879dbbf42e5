"""The registry of metrics: the properties of each metric, and the checks that all of them share.

A metric is one function, Ranking -> (n_groups,) float64, under the `register` decorator. The law
tests check every registered metric against the properties that it declares.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._grammar import write
from podium.errors import ArgumentError, arg, hint
from podium.ranking import Ranking
from podium.registry import Registry
from podium.types import Mask, PerGroup, PerRow

P = ParamSpec("P")
MetricFunction: TypeAlias = Callable[Concatenate[Ranking, P], PerGroup]


@dataclass(frozen=True, eq=False)
class Places:
    """Places of one of the positives of a list, counted from the best one.

    Attributes
    ----------
    above : int64, (n,)
        The numbers of negatives above it.
    n_items : int
        The length of the list.
    position : int
        The number of the positive, from 1 to n_pos.
    n_pos : int
        The number of positives in the list.
    """

    above: NDArray[np.int64]
    n_items: int
    position: int = 1
    n_pos: int = 1

    @property
    def ranks(self) -> NDArray[np.int64]:
        """The ranks in the list, from 1: int64, (n,)."""
        return self.above + self.position

    def within(self, k: int | None) -> PerRow:
        """Return 1 for each place among the first k ranks, and 0 for others: float64, (n,)."""
        return (self.ranks <= (self.n_items if k is None else k)).astype(np.float64)

    def reachable(self, k: int | None) -> int:
        """Return the largest number of positives among the first k ranks."""
        return self.n_pos if k is None else min(k, self.n_pos)


@dataclass(frozen=True)
class Metric:
    """A metric and its properties.

    Attributes
    ----------
    name : str
        The name in a measure's text. A name that ends in "@k" always takes a cutoff.
    function : callable
        ``function(ranking, *, k, **options) -> float64, (n_groups,)``.
    cutoff : {"required", "optional", "none"}
        Whether the metric takes k.
    bounds : (low, high)
        The smallest and the largest possible value.
    higher_is_better : bool
        Whether a higher value is better.
    graded : bool
        Whether the metric uses grades. If so, a group without relevance > 0 is undefined. If
        not, the metric uses relevance >= min_relevance, and a group without such an item is
        undefined.
    monotone : bool
        Whether swapping a better item upwards never makes the value worse.
    ideal_defined : bool
        Whether the best list reaches the best bound.
    linear : bool
        Whether ties="average" is supported and gives the exact mean over the orders of equal
        scores.
    half_pairs : bool
        Whether ties="average" counts one half for each tied pair instead, as in the area under
        a ROC curve. Over all pairs (auc) the two definitions agree; among the top k they differ.
    thresholds : bool
        Whether ties="threshold" is supported: all items of a tie have the last of their ranks.
    needs_positive : bool
        Whether a group without a relevant item is undefined.
    judgements : bool
        Whether the metric reads which items are judged (`Ranking.judged`).
    exceptions : mapping
        The option values for which `monotone`, `ideal_defined` or `graded` does not hold, as a
        mapping of the property to a mapping of the option to values. It is used by `holds`.
    needs : str
        The condition, besides a positive, under which a group's value is defined. The text may
        contain {name} and {k}. It is empty if a positive is sufficient.
    undefined : callable, optional
        ``undefined(ranking, k=..., **options)``, bool, (n_groups,): the groups whose value is
        undefined for every list, besides those without a relevant item. By default, there are none.
        A group without a list then has the worst value.
    weights : callable, optional
        ``weights(ranking, k=..., **options)``, the divisor of each group's value. The pooled
        value is the sum of value x weight over the sum of weights.
    rank_weights : callable, optional
        ``rank_weights(places, k=..., **options)``, float64, (n,), for metrics whose value is a sum
        over the positives, all of grade 1: the term of a positive at each of the `Places`. Without
        it, the values of lists with one positive are computed up to a cutoff
        (`podium.metrics.rank_weights`).
    reads : {"relevance", "catalogue", "items"}
        The input of the metric: the relevance in a Ranking; the items shown and the
        catalogue of past interactions; or the items shown and a table of items. Only metrics that
        read relevance have a value for a Ranking; `podium.measure` computes the others.
    is_mean : bool
        Whether the metric is a mean over groups. If not, the values of groups only serve to compute
        its standard error; their mean is the metric.
    of_shown : callable, optional
        ``of_shown(shown, k=..., **options)``, float64, (n_users,): the value of each user, for
        metrics that do not read relevance; see `register_shown`.
    """

    name: str
    function: Callable[..., PerGroup]
    cutoff: Literal["required", "optional", "none"]
    bounds: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    graded: bool = False
    monotone: bool = True
    ideal_defined: bool = True
    linear: bool = False
    half_pairs: bool = False
    thresholds: bool = False
    needs_positive: bool = True
    judgements: bool = False
    exceptions: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[Any, ...]]]
    )
    needs: str = ""
    undefined: Callable[..., Mask] | None = None
    weights: Callable[..., PerGroup] | None = None
    rank_weights: Callable[..., PerRow] | None = None
    reads: Literal["relevance", "catalogue", "items"] = "relevance"
    is_mean: bool = True
    of_shown: Callable[..., PerGroup] | None = None

    @functools.cached_property
    def options(self) -> dict[str, Any]:
        """The defaults of the options, by name."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "k"}

    def holds(
        self, law: Literal["monotone", "ideal_defined", "graded"], options: Mapping[str, Any]
    ) -> bool:
        """Return whether a declared property holds with these option values."""
        values = {**self.options, **options}
        exceptions = self.exceptions.get(law, {})
        return getattr(self, law) and all(values[n] not in v for n, v in exceptions.items())

    @property
    def sign(self) -> float:
        """1 if higher values are better, else -1."""
        return 1.0 if self.higher_is_better else -1.0

    @property
    def worst(self) -> float:
        """The bound of the values that no list can be worse than."""
        return self.bounds[0] if self.higher_is_better else self.bounds[1]

    @property
    def best(self) -> float:
        """The bound of the values that no list can be better than."""
        return self.bounds[1] if self.higher_is_better else self.bounds[0]


REGISTRY: Registry[Metric] = Registry(
    "measure", "name@k or name(option=value)@k, such as ndcg@10", suffix="@k", ignore_case=True
)
"""Every metric of relevance by its name. "auc@k" and "auc" are different metrics."""

SHOWN: Registry[Metric] = Registry(
    REGISTRY.noun, REGISTRY.form, suffix=REGISTRY.suffix, ignore_case=True
)
"""Every metric of the items shown by its name."""


def register(
    name: str, *, aliases: tuple[str, ...] = (), **properties: Any
) -> Callable[[MetricFunction[P]], MetricFunction[P]]:
    """Return a decorator that registers a metric and adds the checks that all metrics share.

    The decorated function checks k and raises if the rule for equal scores is not supported. It
    returns nan for a group without a relevant item (unless needs_positive=False), and the worst
    value for a group without a list, or nan if each list of this group is `undefined`.

    Parameters
    ----------
    name : str
        The name of the metric.
    aliases : tuple of str
        Other names of the metric.
    **properties
        The other attributes of `Metric`.
    """

    def enter(function: MetricFunction[P]) -> MetricFunction[P]:
        @functools.wraps(function)
        def checked(ranking: Ranking, *args: P.args, **options: P.kwargs) -> PerGroup:
            if entry.cutoff != "none" and not args:  # a positional k raises in the call below
                _check.cutoff(options.get("k"), required=entry.cutoff == "required")
            _refuse_ties(ranking, entry)
            with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 gives nan: undefined
                values = function(ranking, *args, **options)
            return _set_undefined(values, ranking, entry, options)

        entry = Metric(name=name, function=checked, **properties)
        REGISTRY.enter(name, entry, aliases)
        return checked

    return enter


def register_shown(
    name: str,
    *,
    reads: Literal["catalogue", "items"],
    aliases: tuple[str, ...] = (),
    **properties: Any,
) -> Callable[[Callable[..., PerGroup]], Callable[..., PerGroup]]:
    """Return a decorator that registers a metric of the items shown.

    The decorated function takes `podium.metrics.Shown`, the lists of a run, and the options of the
    metric. It returns a value for each user, whose mean is the metric: nan for a user without one.

    Parameters
    ----------
    name : str
        The name of the metric, which always takes a cutoff.
    reads : {"catalogue", "items"}
        The table that it needs beside the lists: past interactions, or items.
    aliases : tuple of str
        Other names of the metric.
    **properties
        The other attributes of `Metric`.
    """

    def enter(function: Callable[..., PerGroup]) -> Callable[..., PerGroup]:
        @functools.wraps(function)
        def refuse(_ranking: Ranking, *, k: int, **options: Any) -> PerGroup:
            raise error_of_shown(write(name, {n: v for n, v in options.items() if v}, k), reads)

        entry = Metric(name, refuse, "required", reads=reads, of_shown=function, **properties)
        SHOWN.enter(name, entry, aliases)
        return function

    return enter


def _refuse_ties(ranking: Ranking, entry: Metric) -> None:
    """Raise if the metric has no value under the rule for equal scores."""
    if ranking.ties == "average" and not (entry.linear or entry.half_pairs):
        raise ArgumentError(
            f"{arg.ties('average')} is undefined for {entry.name}, because its mean over the "
            "orders of equal scores has no exact form. Use 'worst', 'best', 'random' or 'id'."
        )
    if ranking.ties == "threshold" and not entry.thresholds:
        raise ArgumentError(
            f"{arg.ties('threshold')} is defined only for ap, got {entry.name}. Use another rule."
        )


def _set_undefined(
    values: PerGroup, ranking: Ranking, entry: Metric, options: Mapping[str, Any]
) -> PerGroup:
    """Set the values of groups without a list, and of groups without a relevant item."""
    if ranking.absent is not None:
        values[ranking.absent] = entry.worst
        if entry.undefined is not None:
            values[ranking.absent & entry.undefined(ranking, **options)] = np.nan
    if entry.needs_positive:
        n_relevant = ranking.n_relevant if entry.holds("graded", options) else ranking.n_pos
        values[n_relevant == 0] = np.nan
    return values


def error_of_shown(measure: str, parameter: str) -> ArgumentError:
    """Return the error for a measure of the items shown where relevance is measured."""
    return ArgumentError(
        f"{measure} measures the items shown, not their relevance. Use it in measure, compare "
        f"or gate{hint(f', with {arg[parameter]()}')}."
    )


def lookup(name: str, *, has_cutoff: bool) -> Metric:
    """Return the metric with this name or alias, or raise with the known names."""
    with_k = f"{name}@k"
    names = (with_k, name) if has_cutoff else (name,)
    metric = REGISTRY.find(*names) or SHOWN.find(*names)
    if metric is not None:
        return metric
    if REGISTRY.find(with_k) is not None:
        raise ArgumentError(f"{name} needs a cutoff: write {name}@10, for example.")
    known = sorted({n.removesuffix("@k") for n in REGISTRY})
    close = _check.nearest(name.lower(), [*known, *REGISTRY.aliases, *SHOWN, *SHOWN.aliases])
    raise ArgumentError(
        f"measure {name!r} is not known.{close} The measures are: {', '.join(known)}; and, of the "
        f"items shown, {', '.join(SHOWN)}."
    )
