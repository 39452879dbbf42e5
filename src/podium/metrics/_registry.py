"""The registry of metrics: what each one declares, and the rules that all of them share.

A metric is one function, Ranking -> (n_groups,) float64, under the `register` decorator. What it
declares there is what the law tests hold it to, so registering a metric tests it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.ranking import Ranking
from podium.registry import Registry
from podium.types import PerGroup, PerRow

P = ParamSpec("P")
MetricFunction: TypeAlias = Callable[Concatenate[Ranking, P], PerGroup]


@dataclass(frozen=True)
class Metric:
    """What a metric is and promises.

    Attributes
    ----------
    name : str
        As in a measure's text; a name that ends in "@k" takes that cutoff always.
    function : callable
        ``function(ranking, *, k, **options) -> float64, (n_groups,)``.
    cutoff : {"required", "optional", "none"}
        Whether it takes k.
    bounds : (low, high)
        No value lies outside.
    higher_is_better : bool
    graded : bool
        It reads grades; a group without relevance > 0 is undefined. Otherwise it reads
        relevance >= min_relevance, and a group without any such item is undefined.
    monotone : bool
        Swapping a better item upwards never makes the value worse.
    ideal_defined : bool
        The best list reaches the best bound.
    linear : bool
        ties="average" is offered, and gives the exact mean over the orders of equal scores.
    half_pairs : bool
        ties="average" counts one half for each tied pair instead, as the area under a ROC curve
        does. Over all pairs (auc) the two agree; among the top k they do not.
    exceptions : mapping
        Option values under which `monotone` or `ideal_defined` does not hold, by option, by
        property; `holds` reads them.
    needs : str
        What a group with positives must have, besides, for the metric to be defined; {name} and
        {k} stand for the metric and its cutoff. Empty where positives suffice.
    weights : callable, optional
        ``weights(ranking, k=..., **options)``: what each group's value is divided by, so that
        the sum of value x weight over the sum of weights is the pooled form.
    rank_weights : callable, optional
        ``rank_weights(n_ranks, n_items, k=..., **options)``: the value, float64, (n_ranks,), of a
        list of n_items items whose only relevant item, of grade 1, is at rank 1, 2, .... Without
        it, values up to a cutoff are computed from such lists (`podium.metrics.rank_weights`).
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
    exceptions: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[Any, ...]]]
    )
    needs: str = ""
    weights: Callable[..., PerGroup] | None = None
    rank_weights: Callable[..., PerRow] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Defaults of the options, by name."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "k"}

    def holds(self, law: Literal["monotone", "ideal_defined"], options: Mapping[str, Any]) -> bool:
        """Whether a declared property holds under these option values."""
        chosen = {**self.options, **options}
        excepted = self.exceptions.get(law, {})
        return getattr(self, law) and all(chosen[n] not in v for n, v in excepted.items())

    @property
    def worst(self) -> float:
        return self.bounds[0] if self.higher_is_better else self.bounds[1]

    @property
    def best(self) -> float:
        return self.bounds[1] if self.higher_is_better else self.bounds[0]


REGISTRY: Registry[Metric] = Registry(
    "measure", "name@k or name(option=value)@k, as ndcg@10", suffix="@k"
)
"""Every metric by its name; "auc@k" is another metric than "auc"."""


def register(
    name: str, *, aliases: tuple[str, ...] = (), **declared: Any
) -> Callable[[MetricFunction[P]], MetricFunction[P]]:
    """Register a metric, and put the rules that all metrics share around its function.

    The wrapper checks k, refuses ties="average" where it is not exact, sets nan where a group
    has nothing to find, and the worst value where no list was given.

    Parameters
    ----------
    name : str
    aliases : tuple of str
        Further names.
    **declared
        The attributes of `Metric`.
    """

    def enter(function: MetricFunction[P]) -> MetricFunction[P]:
        @functools.wraps(function)
        def checked(ranking: Ranking, *args: P.args, **options: P.kwargs) -> PerGroup:
            if entry.cutoff != "none" and not args:  # a positional k is refused by the call below
                _check.cutoff(options.get("k"), required=entry.cutoff == "required")
            if ranking.ties == "average" and not (entry.linear or entry.half_pairs):
                raise ArgumentError(
                    f"ties='average' is undefined for {name}, whose mean over the orders of "
                    "equal scores has no exact form here. Use 'worst', 'best', 'random' or 'id'."
                )
            with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is what undefined is
                values = function(ranking, *args, **options)
            return _finish(values, ranking, entry)

        entry = Metric(name=name, function=checked, **declared)
        REGISTRY.enter(name, entry, aliases)
        return checked

    return enter


def _finish(values: PerGroup, ranking: Ranking, entry: Metric) -> PerGroup:
    found = ranking.n_relevant if entry.graded else ranking.n_pos
    if ranking.absent is not None:
        undefined = np.isnan(values) & (ranking.n_items >= 0)  # whatever the list had been
        values[ranking.absent & ~undefined] = entry.worst
    values[found == 0] = np.nan
    return values


def lookup(name: str, *, has_cutoff: bool) -> Metric:
    """Return the metric of that name or alias, or say which ones there are."""
    with_k = f"{name}@k"
    found = REGISTRY.find(*((with_k, name) if has_cutoff else (name,)))
    if found is not None:
        return found
    if REGISTRY.find(with_k) is not None:
        raise ArgumentError(f"{name} needs a cutoff: write {name}@10, for example.")
    names = sorted({n.removesuffix("@k") for n in REGISTRY})
    close = _check.nearest(name.lower(), [*names, *REGISTRY.aliases])
    raise ArgumentError(f"measure {name!r} is not known.{close} There are: {', '.join(names)}.")
