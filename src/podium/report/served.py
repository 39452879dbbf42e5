"""The users whom a run serves worst, with their lists and the titles of items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from podium._json import plain
from podium.data.items import item_titles
from podium.data.users import user_positions
from podium.evaluation import Evaluation
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
    worst_lists, n_without_list = _with_lists(evaluations, measure, worst, evaluation.labels)
    every = {item for lists in worst_lists for item in lists.every()}
    title_of = _titles(titles, every, evaluation)
    users = [
        {
            "user": str(evaluation.labels[lists.row]),
            "n_pos": int(evaluation.n_pos[lists.row]),
            "values": [
                (name, plain(e.values[measure][lists.row])) for name, e in evaluations.items()
            ],
            **lists.as_dict(title_of),
        }
        for lists in worst_lists
    ]
    start = {"measure": measure, "run": run, "higher_is_better": metric.higher_is_better}
    return {**start, "users": users, "n_without_list": n_without_list}


class _User(NamedTuple):
    """The best items of a user in each run, and the positives that count in some run, as text."""

    row: int
    shown: dict[str, list[str]]
    relevant: list[str]

    def every(self) -> set[str]:
        """Return all items that may be shown."""
        return {item for items in (*self.shown.values(), self.relevant) for item in items}

    def as_dict(self, title_of: Mapping[str, str]) -> dict[str, Any]:
        """Return the lists, and the relevant items that no list shows."""
        listed = {item for items in self.shown.values() for item in items}
        missed = [item for item in self.relevant if item not in listed]

        def shown(item: str) -> dict[str, Any]:
            return {"text": title_of.get(item, item), "relevant": item in self.relevant}

        return {
            "lists": [(run, [*map(shown, items)]) for run, items in self.shown.items()],
            "missed": [title_of.get(item, item) for item in missed[:_MOST_MISSED]],
            "n_missed": len(missed),
        }


def _with_lists(
    evaluations: Mapping[str, Evaluation], measure: str, rows: list[int], labels: Labels
) -> tuple[list[_User], int]:
    """Return the first users with a list, and the number of users before without any."""
    with_list: list[_User] = []
    n_without = 0
    for start in range(0, min(len(rows), _MOST_SEARCHED), _SEARCHED_TOGETHER):
        searched = rows[start : start + _SEARCHED_TOGETHER]
        for user in _users(evaluations, measure, searched, labels):
            if len(with_list) == _N_USERS:
                return with_list, n_without
            has_list = any(user.shown.values())
            with_list += [user] * has_list
            n_without += not has_list
    return with_list, n_without


def _users(
    evaluations: Mapping[str, Evaluation], measure: str, rows: list[int], labels: Labels
) -> list[_User]:
    """Return the lists of some users, as they were measured."""
    labels = labels[rows]
    users = [_User(row, {run: [] for run in evaluations}, []) for row in rows]
    n_items = min(parse(measure).k or _MOST_ITEMS, _MOST_ITEMS)
    for run, evaluation in evaluations.items():
        tables: Any = evaluation.tables
        lists_of = tables.lists(tables.truth_of(labels), labels)
        lists = lists_of(tables.conventions_of(measure), with_items=True)
        for user, group in zip(users, user_positions(labels, lists.labels).tolist(), strict=True):
            if group >= 0:
                user.shown[run] = [*map(str, lists.items(group)[:n_items])]
                positives = map(str, lists.positives(group))
                user.relevant.extend(item for item in positives if item not in user.relevant)
    return users


def _titles(source: Any, ids: set[str], evaluation: Evaluation) -> dict[str, str]:
    """Return the titles of items by id."""
    if source is None:
        return {}
    return item_titles(source, ids, item=evaluation.protocol.item)
