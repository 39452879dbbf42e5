"""Warnings about undefined or small values whose reason the values do not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from podium._text import counted
from podium.errors import arg, warn
from podium.evaluation.evaluation import Evaluation
from podium.metrics import Measure
from podium.types import LowGrades, PerGroup


def warn_of_undefined(
    values: Mapping[str, PerGroup],
    measures: Sequence[Measure],
    *,
    min_relevance: float,
    low_grades: LowGrades,
    highest: float,
    any_positive: bool,
    any_counted: bool,
) -> None:
    """Warn of measures that are undefined in every group, with the reason.

    Parameters
    ----------
    values : dict of str to float64 (n_groups,)
        The values by measure.
    measures : sequence of Measure
    min_relevance : float
    low_grades : {"zero", "keep"}
        The treatment of relevances below min_relevance in graded measures.
    highest : float
        The largest relevance, 0 if nothing is relevant.
    any_positive : bool
        Whether any group has an item with at least min_relevance.
    any_counted : bool
        Whether any of these items counts. With unretrieved="drop", only listed items count.
    """
    all_undefined = [m for m in measures if values[str(m)].size and np.isnan(values[str(m)]).all()]
    without_positive = [
        m
        for m in all_undefined
        if highest == 0 or not (any_positive or (m.graded and low_grades == "keep"))
    ]
    if without_positive:
        names = _names_with_verb(without_positive)
        warn(
            f"No relevance is above 0, so {names} undefined. Check the relevance column."
            if highest == 0
            else f"No relevance reaches {arg.min_relevance(min_relevance)}: the largest is "
            f"{highest:g}, so {names} undefined. Pass {arg.min_relevance(highest)} or less."
        )
    without_hit = [] if any_counted else [m for m in all_undefined if m not in without_positive]
    if without_hit:
        warn(
            f"The lists hold no relevant item, and {arg.unretrieved('drop')} leaves out those that "
            f"they lack, so {_names_with_verb(without_hit)} undefined. Check the lists, or use "
            f"{arg.unretrieved('count')}."
        )
    for m in all_undefined:
        if m not in (*without_positive, *without_hit):
            needed = m.metric.needs.format(name=m.name, k=m.k) or "the items that it needs"
            n = values[str(m)].size
            warn(f"{m} is undefined for all groups ({counted(n, 'groups')}): none has {needed}.")


def warn_of_scale(measures: Sequence[Measure], highest: float) -> None:
    """Warn if err gets relevance of at most 1, which it treats as the low end of a scale."""
    for m in measures:
        if m.name == "err" and "max_grade" not in dict(m.options) and 0 < highest <= 1:
            max_grade = m.metric.options["max_grade"]
            binary_measure = Measure(m.name, m.k, (("max_grade", 1.0),))
            warn(
                f"{m} assumes grades from 0 to max_grade={max_grade:g}, but the largest relevance "
                f"is {highest:g}. An item of this relevance at rank 1 adds only "
                f"{(2**highest - 1) / 2**max_grade:.3g}. "
                f"Write {binary_measure} if relevance is 0 or 1."
            )


def warn_of_fractions(
    n_below: int, n_relevant: int, measures: Sequence[Measure], *, min_relevance: float
) -> None:
    """Warn of relevance between 0 and the default threshold, which counts as not relevant.

    Parameters
    ----------
    n_below, n_relevant : int
        The number of relevances between 0 and min_relevance, and of those above 0.
    measures : sequence of Measure
    min_relevance : float
    """
    binary_measures = [m for m in measures if not m.graded]
    if 0 < n_below < n_relevant and binary_measures:
        warn(
            f"{n_below} of {n_relevant} relevances above 0 are below "
            f"{arg.min_relevance(min_relevance)} and count as not relevant in "
            f"{', '.join(map(str, binary_measures))}. Pass {arg.min_relevance()} to set the "
            "threshold."
        )


def _names_with_verb(measures: Sequence[Measure]) -> str:
    return f"{', '.join(map(str, measures))} {'is' if len(measures) == 1 else 'are'}"


def warn_of_open_ties(like: str | None, evaluations: Mapping[str, Evaluation]) -> None:
    """Warn if a mean depends on an order of equal scores that nobody chose.

    Parameters
    ----------
    like : str, optional
        The package whose conventions apply, but whose order is not defined.
    evaluations : mapping of run to Evaluation
    """
    found = [
        (f"{name} of {run}" if run else name, effect)
        for run, evaluation in evaluations.items()
        for name, effect in evaluation.open_ties()
    ]
    if not found:
        return
    name, effect = found[0]
    more = [other for other, _ in found[1:]]
    start = "The order of equal scores"
    if like is not None:
        start = f"{like} leaves the order of equal scores open, and it"
    warn(
        f"{start} decides the value of {effect.n_lists:,} of "
        f"{effect.n_groups:,} lists. {name} is between {effect.last:.4f} (relevant items last, as "
        f"reported) and {effect.first:.4f} (relevant items first)."
        + (f" It also matters for {', '.join(more)}." if more else "")
        + f" Break ties in the model, or pass {arg.ties()} to choose an order."
    )
