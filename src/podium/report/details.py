"""What a report shows besides means: curves over k, and the worst-served users."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._json import plain
from podium._text import counted
from podium.data import Truth
from podium.data.items import item_titles
from podium.data.users import user_positions
from podium.errors import PodiumError
from podium.evaluation import Evaluation
from podium.evaluation.evaluation import fill
from podium.metrics import Measure, parse
from podium.report.cells import number
from podium.types import Labels, Undefined

_CUTOFFS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
_FURTHER = 10  # curves go up to this many times the cutoff of the measure
_MOST_MEASURES = 4
_MOST_ITEMS = 10  # of a list
_MOST_MISSED = 5  # relevant items that no list shows
_N_USERS = 10  # the worst-served ones
_MOST_SEARCHED = 1000  # users; the worst ones may all lack a list


def curves(evaluations: Mapping[str, Evaluation], measures: Sequence[str]) -> dict[str, Any]:
    """Return the means of each metric with a cutoff, by run, at the cutoffs below and above it."""
    first = next(iter(evaluations.values()))
    computed = first.tables.measured if first.tables is not None else {}
    with_curve = [name for name in measures if parse(name).k is not None and name in computed]
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


def _run_curves(
    evaluation: Evaluation, measures: Mapping[str, str], truth: Truth, users: Labels
) -> dict[str, dict[int, float | None]]:
    """Return the means of one run by metric and cutoff; lists of equal options are joined once."""
    tables: Any = evaluation.tables
    result: dict[str, dict[int, float | None]] = {name: {} for name in measures}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each was given with the values
        every = [tables.measured[text][0] for text in measures.values()]
        lists_of = cache(partial(tables.lists(truth, users), measures=every))
        for name, text in measures.items():
            measure, conventions = tables.measured[text]
            rule = evaluation.undefined_rule(text)
            ranking = lists_of(conventions).ranking
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
    try:
        values = measure(ranking)[is_included]
    except PodiumError:  # the lists are too short for this cutoff
        return None
    values = fill(values, undefined)
    is_refused = undefined == "error" and np.isnan(values).any()
    return None if is_refused or np.isnan(values).all() else float(np.nanmean(values))


def worst_served(
    evaluations: Mapping[str, Evaluation], run: str, titles: Any
) -> dict[str, Any] | None:
    """Return the users with the worst values of a run, with their lists.

    Parameters
    ----------
    evaluations : mapping of run to Evaluation
        The runs whose lists are shown.
    run : str
        The run whose values determine the users.
    titles : mapping of item to title, or a table of items with a column title, optional
        The titles of items. Items without a title are shown by their ids.

    Returns
    -------
    dict or None
        The `report.Lists` of users, the worst first, without those who have no list; None if an
        evaluation has no tables.
    """
    evaluation = evaluations[run]
    measure = next(iter(evaluation.per_group()), None)
    if measure is None or any(e.tables is None for e in evaluations.values()):
        return None
    metric, values = parse(measure).metric, evaluation.values[measure]
    order = np.lexsort((evaluation.labels, -evaluation.n_pos, metric.sign * values))
    worst = order[~np.isnan(values[order])][:_MOST_SEARCHED]
    found = _lists(evaluations, measure, evaluation.labels[worst])
    chosen = [(row, *of) for row, of in zip(worst, found, strict=True) if any(of[0].values())]
    chosen = chosen[:_N_USERS]
    every = {i for _, lists, positives in chosen for i in (*chain(*lists.values()), *positives)}
    title_of: Mapping[str, str] = {}
    if titles is not None:
        title_of = item_titles(titles, every, item=evaluation.protocol.item)
    users: list[dict[str, Any]] = []
    for row, lists, positives in chosen:
        missed = [item for item in positives if item not in {*chain(*lists.values())}]
        of_user = {run: plain(e.values[measure][row]) for run, e in evaluations.items()}
        in_runs = (f"{run} {number(value)}" for run, value in of_user.items())
        n_positives = counted(int(evaluation.n_pos[row]), "relevant items")
        users.append(
            {
                "user": str(evaluation.labels[row]),
                "title": f"User {evaluation.labels[row]}",
                "note": f"{measure}: {', '.join(in_runs).strip()} · {n_positives}",
                "lists": {
                    name: [{"text": title_of.get(i, i), "relevant": i in positives} for i in items]
                    for name, items in lists.items()
                },
                "n_missed": len(missed),
                "after": _after([title_of.get(item, item) for item in missed]),
            }
        )
    return {"measure": measure, "higher_is_better": metric.higher_is_better, "users": users}


def _after(missed: Sequence[str]) -> str:
    """Return the line on relevant items that no list shows."""
    shown, n_more = missed[:_MOST_MISSED], len(missed) - _MOST_MISSED
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return f"Relevant, not shown: {', '.join(shown)}{more}" if missed else ""


def _lists(
    evaluations: Mapping[str, Evaluation], measure: str, labels: Labels
) -> list[tuple[dict[str, list[str]], dict[str, None]]]:
    """Return the best items of each user by run, and all positives, as they were measured."""
    users = [({run: list[str]() for run in evaluations}, dict[str, None]()) for _ in labels]
    n_items = min(parse(measure).k or _MOST_ITEMS, _MOST_ITEMS)
    is_of_shown = parse(measure).metric.reads != "relevance"
    for run, evaluation in evaluations.items():
        tables: Any = evaluation.tables
        lists_of = tables.lists(tables.truth_of(labels), labels)
        lists = lists_of(tables.conventions_of(measure), with_items=True)
        best = lists.top(n_items) if is_of_shown else lists.first(n_items)
        groups = user_positions(labels, lists.labels).tolist()
        for (shown, positives), group in zip(users, groups, strict=True):
            if group >= 0:
                shown[run] = [*map(str, best.of(group))]
                positives |= dict.fromkeys(map(str, lists.positives(group)))
    return users
