"""Parameters that a fit chooses by itself, on the last events of the training part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from podium import _check
from podium.catalogue.lists import measured
from podium.errors import ArgumentError, DataError
from podium.evaluation.stats.comparing import is_greater
from podium.metrics import parse
from podium.recommenders._pairs import is_matrix
from podium.types import PerGroup

AUTO = "auto"
HALF_LIVES = (None, 365.0, 90.0, 30.0, 14.0, 7.0, 3.0, 1.0, 0.25)
"""The half-lives that "auto" compares; None is first, so that it is taken if all are equal."""

_MEASURE = "ndcg@10"
_SHARE = 0.1  # of the events, the last ones
_MOST_USERS = 5000  # on which candidates are measured
_NOISE = 2.0  # standard errors


def number_of_days(value: Any, name: str) -> float | None:
    """Return a number of days > 0 from a number or a text such as "7d"; None is none.

    Examples
    --------
    >>> number_of_days("7d", "window"), number_of_days(0.5, "window")
    (7.0, 0.5)
    """
    text = value.removesuffix("d") if isinstance(value, str) else value
    return None if text is None else _check.positive(text, name)


def or_auto(
    value: Any,
    name: str,
    check: Callable[[Any, str], Any] = number_of_days,
    *,
    required: bool = True,
) -> Any:
    """Return "auto", the checked value, or None if it is not required."""
    if (isinstance(value, str) and value == AUTO) or (value is None and not required):
        return value
    return check(value, name)


def settled(model: Any, user_items: Any) -> dict[str, Any]:
    """Return the parameters in a recommender's `auto_values`, with chosen values for "auto".

    A model that is fitted without the last tenth of the events is measured on these. The parameters
    are chosen one after the other. The first value is taken unless another one is better by more
    than noise. It is also taken without times, or without an earlier event of the users and items
    of the last tenth.
    """
    checked = _check.parameters(model)
    params = {name: checked[name] for name in model.auto_values}
    free = {name: values for name, values in model.auto_values.items() if params[name] == AUTO}
    params |= {name: values[0] for name, values in free.items()}
    if not free or is_matrix(user_items) or user_items.timestamp is None:
        return params
    try:
        earlier, held_out = user_items.by_time(_SHARE)
    except (ArgumentError, DataError):  # there are too few events
        return params
    for name, values in free.items():
        lists = [_of_users(model, params | {name: value}, earlier, held_out) for value in values]
        best = int(np.argmax([of_users.mean() for of_users in lists]))
        params[name] = values[best if is_greater(lists[best], lists[0], _NOISE) else 0]
    return params


def _of_users(model: Any, params: Mapping[str, Any], earlier: Any, held_out: Any) -> PerGroup:
    """Return the measure of each user for new items, or for all items if the model repeats."""
    candidate = clone(model).set_params(**params).fit(earlier)
    truth = candidate.pairs_like(held_out, "user_items", every_row=True)
    users = np.flatnonzero(np.diff(truth.indptr))
    users = users[:: -(-users.size // _MOST_USERS)]
    seen = None if candidate.repeats else candidate.user_items_[users]
    values = measured(candidate.as_scores(users), truth[users], seen, parse(_MEASURE))
    return np.nan_to_num(values)
