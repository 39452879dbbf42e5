"""Scores of listed candidates by a model that may lack some of their users and items."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import DataError, PodiumWarning
from podium.recommenders._base import Ints, Recommender
from podium.recommenders._pairs import Labels
from podium.types import Mask, PerRow

_FEW = 0.5  # share of ids below which a model may be another data set's


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """Scores of rows of candidates, and what the model lacks of them.

    Attributes
    ----------
    rows : int64, (n_scored,)
        The rows whose user the model has.
    scores : float64, (n_scored,)
        Items that the model lacks come last: their score is the least of the others' less 1.
    n_users, n_items : tuple of int
        How many users the rows have, and how many of them the model has; how many items the
        scored rows have, and how many of them it has.
    n_learned : int
        Targets that the model was fitted to, so that they are not held out.
    """

    rows: Ints
    scores: PerRow
    n_users: tuple[int, int]
    n_items: tuple[int, int]
    n_learned: int


def score_candidates(
    model: Recommender,
    user: ArrayLike,
    item: ArrayLike,
    target: ArrayLike,
    *,
    model_name: str = "model",
    source: str = "item",
) -> CandidateScores:
    """Score candidates of the users whom a model has; items that it lacks come last.

    Parameters
    ----------
    model : Recommender
    user, item : (n_rows,)
        Ids, or row and column numbers of a matrix.
    target : bool, (n_rows,)
        Whether the item is a target, not a sampled one.
    model_name, source : str
        The names of the model and of the rows in messages.

    Raises
    ------
    DataError
        If the model has none of the users, items or targets.

    Warns
    -----
    PodiumWarning
        If it has few of the users, items or targets: they may be equal by accident.
    """
    users, items, targets = np.asarray(user), np.asarray(item), np.asarray(target)
    everyone, columns = model.places(users, items)
    rows = np.flatnonzero(everyone >= 0)
    names = (model_name, source)
    if not rows.size:
        raise _stranger(*names, "users", users[0], model.user_labels_)
    known, columns, is_target = items[rows], columns[rows], targets[rows]
    there = columns >= 0
    if not there.any():
        raise _stranger(*names, "items", known[0], model.item_labels_)
    if not there[is_target].any():
        raise _stranger(*names, "targets", known[is_target][0], model.item_labels_)
    counts = {
        "users": _counts(users, everyone >= 0),
        "items": _counts(known, there),
        "targets": _counts(known[is_target], there[is_target]),
    }
    _warn_of_others(*names, counts)
    scores = model.score_pairs(users[rows], known)
    scores[~there] = scores[there].min() - 1.0
    n_learned = int(_learned(model, everyone[rows][is_target], columns[is_target]).sum())
    return CandidateScores(rows, scores, counts["users"], counts["items"], n_learned)


def _counts(ids: NDArray[np.generic], there: Mask) -> tuple[int, int]:
    return np.unique(ids).size, np.unique(ids[there]).size


def _stranger(
    model: str, source: str, what: str, first: object, labels: Labels | None
) -> DataError:
    knows = "row numbers" if labels is None else f"such as {_check.label(labels[0])}"
    return DataError(
        f"{model} knows none of the {what} in {source}, such as {first}; it knows {knows}. "
        "Fit it to pairs that have the file's numbers."
    )


def _warn_of_others(model: str, source: str, counts: Mapping[str, tuple[int, int]]) -> None:
    """Warn where so few ids are the model's that they may be equal by accident."""
    for what, (n, n_known) in counts.items():
        if n_known < _FEW * n:
            warnings.warn(
                f"{model} knows only {n_known} of the {n} {what} in {source}: it may be "
                "another catalogue's, or have other ids.",
                PodiumWarning,
                stacklevel=3,
            )


def _learned(model: Recommender, rows: Ints, columns: Ints) -> Mask:
    """Return which pairs the model was fitted to; unknown items have column -1."""
    users = np.repeat(np.arange(model.n_users_), np.diff(model.seen_offsets_))
    pairs = (users * model.n_items_ + model.seen_items_)[model.seen_weights_ > 0]
    return np.isin(rows * model.n_items_ + columns, pairs) & (columns >= 0)
