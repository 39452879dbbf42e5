"""The table of users: the columns that divide, join or weigh them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.segments import BUILT_IN
from podium.protocol import Protocol
from podium.types import Labels, PerGroup


def divide(evaluation: Evaluation, by: Sequence[str], users: Any = None) -> Evaluation:
    """Add segments: built-in ones by name, all others by a column of `users`.

    Parameters
    ----------
    evaluation : Evaluation
    by : sequence of str
        The segments: "engagement", "n_pos", or columns of `users`. Repeated names have no effect.
    users : path, frame or mapping of columns, optional
        A table with a user column and the columns that `by` names.

    Raises
    ------
    ArgumentError
        If `by` is no sequence, or names neither a built-in segment nor a column of `users`.
    """
    from podium.data.users import user_column

    if isinstance(by, str) or not isinstance(by, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{arg.by} must be a sequence of names of segments, got {by!r}.")
    labels = evaluation.labels if evaluation.users is None else evaluation.users
    for name in dict.fromkeys(by):
        has_no_column = users is None or name in BUILT_IN
        key = None if has_no_column else user_column(users, name, labels)
        evaluation = evaluation.segmented(name, key)
    return evaluation


def check_users(protocol: Protocol, users: Any, *, reads_clusters: bool = False) -> None:
    """Raise if a field names a column without its table, or no column, or an ambiguous one.

    Parameters
    ----------
    protocol : Protocol
    users : Source, optional
        The table of users.
    reads_clusters : bool
        Whether the columns of clusters and weights are read, too.
    """
    for name in BUILT_IN:
        if users is not None and name in protocol.by and name in users.names:
            raise ArgumentError(
                f"{arg.by(name)} is a column of users and a division by the number of positives. "
                "Rename the column."
            )
    named = [("by", name) for name in protocol.by if name not in BUILT_IN]
    fields = [arg.by]
    if reads_clusters:
        named += [("cluster", protocol.cluster or ""), ("weight", protocol.weight or "")]
        fields += [arg.cluster, arg.weight]
    name, column = next((pair for pair in named if pair[1]), ("", ""))
    if users is not None and not column:
        raise ArgumentError(
            f"{arg.users} has no effect, because no field names one of its columns. Pass "
            f"{' or '.join(map(str, fields))}, or leave it out."
        )
    if users is None and column:
        nearest = _check.nearest(column, BUILT_IN) if name == "by" else ""
        raise ArgumentError(
            f"{arg[name](column)} requires {arg.users}, a table with this column.{nearest}"
        )


def cluster_and_weight(users: Any, protocol: Protocol, labels: Labels) -> dict[str, Any]:
    """Return the cluster and the weight of each user, from the columns that a protocol names.

    Parameters
    ----------
    users : path, frame or mapping of columns
        A table with a user column and these columns.
    protocol : Protocol
    labels : (n_groups,)
        The users.

    Returns
    -------
    dict
        "cluster", str (n_groups,), and "weight", float64, (n_groups,); each is None if the protocol
        names no column for it.

    Raises
    ------
    ArgumentError
        If a user has no value, or a weight that is not a finite number >= 0.
    """
    cluster, weight = (
        None if column is None else _required(users, name, column, labels)
        for name, column in (("cluster", protocol.cluster), ("weight", protocol.weight))
    )
    return {
        "cluster": cluster,
        "weight": None if weight is None else _numbers(weight, str(protocol.weight), labels),
    }


def _required(users: Any, name: str, column: str, labels: Labels) -> Labels:
    """Return a column with a value for each user, or raise."""
    from podium.data.users import user_values

    values = user_values(users, column, labels)
    is_unknown = values == ""
    if is_unknown.any():
        first = _check.label(labels[is_unknown.argmax()])
        raise ArgumentError(
            f"{arg.users} has no {column} for {int(is_unknown.sum())} of {labels.size} users, "
            f"first {first}. {arg[name]} needs a value for each user."
        )
    return values


def _numbers(texts: Labels, column: str, labels: Labels) -> PerGroup:
    """Return weights, or raise if one is not a finite number >= 0."""
    try:
        weights = texts.astype(np.float64)
    except ValueError:
        raise ArgumentError(
            f"{arg.weight} must be a column of numbers, but {column} has text."
        ) from None
    is_wrong = ~np.isfinite(weights) | (weights < 0)
    if is_wrong.any():
        first = is_wrong.argmax()
        raise ArgumentError(
            f"{arg.weight} must be >= 0 and finite for each user, but {column} is not for "
            f"{int(is_wrong.sum())} of {labels.size} users, first {_check.label(labels[first])} "
            f"({texts[first]})."
        )
    return weights
