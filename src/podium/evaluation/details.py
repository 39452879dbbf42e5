"""What a report shows besides means: distributions, curves over k, gains, losses and users.

The details are plain dictionaries, which `podium.report` draws. Lists and curves need the tables
that the values came from; without them, these keys are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import PodiumError
from podium.evaluation import stats
from podium.evaluation.json_form import as_json
from podium.evaluation.segments import by_quantile
from podium.metrics import Measure, parse
from podium.report.figures import bin_values
from podium.types import Labels, PerGroup

if TYPE_CHECKING:
    from podium.data import Run, Truth
    from podium.evaluation.comparison import Comparison
    from podium.evaluation.evaluation import Evaluation

_CUTOFFS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
_FURTHER = 10  # curves go up to this many times the cutoff of the measure
_MOST_MEASURES = 4
_MOST_RUNS = 6
_MOST_ITEMS = 10
_MOST_MISSED = 5
_N_USERS = 10
_N_BINS = 24


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of an evaluation, which `keep_lists=True` keeps.

    Attributes
    ----------
    truth : Truth
    run : Run
    options : dict of str to dict
        The keyword arguments of `podium.data.ranking` by measure of relevance.
    """

    truth: Truth
    run: Run
    options: dict[str, dict[str, Any]]


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
    histograms = {
        name: {**bin_values(values, _N_BINS), "mean": float(np.nanmean(values))}
        for name, values in [*evaluation.per_group().items()][:_MOST_MEASURES]
        if not np.isnan(values).all()
    }
    one_run = {"": evaluation}
    return {
        "histograms": histograms,
        "curves": _curves(one_run),
        "users": _worst_served(one_run, "", titles),
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
    best = [] if measure is None else _best_runs(evaluations, measure)
    others = [run for run in best if run != baseline]
    if measure is None or not others:
        return {}
    leaders = {baseline, *best[: _MOST_RUNS - 1]}
    in_curves = {run: evaluation for run, evaluation in evaluations.items() if run in leaders}
    pair = {run: evaluations[run] for run in (baseline, others[0])}
    return {
        "gains": _gains(comparison, measure, others[0]),
        "curves": _curves(in_curves),
        "runs_left_out": len(evaluations) - len(in_curves),
        "users": _worst_served(pair, best[0], titles),
    }


def _best_runs(evaluations: Mapping[str, Evaluation], measure: str) -> list[str]:
    """Return the runs with a mean, the best first; equal ones in their order."""
    sign = parse(measure).metric.sign
    means = {run: sign * e.summary(measure).mean for run, e in evaluations.items()}
    return sorted((run for run in means if not np.isnan(means[run])), key=lambda r: -means[r])


def _gains(comparison: Comparison, measure: str, run: str) -> dict[str, Any]:
    """Return the differences of a run from the baseline: counts, distribution, segments."""
    first = comparison.evaluations[comparison.baseline]
    difference = _filled(comparison.evaluations[run], measure) - _filled(first, measure)
    test = comparison.difference(measure, run).test
    sign = parse(measure).metric.sign
    segments: list[dict[str, Any]] = [
        {
            "name": segment.name if segment.by in ("engagement", "n_pos") else _named(segment),
            "n_groups": int(segment.mask.sum()),
            **_mean(first, difference, segment.mask),
        }
        for segment in first.segments or by_quantile(first.n_pos)
    ]
    known = [segment for segment in segments if segment["mean"] is not None]
    return {
        "measure": measure,
        "run": run,
        "baseline": comparison.baseline,
        "higher_is_better": parse(measure).metric.higher_is_better,
        **{name: getattr(test, name) for name in ("wins", "losses", "equal")},
        "histogram": {**bin_values(difference, _N_BINS), "mean": test.difference},
        "segments": sorted(known, key=lambda segment: -sign * segment["mean"]),
    }


def _named(segment: Any) -> str:
    return f"{segment.by} {segment.name}"


def _mean(evaluation: Evaluation, values: PerGroup, mask: NDArray[np.bool_]) -> dict[str, Any]:
    summary = stats.summarize(
        values[mask],
        level=evaluation.level,
        users=None if evaluation.users is None else evaluation.users[mask],
        splits=None if evaluation.splits is None else evaluation.splits[mask],
    )
    values_by_name = as_json(summary)
    return {name: values_by_name[name] for name in ("mean", "interval")}


def _filled(evaluation: Evaluation, measure: str) -> PerGroup:
    from podium.evaluation.evaluation import fill

    return fill(evaluation.values[measure], evaluation.undefined_rule(measure))


def _curves(evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Return the means of each metric with a cutoff, by run, at the cutoffs below and above it."""
    first = next(iter(evaluations.values()))
    measures = [parse(name) for name in first.values]
    by_metric = {str(replace(m, k=None, text="")): m for m in measures if _has_curve(m, first)}
    chosen = dict([*by_metric.items()][:_MOST_MEASURES])
    values = {
        run: _run_curves(evaluation, chosen)
        for run, evaluation in evaluations.items()
        if evaluation.tables is not None
    }
    if len(values) < len(evaluations):
        return {}
    curves: dict[str, Any] = {}
    for name in chosen:
        first_curve, *others = (curve[name] for curve in values.values())
        cutoffs = sorted(k for k in first_curve if all(k in curve for curve in others))
        if len(cutoffs) > 1:
            means = {run: [curve[name][k] for k in cutoffs] for run, curve in values.items()}
            curves[name] = {"k": cutoffs, "means": means}
    return curves


def _has_curve(measure: Measure, evaluation: Evaluation) -> bool:
    tables = evaluation.tables
    return measure.k is not None and tables is not None and str(measure) in tables.options


def _run_curves(
    evaluation: Evaluation, measures: Mapping[str, Measure]
) -> dict[str, dict[int, float | None]]:
    """Return the means of one run by metric and cutoff; the lists are joined once."""
    from podium import data

    tables: Any = evaluation.tables
    rankings: dict[str, Any] = {}
    result: dict[str, dict[int, float | None]] = {}
    for name, measure in measures.items():
        options = tables.options[str(measure)]
        key = repr(sorted(options.items()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # each was given with the values
            if key not in rankings:
                rankings[key] = data.ranking(tables.truth, tables.run, **options)
            ranking = rankings[key]
            rows = data.user_positions(evaluation.labels, ranking.groups.labels)
            lengths = np.diff(ranking.groups.offsets)
            result[name] = {
                k: _mean_at(replace(measure, k=k, text=""), ranking, rows, evaluation)
                for k in _cutoffs(measure, lengths)
            }
    return result


def _cutoffs(measure: Measure, lengths: NDArray[np.int64]) -> list[int]:
    """Return cutoffs that at least half of the lists reach, and that of the measure."""
    k = measure.k or 1
    highest = min(int(np.median(lengths)) if lengths.size else k, _FURTHER * k)
    return sorted({k, *(cutoff for cutoff in _CUTOFFS if cutoff <= max(highest, k))})


def _mean_at(
    measure: Measure, ranking: Any, rows: NDArray[np.int64], evaluation: Evaluation
) -> float | None:
    """Return the mean of a measure over the users of the evaluation; None if it is undefined."""
    from podium.evaluation.evaluation import fill

    try:
        values = measure(ranking)[rows >= 0]
    except PodiumError:  # the lists are too short for this cutoff
        return None
    values = fill(values, evaluation.undefined_rule(measure))
    return None if np.isnan(values).all() else float(np.nanmean(values))


def _worst_served(
    evaluations: Mapping[str, Evaluation], run: str, titles: Any
) -> dict[str, Any] | None:
    """Return the users with the worst values of a run, with their lists; None without tables."""
    evaluation = evaluations[run]
    measure = next(iter(evaluation.per_group()), None)
    if measure is None or any(e.tables is None for e in evaluations.values()):
        return None
    metric, values = parse(measure).metric, evaluation.values[measure]
    order = np.lexsort((evaluation.labels, -evaluation.n_pos, metric.sign * values))
    rows = [int(row) for row in order if not np.isnan(values[row])][:_N_USERS]
    lists = _Lists(evaluations, measure, evaluation.labels[rows])
    title_of = _titles(titles, lists.ids(), evaluation)
    users = [
        {
            "user": str(evaluation.labels[row]),
            "n_pos": int(evaluation.n_pos[row]),
            "values": [(name, _known(e.values[measure][row])) for name, e in evaluations.items()],
            **lists.of_user(place, title_of),
        }
        for place, row in enumerate(rows)
    ]
    is_better = metric.higher_is_better
    return {"measure": measure, "run": run, "higher_is_better": is_better, "users": users}


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


class _Lists:
    """The best items of some users in each run, and their relevant items, as text."""

    def __init__(self, evaluations: Mapping[str, Evaluation], measure: str, labels: Labels) -> None:
        tables: dict[str, Any] = {run: e.tables for run, e in evaluations.items()}
        first = next(iter(tables.values()))
        n_items = min(parse(measure).k or _MOST_ITEMS, _MOST_ITEMS)
        threshold = _threshold(next(iter(evaluations.values())), measure)
        self.shown = {run: _top(t.run, labels, n_items) for run, t in tables.items()}
        self.relevant = _relevant(first.truth, labels, threshold)

    def ids(self) -> set[str]:
        """Return the ids of all items that may be shown."""
        lists = [*(items for run in self.shown.values() for items in run), *self.relevant]
        return {item for items in lists for item in items}

    def of_user(self, place: int, title_of: Mapping[str, str]) -> dict[str, Any]:
        """Return the lists of a user, and the relevant items that no list shows."""
        relevant = self.relevant[place]
        listed = {item for run in self.shown.values() for item in run[place]}
        missed = [item for item in relevant if item not in listed]
        return {
            "lists": [
                (
                    run,
                    [
                        {"text": title_of.get(item, item), "relevant": item in relevant}
                        for item in lists[place]
                    ],
                )
                for run, lists in self.shown.items()
            ],
            "missed": [title_of.get(item, item) for item in missed[:_MOST_MISSED]],
            "n_missed": len(missed),
        }


def _top(run: Run, labels: Labels, n_items: int) -> list[list[str]]:
    """Return the best items of each user; equal scores in the order of ids."""
    from podium import data

    lists: Any = run
    places = data.user_positions(lists.user, labels)
    rows = np.flatnonzero(places >= 0)
    result: list[list[str]] = [[] for _ in labels]
    if not rows.size:
        return result
    part = replace(lists, user=places[rows], item=lists.item[rows], score=lists.score[rows])
    groups, codes, ids = data.top_items(part, n_items)
    for user, start, stop in zip(groups.labels, groups.offsets, groups.offsets[1:], strict=False):
        result[int(user)] = [str(item) for item in ids[codes[start:stop]].tolist()]
    return result


def _relevant(truth: Truth, labels: Labels, threshold: float) -> list[list[str]]:
    """Return the relevant items of each user, the most relevant first."""
    from podium import data

    places = data.user_positions(truth.user, labels)
    items: Any = truth.item
    rows = np.flatnonzero((places >= 0) & (truth.relevance >= threshold))
    rows = rows[np.argsort(-truth.relevance[rows], kind="stable")]
    result: list[list[str]] = [[] for _ in labels]
    for row in rows.tolist():
        result[places[row]].append(str(items[row]))
    return result


def _threshold(evaluation: Evaluation, measure: str) -> float:
    """Return the lowest relevance of a positive item."""
    of_all = evaluation.conventions
    computed: Mapping[str, Any] = of_all.get("computed", {}).get(measure, {})
    return float(computed.get("min_relevance", of_all.get("min_relevance", 1.0)))


def _titles(source: Any, ids: set[str], evaluation: Evaluation) -> dict[str, str]:
    """Return the titles of items by id."""
    from podium.data.items import item_titles

    if source is None:
        return {}
    tables: Any = evaluation.tables
    names: Iterator[Any] = (options.get("item") for options in tables.options.values())
    return item_titles(source, ids, item=next(names, None))


__all__: Sequence[str] = ["Tables", "of_comparison", "of_evaluation"]
