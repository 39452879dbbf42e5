"""The users whom a run serves worst, with their lists and the titles of items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from podium._json import plain
from podium.metrics import parse
from podium.types import Labels

if TYPE_CHECKING:
    from podium.data import Run, Truth
    from podium.evaluation.evaluation import Evaluation

_MOST_ITEMS = 10
_MOST_MISSED = 5
_N_USERS = 10


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
        The users, the worst first; None if an evaluation has no tables.
    """
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
            "values": [(name, plain(e.values[measure][row])) for name, e in evaluations.items()],
            **lists.of_user(place, title_of),
        }
        for place, row in enumerate(rows)
    ]
    is_better = metric.higher_is_better
    return {"measure": measure, "run": run, "higher_is_better": is_better, "users": users}


class _Lists:
    """The best items of some users in each run, and their relevant items, as text."""

    def __init__(self, evaluations: Mapping[str, Evaluation], measure: str, labels: Labels) -> None:
        tables = {run: e.tables for run, e in evaluations.items() if e.tables}
        first = next(iter(tables.values()))
        n_items = min(parse(measure).k or _MOST_ITEMS, _MOST_ITEMS)
        threshold = _threshold(next(iter(evaluations.values())), measure)
        self.shown = {run: _top(t.run_of(labels), labels, n_items) for run, t in tables.items()}
        self.relevant = _relevant(first.truth_of(labels), labels, threshold)

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


def _top(run: Run | None, labels: Labels, n_items: int) -> list[list[str]]:
    """Return the best items of each user; equal scores in the order of ids."""
    from podium import data

    lists: Any = run
    result: list[list[str]] = [[] for _ in labels]
    places = np.empty(0) if run is None else data.user_positions(lists.user, labels)
    rows = np.flatnonzero(places >= 0)
    if not rows.size:
        return result
    part = replace(lists, user=places[rows], item=lists.item[rows], score=lists.score[rows])
    groups, codes, ids = data.top_items(part, n_items)
    for user, start, stop in zip(groups.labels, groups.offsets, groups.offsets[1:], strict=False):
        result[int(user)] = [str(item) for item in ids[codes[start:stop]].tolist()]
    return result


def _relevant(truth: Truth | None, labels: Labels, threshold: float) -> list[list[str]]:
    """Return the relevant items of each user, the most relevant first."""
    from podium import data

    if truth is None:
        return [[] for _ in labels]
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
