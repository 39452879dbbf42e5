"""Warnings about undefined or small values whose reason the values do not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from podium._text import counted
from podium.errors import arg, warn
from podium.evaluation.evaluation import Evaluation
from podium.metrics import Measure
from podium.ranking import Ranking


@dataclass(frozen=True)
class Relevances:
    """The relevances above 0 of some groups in the truth.

    Attributes
    ----------
    highest : float
        The largest one, 0 if nothing is relevant.
    n_relevant, n_below : int
        Their number, and how many of them are below a threshold that nobody chose.
    threshold : float
        The smallest relevance of a positive item.
    keeps_low : bool
        Whether graded measures count lower ones.
    """

    highest: float
    n_relevant: int
    n_below: int
    threshold: float
    keeps_low: bool

    @classmethod
    def of(cls, ranking: Ranking, *, by_default: bool = False) -> Relevances:
        """Return the relevances of a ranking, whose threshold nobody chose if `by_default`."""
        relevances = ranking.ideal if ranking.of_truth is None else ranking.of_truth[1]
        threshold = ranking.min_relevance
        n_below = int((relevances < threshold).sum()) if by_default else 0
        highest, keeps_low = float(relevances.max(initial=0.0)), ranking.low_grades == "keep"
        return cls(highest, relevances.size, n_below, threshold, keeps_low)

    def __add__(self, other: Relevances) -> Relevances:
        """Return the relevances of both groups."""
        return replace(
            self,
            highest=max(self.highest, other.highest),
            n_relevant=self.n_relevant + other.n_relevant,
            n_below=self.n_below + other.n_below,
        )


def warn_of_values(
    evaluation: Evaluation, measures: Sequence[Measure], relevances: Relevances
) -> None:
    """Warn of the values of all groups whose reason they do not show."""
    _warn_of_fractions(measures, relevances)
    _warn_of_undefined(evaluation, measures, relevances)
    _warn_of_scale(measures, relevances.highest)


def _warn_of_fractions(measures: Sequence[Measure], relevances: Relevances) -> None:
    """Warn of relevance between 0 and the default threshold, which counts as not relevant."""
    binary_measures = [m for m in measures if not m.graded]
    if 0 < relevances.n_below < relevances.n_relevant and binary_measures:
        warn(
            f"{relevances.n_below} of {relevances.n_relevant} relevances above 0 are below "
            f"{arg.min_relevance(relevances.threshold)} and count as not relevant in "
            f"{', '.join(map(str, binary_measures))}. Pass {arg.min_relevance()} to set the "
            "threshold."
        )


def _warn_of_undefined(
    evaluation: Evaluation, measures: Sequence[Measure], relevances: Relevances
) -> None:
    """Warn of measures that are undefined in every group, with the reason."""
    values, highest = evaluation.values, relevances.highest
    any_positive = bool(evaluation.n_positives.any())
    all_undefined = [m for m in measures if values[str(m)].size and np.isnan(values[str(m)]).all()]
    without_positive = [
        m
        for m in all_undefined
        if highest == 0 or not (any_positive or (m.graded and relevances.keeps_low))
    ]
    if without_positive:
        names = _names_with_verb(without_positive)
        warn(
            f"No relevance is above 0, so {names} undefined. Check the relevance column."
            if highest == 0
            else f"No relevance reaches {arg.min_relevance(relevances.threshold)}: the largest is "
            f"{highest:g}, so {names} undefined. Pass {arg.min_relevance(highest)} or less."
        )
    # With unretrieved="drop", only listed items count.
    any_counted = bool(evaluation.n_pos.any())
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


def _warn_of_scale(measures: Sequence[Measure], highest: float) -> None:
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
    open_means = [
        (f"{name} of {run}" if run else name, effect)
        for run, evaluation in evaluations.items()
        for name, effect in evaluation.open_ties()
    ]
    if not open_means:
        return
    name, effect = open_means[0]
    more = [other for other, _ in open_means[1:]]
    start = "The order of equal scores"
    if like is not None:
        start = f"{like} leaves the order of equal scores open, and it"
    warn(
        f"{start} decides the value of {effect.n_lists:,} of "
        f"{effect.n_groups:,} lists. {name} is between {effect.last:.4f} (relevant items last, as "
        f"reported) and {effect.first:.4f} (relevant items first)."
        + (f" It also matters for {', '.join(more)}." if more else "")
        + f" Break ties in the model, or pass the order that users see with {arg.ties()}."
    )
