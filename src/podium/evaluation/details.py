"""What a report shows besides means: distributions, curves over k, gains, losses and users.

The details are plain dictionaries, which `podium.report` draws. Lists and curves need the tables
that the values came from; without them, these keys are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium._json import plain
from podium.errors import PodiumError
from podium.evaluation import stats
from podium.evaluation.segments import BUILT_IN, by_quantile
from podium.evaluation.served import worst_served
from podium.metrics import Measure, parse
from podium.protocol import Conventions
from podium.report.figures import bin_values
from podium.types import Labels, PerGroup, Undefined

if TYPE_CHECKING:
    from podium.data import Run, Truth
    from podium.data.join import Whole
    from podium.data.sides import Side
    from podium.evaluation.comparison import Comparison
    from podium.evaluation.evaluation import Evaluation
    from podium.ranking import Ranking

_CUTOFFS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
_FURTHER = 10  # curves go up to this many times the cutoff of the measure
_MOST_MEASURES = 4
_MOST_RUNS = 6
_SAMPLED_USERS = 10_000
"""The users of curves if the tables are on disk, at equal distances in the order of ids."""
_N_BINS = 24


@dataclass(frozen=True, eq=False)
class KeptTables:
    """The tables of an evaluation, which `keep_lists=True` keeps.

    Attributes
    ----------
    truth : Truth
        The table as it was passed to `measure` if it was measured in parts.
    run : Run
        The same.
    measured : dict of str to (Measure, Conventions)
        Each measure of relevance as it was computed, with the options that a package fixes, and
        its conventions; by the text of the measure.
    shown : Conventions
        The conventions of measures of the items shown.
    item : str, optional
        The given name of the column of items.
    sides : (Side, Side), optional
        The truth and the run that were measured in parts, and can be read again.
    facts : Whole, optional
        The facts of these whole tables.
    """

    truth: Any
    run: Any
    measured: dict[str, tuple[Measure, Conventions]]
    shown: Conventions
    item: str | None = None
    sides: tuple[Side, Side] | None = None
    facts: Whole | None = None

    def conventions_of(self, measure: str) -> Conventions:
        """Return the conventions of the lists that a measure read."""
        return self.measured[measure][1] if measure in self.measured else self.shown

    def truth_of(self, labels: Labels) -> Truth | None:
        """Return a truth with all rows of these users; None if there are none."""
        return self.sides[0].of_users(labels, self.truth) if self.sides else self.truth

    def run_of(self, labels: Labels) -> Run | None:
        """Return a run with all rows of these users; None if there are none."""
        return self.sides[1].of_users(labels, self.run) if self.sides else self.run

    def sampled(self, labels: Labels) -> Labels:
        """Return the users whose lists give a curve: all of them, or some of tables on disk."""
        return labels if self.sides is None else labels[:: labels.size // _SAMPLED_USERS + 1]

    def ranker(self, truth: Truth | None, labels: Labels) -> Callable[..., Ranking] | None:
        """Return a function from conventions to the lists of users; None without lists.

        `truth` is that of these users, from `truth_of`.
        """
        from podium.data.build import ranked, ranking_of_some

        if self.facts is None:
            return None if truth is None else partial(ranked, truth, self.run)
        run = self.run_of(labels)
        if truth is None or run is None:
            return None
        return partial(ranking_of_some, truth, run, self.facts)


def of_evaluation(evaluation: Evaluation, titles: Any = None) -> dict[str, Any]:
    """Return the details of one run.

    Parameters
    ----------
    evaluation : Evaluation
    titles : mapping of item to title, or a table of items with a column title, optional
        The titles of items. Items without a title are shown by their ids.

    Returns
    -------
    dict
        "histograms" by measure, "curves" by metric, and "users", the worst-served users.
    """
    first = [*evaluation.per_group().items()][:_MOST_MEASURES]
    known = [name for name, values in first if not np.isnan(values).all()]
    return {
        "histograms": {name: histogram(evaluation, name) for name in known},
        "curves": curves({"": evaluation}, evaluation.measures),
        "users": worst_served({"": evaluation}, "", titles),
    }


def of_comparison(comparison: Comparison, titles: Any = None) -> dict[str, Any]:
    """Return the details of a comparison, by the first measure that is a mean over users.

    Parameters
    ----------
    comparison : Comparison
    titles : mapping of item to title, or a table of items with a column title, optional
        The titles of items. Items without a title are shown by their ids.

    Returns
    -------
    dict
        "gains" of the best run over the baseline, "curves" by metric of the best runs and the
        baseline, "runs_left_out", and "users", those whom the best run serves worst.
    """
    evaluations, baseline = comparison.evaluations, comparison.baseline
    measure = next(iter(evaluations[baseline].per_group()), None)
    best = [] if measure is None else best_runs(evaluations, measure)
    others = [run for run in best if run != baseline]
    if measure is None or not others:
        return {}
    in_curves = leaders(evaluations, baseline, measure)
    pair = {run: evaluations[run] for run in (baseline, others[0])}
    return {
        "gains": gains(comparison, measure, others[0]),
        "curves": curves(in_curves, evaluations[baseline].measures),
        "runs_left_out": len(evaluations) - len(in_curves),
        "users": worst_served(pair, best[0], titles),
    }


def histogram(evaluation: Evaluation, measure: str) -> dict[str, Any]:
    """Return the bins of the values of users, their mean, and the number of undefined ones."""
    return _bins(evaluation.filled(measure), evaluation.summary(measure).mean)


def _bins(values: PerGroup, mean: float) -> dict[str, Any]:
    n_undefined = int(np.isnan(values).sum())
    if n_undefined == values.size:
        return {"edges": [], "counts": [], "n_undefined": n_undefined}
    return {**bin_values(values, _N_BINS), "mean": mean, "n_undefined": n_undefined}


def leaders(
    evaluations: Mapping[str, Evaluation], baseline: str, measure: str
) -> dict[str, Evaluation]:
    """Return the baseline and the best runs by a measure, in their order."""
    best = {baseline, *best_runs(evaluations, measure)[: _MOST_RUNS - 1]}
    return {run: evaluation for run, evaluation in evaluations.items() if run in best}


def best_runs(evaluations: Mapping[str, Evaluation], measure: str) -> list[str]:
    """Return the runs with a mean, the best first; equal ones in their order."""
    sign = parse(measure).metric.sign
    means = {run: sign * e.summary(measure).mean for run, e in evaluations.items()}
    return sorted((run for run in means if not np.isnan(means[run])), key=lambda r: -means[r])


def gains(comparison: Comparison, measure: str, run: str) -> dict[str, Any]:
    """Return the differences of a run from the baseline: counts, distribution, segments."""
    runs = [comparison.evaluations[name] for name in (comparison.baseline, run)]
    first, metric = runs[0], parse(measure).metric
    difference = stats.differences(*(evaluation.filled(measure) for evaluation in runs))
    test = comparison.difference(measure, run).test
    segments: list[dict[str, Any]] = [
        {
            "name": segment.name if segment.by in BUILT_IN else f"{segment.by} {segment.name}",
            "n_groups": int(segment.mask.sum()),
            **_mean(first, difference, segment.mask),
        }
        for segment in first.segments or by_quantile(first.n_positives)
    ]
    known = [segment for segment in segments if segment["mean"] is not None]
    return {
        "measure": measure,
        "run": run,
        "baseline": comparison.baseline,
        "higher_is_better": metric.higher_is_better,
        **{name: vars(test)[name] for name in ("wins", "losses", "equal")},
        "histogram": _bins(difference, test.difference),
        "segments": sorted(known, key=lambda segment: -metric.sign * segment["mean"]),
    }


def _mean(evaluation: Evaluation, values: PerGroup, mask: NDArray[np.bool_]) -> dict[str, Any]:
    summary = stats.summarize(values[mask], level=evaluation.level, **evaluation.levels(mask))
    return plain({"mean": summary.mean, "interval": summary.interval})


def curves(evaluations: Mapping[str, Evaluation], measures: Sequence[str]) -> dict[str, Any]:
    """Return the means of each metric with a cutoff, by run, at the cutoffs below and above it."""
    first = next(iter(evaluations.values()))
    with_curve = [name for name in measures if has_curve(parse(name), first)]
    by_metric = {str(replace(parse(name), k=None, text="")): name for name in with_curve}
    chosen = dict([*by_metric.items()][:_MOST_MEASURES])
    tables = [e.tables for e in evaluations.values() if e.tables is not None]
    if not chosen or len(tables) < len(evaluations):
        return {}
    users = min((t.sampled(first.labels) for t in tables), key=len)
    sources = {id(t.truth): t for t in tables}  # each truth is read once
    truths = {key: t.truth_of(users) for key, t in sources.items()}
    values = {
        run: _run_curves(evaluation, chosen, truths[id(t.truth)], users)
        for (run, evaluation), t in zip(evaluations.items(), tables, strict=True)
    }
    some = {"n_users": users.size} if users.size < first.labels.size else {}
    result: dict[str, Any] = {}
    for name in chosen:
        cutoffs = sorted(set[int].intersection(*({*curve[name]} for curve in values.values())))
        means = {run: [curve[name][k] for k in cutoffs] for run, curve in values.items()}
        is_known = any(mean is not None for curve in means.values() for mean in curve)
        if len(cutoffs) > 1 and is_known:
            result[name] = {"k": cutoffs, "means": means, **some}
    return result


def has_curve(measure: Measure, evaluation: Evaluation) -> bool:
    """Return whether other cutoffs of a measure can be computed from the tables."""
    tables = evaluation.tables
    return measure.k is not None and tables is not None and str(measure) in tables.measured


def _run_curves(
    evaluation: Evaluation, measures: Mapping[str, str], truth: Truth | None, users: Labels
) -> dict[str, dict[int, float | None]]:
    """Return the means of one run by metric and cutoff; lists of equal options are joined once."""
    from podium.data.build import reads_judged
    from podium.data.users import user_positions

    tables: Any = evaluation.tables
    result: dict[str, dict[int, float | None]] = {name: {} for name in measures}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each was given with the values
        if (rank := tables.ranker(truth, users)) is None:
            return result
        ranked = cache(rank)
        for name, text in measures.items():
            measure, conventions = tables.measured[text]
            rule = evaluation.undefined_rule(text)
            ranking = ranked(conventions, mark_judged=reads_judged([measure]))
            is_included = user_positions(ranking.groups.labels, users) >= 0
            result[name] = {
                k: _mean_at(replace(measure, k=k, text=""), ranking, is_included, rule)
                for k in _cutoffs(measure, np.diff(ranking.groups.offsets))
            }
    return result


def _cutoffs(measure: Measure, lengths: NDArray[np.int64]) -> list[int]:
    """Return cutoffs that at least half of the lists reach, and that of the measure."""
    k = measure.k or 1
    highest = min(int(np.median(lengths)) if lengths.size else k, _FURTHER * k)
    return sorted({k, *(cutoff for cutoff in _CUTOFFS if cutoff <= max(highest, k))})


def _mean_at(
    measure: Measure, ranking: Any, is_included: NDArray[np.bool_], undefined: Undefined
) -> float | None:
    """Return the mean of a measure over the included lists; None if it is undefined or refused."""
    from podium.evaluation.evaluation import fill

    try:
        values = measure(ranking)[is_included]
    except PodiumError:  # the lists are too short for this cutoff
        return None
    values = fill(values, undefined)
    is_refused = undefined == "error" and np.isnan(values).any()
    return None if is_refused or np.isnan(values).all() else float(np.nanmean(values))
