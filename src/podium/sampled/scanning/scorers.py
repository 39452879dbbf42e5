"""Scores of pairs of users and items, by a function, a matrix or factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.catalogue.source import ScoreFunction, Scores
from podium.errors import ArgumentError
from podium.sampled._draws import DrawPlan
from podium.sampled.design import Floats, Ints

PairScores: TypeAlias = "Callable[[Ints, Ints], ArrayLike]"
"""A function of rows of users and items, int64 of equal length, that returns their scores."""

_MOST_PAIRS = 2**20  # pairs per call


class Scorer:
    """Scores of pairs, checked, and computed for at most about a million pairs at a time."""

    def __init__(self, scorer: PairScores | Scores, plan: DrawPlan) -> None:
        self._plan = plan
        self._scores_of = scorer if callable(scorer) else _look_up(scorer, plan)

    def targets(self) -> Floats:
        """Return the scores of all targets."""
        return self.pairs(self._plan.rows, self._plan.targets)

    def pairs(self, rows: Ints, items: Ints) -> Floats:
        """Return the score of each pair: float64, (n_pairs,)."""
        result = np.empty(rows.size)
        for start in range(0, rows.size, _MOST_PAIRS):
            part = slice(start, start + _MOST_PAIRS)
            result[part] = self._checked(rows[part], items[part].astype(np.int64, copy=False))
        return result

    def _checked(self, rows: Ints, items: Ints) -> Floats:
        scores = _check.column(self._scores_of(rows, items), "scorer's result")
        if scores.size != rows.size:
            raise ArgumentError(
                f"scorer must return one score per pair, got {scores.size} for {rows.size} pairs."
            )
        if not np.isfinite(scores).all():
            first = int(np.argmin(np.isfinite(scores)))
            raise ArgumentError(
                f"scorer must return finite scores, got {scores[first]:g} for user "
                f"{_check.label(self._plan.labels[rows[first]])} and item {items[first]}. Put "
                "items that must not be ranked into exclude."
            )
        return scores


def _look_up(scores: Scores, plan: DrawPlan) -> PairScores:
    """Return a function that reads a matrix of scores, or multiplies factors."""
    if isinstance(scores, ScoreFunction):
        raise ArgumentError(
            "scorer must score pairs, but a ScoreFunction scores all items of a user, so that a "
            "scan saves nothing. Pass a function of rows and items, or rank all items with "
            "podium.catalogue.target_ranks."
        )
    shape = plan.labels.size, plan.catalogue_size
    if isinstance(scores, tuple) and len(scores) == 2:
        user_factors, item_factors = cast("tuple[ArrayLike, ArrayLike]", scores)
        left: Floats = _check.array(user_factors, "scorer's user factors")
        right: Floats = _check.array(item_factors, "scorer's item factors")
        _refuse_factors(left.shape, right.shape, shape)
        return lambda rows, items: np.einsum("if,if->i", left[rows], right[items])
    matrix: Floats = _check.array(cast("ArrayLike", scores), "scorer")
    if matrix.shape != shape:
        raise ArgumentError(
            f"scorer must be a function of rows and items, factors, or scores of users x items = "
            f"{shape}, got shape {matrix.shape}."
        )
    return lambda rows, items: matrix[rows, items]


def _refuse_factors(left: tuple[int, ...], right: tuple[int, ...], shape: tuple[int, int]) -> None:
    """Raise unless factors have a row per user and per item, and equally many columns."""
    has_rows = len(left) == len(right) == 2 and (left[0], right[0]) == shape
    if not has_rows or left[1] != right[1]:
        raise ArgumentError(
            f"scorer's factors must have {shape[0]} and {shape[1]} rows and equally many columns, "
            f"got shapes {left} and {right}."
        )
