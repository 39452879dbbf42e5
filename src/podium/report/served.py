"""The users whom a run serves worst, with their lists and the titles of items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from podium._json import plain
from podium.data import Run
from podium.data.items import item_titles
from podium.data.listed import Listed, listed_items
from podium.evaluation import Evaluation
from podium.evaluation.kept import KeptTables
from podium.metrics import parse
from podium.types import Labels

_MOST_ITEMS = 10
_MOST_MISSED = 5
_N_USERS = 10
_SEARCHED_TOGETHER = 50  # users
_MOST_SEARCHED = 1000  # users; the worst ones may all lack a list


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
    worst = [int(row) for row in order if not np.isnan(values[row])]
    rows, n_without_list = _with_lists(evaluations, measure, worst, evaluation.labels)
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
    start = {"measure": measure, "run": run, "higher_is_better": metric.higher_is_better}
    return {**start, "users": users, "n_without_list": n_without_list}


def _with_lists(
    evaluations: Mapping[str, Evaluation], measure: str, rows: list[int], labels: Labels
) -> tuple[list[int], int]:
    """Return the first rows of users with a list, and the number of users before without any."""
    with_list: list[int] = []
    n_without = 0
    for start in range(0, min(len(rows), _MOST_SEARCHED), _SEARCHED_TOGETHER):
        searched = rows[start : start + _SEARCHED_TOGETHER]
        lists = _Lists(evaluations, measure, labels[searched])
        for place, row in enumerate(searched):
            if len(with_list) == _N_USERS:
                return with_list, n_without
            has_list = any(shown[place] for shown in lists.shown.values())
            with_list += [row] * has_list
            n_without += not has_list
    return with_list, n_without


class _Lists:
    """The best items of some users in each run, and their relevant items, as text."""

    def __init__(self, evaluations: Mapping[str, Evaluation], measure: str, labels: Labels) -> None:
        tables = {run: e.tables for run, e in evaluations.items() if e.tables}
        n_items = min(parse(measure).k or _MOST_ITEMS, _MOST_ITEMS)
        lists = {run: _lists(t, measure, labels) for run, t in tables.items()}
        self.shown = {run: [user.items[:n_items] for user in users] for run, users in lists.items()}
        # Positives that count in some run, in the order of the truth.
        self.relevant = [
            list(dict.fromkeys(item for user in users for item in user.positives))
            for users in zip(*lists.values(), strict=True)
        ]

    def ids(self) -> set[str]:
        """Return the ids of all items that may be shown."""
        lists = [*(items for run in self.shown.values() for items in run), *self.relevant]
        return {item for items in lists for item in items}

    def of_user(self, place: int, title_of: Mapping[str, str]) -> dict[str, Any]:
        """Return the lists of a user, and the relevant items that no list shows."""
        relevant = self.relevant[place]
        listed = {item for run in self.shown.values() for item in run[place]}
        missed = [item for item in relevant if item not in listed]

        def shown(item: str) -> dict[str, Any]:
            return {"text": title_of.get(item, item), "relevant": item in relevant}

        return {
            "lists": [(run, [*map(shown, lists[place])]) for run, lists in self.shown.items()],
            "missed": [title_of.get(item, item) for item in missed[:_MOST_MISSED]],
            "n_missed": len(missed),
        }


def _lists(tables: KeptTables, measure: str, labels: Labels) -> list[Listed]:
    """Return the lists of some users as they were measured."""
    truth, run = tables.truth_of(labels), tables.run_of(labels)
    if truth is None:
        return [Listed([], []) for _ in labels]
    if run is None:
        run = Run(truth.user[:0], truth.item[:0], np.empty(0))
    return listed_items(truth, run, labels, tables.conventions_of(measure))


def _titles(source: Any, ids: set[str], evaluation: Evaluation) -> dict[str, str]:
    """Return the titles of items by id."""
    if source is None:
        return {}
    return item_titles(source, ids, item=evaluation.protocol.item)
