"""Segments of the groups, by their number of positives or a column of users, and other columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.protocol import Protocol
from podium.types import Counts, Labels, Mask, PerGroup

if TYPE_CHECKING:
    from podium.evaluation.evaluation import Evaluation

BUILT_IN = ("engagement", "n_pos")
"""The segments that need no table of users."""

_QUANTILES = 4


@dataclass(frozen=True)
class Segment:
    """A part of the groups: what divides them, the name of the part, and its mask."""

    by: str
    name: str
    mask: Mask

    def as_json(self, measures: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON form, with the results of measures in this segment."""
        start = {"by": self.by, "name": self.name, "n_groups": int(self.mask.sum())}
        return {**start, "measures": measures}


def by_engagement(n_pos: Counts, k: int) -> tuple[Segment, ...]:
    """Divide the groups into those with at most k positives, and the others."""
    parts = {f"n_pos <= {k}": n_pos <= k, f"n_pos > {k}": n_pos > k}
    return tuple(Segment("engagement", name, mask) for name, mask in parts.items())


def by_quantile(n_pos: Counts) -> tuple[Segment, ...]:
    """Divide the groups with positives into parts of about equal size by n_pos."""
    positive_counts = n_pos[n_pos > 0]
    if not positive_counts.size:
        return ()
    shares = np.arange(1, _QUANTILES + 1) / _QUANTILES
    cuts = np.quantile(positive_counts, shares, method="inverted_cdf")
    segments: list[Segment] = []
    low = 1
    for high in np.unique(cuts).astype(int).tolist():
        name = f"n_pos {low}" if low == high else f"n_pos {low}-{high}"
        segments.append(Segment("n_pos", name, (n_pos >= low) & (n_pos <= high)))
        low = high + 1
    return tuple(segments)


def by_value(by: str, key: Labels, n_groups: int) -> tuple[Segment, ...]:
    """Divide the groups by their value in a column, in the order of the numbers in values."""
    if key.shape != (n_groups,):
        raise ArgumentError(
            f"key must have one value per group, got shape {key.shape} for {n_groups} groups."
        )
    from podium.data.users import name_of_missing

    texts = [None if value is None or value != value else str(value) for value in key.tolist()]
    missing = name_of_missing(text for text in texts if text is not None)
    names = np.array([missing if text is None else text for text in texts])
    distinct_names = sorted(np.unique(names).tolist(), key=numbers_in_order)
    return tuple(Segment(by, name, names == name) for name in distinct_names)


def numbers_in_order(name: str) -> list[str | float]:
    """Return the key that sorts names by the numbers in them: n_pos 7-13 before n_pos 14-29."""
    parts = re.split(r"(\d+(?:\.\d+)?)", name)
    return [float(part) if i % 2 else part for i, part in enumerate(parts)]


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
        If `users` is passed and `by` names none of its columns, or names one of them that is also
        a built-in segment.
    """
    from podium.data.users import has_user_column, user_column

    if isinstance(by, str) or not isinstance(by, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{arg.by} must be a sequence of names of segments, got {by!r}.")
    for name in BUILT_IN:
        if users is not None and name in by and has_user_column(users, name):
            raise ArgumentError(
                f"{arg.by(name)} is a column of users and a division by the number of positives. "
                "Rename the column."
            )
    if users is not None and all(name in BUILT_IN for name in by):
        raise ArgumentError(
            f"{arg.users} has no effect, because {arg.by} names none of its columns. Add a column "
            f"of users to {arg.by}, or leave out {arg.users}."
        )
    labels = evaluation.labels if evaluation.users is None else evaluation.users
    for name in dict.fromkeys(by):
        has_no_column = users is None or name in BUILT_IN
        key = None if has_no_column else user_column(users, name, labels)
        evaluation = evaluation.segmented(name, key)
    return evaluation


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
