"""Scores of given candidates by a model that may not have some of their users and items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import DataError, warn
from podium.recommenders._base import Recommender
from podium.recommenders._pairs import Ints
from podium.types import Labels, Mask, PerRow

_FEW = 0.5  # share of known ids below which the model may belong to other data


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """Scores of rows of candidates, and counts of the users and items that the model has.

    Attributes
    ----------
    rows : int64, (n_scored,)
        The rows whose user the model has.
    scores : float64, (n_scored,)
        The scores of these rows. Items that the model does not have rank last: their score is the
        lowest score of the others minus 1.
    n_users, n_items : tuple of int
        The number of users in all rows, and the number of those that the model has. The same two
        numbers for the items of the scored rows.
    n_learned : int
        The number of targets that the model was fitted to, and that are therefore not held out.
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
    """Score candidates of the users that the model has; items that it does not have rank last.

    Parameters
    ----------
    model : Recommender
        The fitted model.
    user, item : (n_rows,)
        The ids, or the row and column numbers if the model was fitted to a matrix.
    target : bool, (n_rows,)
        Whether the item is a target; the other items are sampled ones.
    model_name, source : str
        The names of the model and of the rows in messages.

    Returns
    -------
    CandidateScores
        The scores and counts.

    Raises
    ------
    DataError
        If the model has none of the users, items or targets.

    Warns
    -----
    PodiumWarning
        If the model has few of the users, items or targets, whose ids may then match by accident.
    """
    users, items, targets = np.asarray(user), np.asarray(item), np.asarray(target)
    user_rows, columns = model.places(users, items)
    rows = np.flatnonzero(user_rows >= 0)
    names = (model_name, source)
    if not rows.size:
        raise _all_unknown(*names, "users", users[0], model.user_labels_)
    scored_items, columns, is_target = items[rows], columns[rows], targets[rows]
    is_known = columns >= 0
    if not is_known.any():
        raise _all_unknown(*names, "items", scored_items[0], model.item_labels_)
    if not is_known[is_target].any():
        raise _all_unknown(*names, "targets", scored_items[is_target][0], model.item_labels_)
    counts = {
        "users": _counts(users, user_rows >= 0),
        "items": _counts(scored_items, is_known),
        "targets": _counts(scored_items[is_target], is_known[is_target]),
    }
    _warn_if_few_known(*names, counts)
    scores = model.score_pairs(users[rows], scored_items)
    scores[~is_known] = scores[is_known].min() - 1.0
    n_learned = int(_is_learned(model, user_rows[rows][is_target], columns[is_target]).sum())
    return CandidateScores(rows, scores, counts["users"], counts["items"], n_learned)


def _counts(ids: NDArray[np.generic], is_known: Mask) -> tuple[int, int]:
    return np.unique(ids).size, np.unique(ids[is_known]).size


def _all_unknown(
    model: str, source: str, noun: str, example: object, labels: Labels | None
) -> DataError:
    known_ids = "are row numbers" if labels is None else f"look like {_check.label(labels[0])}"
    return DataError(
        f"{model} has none of the {noun} in {source}, such as {example}. Its ids {known_ids}. "
        "Fit it to pairs with the ids of the file."
    )


def _warn_if_few_known(model: str, source: str, counts: Mapping[str, tuple[int, int]]) -> None:
    """Warn if the model has so few of the ids that they may match by accident."""
    for noun, (n, n_known) in counts.items():
        if n_known < _FEW * n:
            warn(
                f"{model} has only {n_known} of the {n} {noun} in {source}. It may belong to "
                "another catalogue, or have other ids."
            )


def _is_learned(model: Recommender, rows: Ints, columns: Ints) -> Mask:
    """Return whether the model was fitted to each pair; unknown items have column -1."""
    users = np.repeat(np.arange(model.n_users_), np.diff(model.seen_offsets_))
    pairs = (users * model.n_items_ + model.seen_items_)[model.seen_weights_ > 0]
    return np.isin(rows * model.n_items_ + columns, pairs) & (columns >= 0)
