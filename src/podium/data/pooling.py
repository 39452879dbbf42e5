"""Targets that borrow from a user's and an item's other rows: partially pooled relevance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import encode
from podium.types import PerRow, RowIndex

_MAX_ITER = 2000
_TOL = 1e-5  # change of an effect, or of their standard deviation, that no longer matters
_LEAST = 1e-6  # a variance below which the effects are nothing: they tend to 0 and never arrive


def pooled_relevance(
    relevance: ArrayLike,
    user: ArrayLike,
    item: ArrayLike,
    *,
    min_relevance: float = 1.0,
    share: float = 1.0,
) -> PerRow:
    """Return soft targets: a row's label mixed with its probability given its user and item.

    One row's label is a noisy draw; that its item was liked by most who met it is known far
    better. A model learns more from the probability than from the draw, if the same items (or
    users) recur in many rows and its features tell something of them.

    Parameters
    ----------
    relevance : (n_rows,)
        Graded, >= 0.
    user, item : (n_rows,)
        Integers or strings, in any order; an item recurs across users.
    min_relevance : float
        Relevance from which a row is a positive.
    share : float
        Of the probability in the target, in [0, 1]; 0 gives the labels, 0.0 and 1.0.

    Returns
    -------
    float64, (n_rows,)
        In [0, 1]; targets for a loss that takes probabilities, as
        `podium.losses.GroupLogistic` with soft=True.

    Raises
    ------
    ArgumentError
        For lengths that differ, rows of one class, or ids that are no integers or strings.

    Notes
    -----
    Give it training rows only. A target holds what *all* the rows given say of an item: with
    validation or test rows among them, their labels leak into training, and nothing measured on
    them afterwards is true.

    The probability is that of `pool`: see there.

    References
    ----------
    gelman2006, chapters 12 and 14.

    Examples
    --------
    >>> targets = pooled_relevance([1, 0, 1, 0], [1, 1, 2, 2], ["a", "b", "a", "b"], share=0.5)
    >>> targets[0] == targets[2] > 0.5 > targets[1] == targets[3]
    np.True_
    """
    mixed = _check.number(share, "share", low=0.0, high=1.0)
    label = _labels(relevance, min_relevance)
    probability = _pooling(label, user, item).probability
    return (1.0 - mixed) * label + mixed * probability


@dataclass(frozen=True, eq=False)
class Pooling:
    """A fitted model of users and items, as `pool` returns it.

    Attributes
    ----------
    probability : float64, (n_rows,)
        Of a positive, in (0, 1).
    user_variance, item_variance : float
        Of the effects, in squared log-odds; 1e-6 stands for none.
    n_iter : int
        Sweeps over the rows.
    converged : bool
        Whether the last sweep changed nothing that matters.
    """

    probability: PerRow
    user_variance: float
    item_variance: float
    n_iter: int
    converged: bool


def pool(
    relevance: ArrayLike, user: ArrayLike, item: ArrayLike, *, min_relevance: float = 1.0
) -> Pooling:
    """Fit ``P(positive) = sigmoid(mean + user effect + item effect)`` by partial pooling.

    Effects have normal priors around 0, one variance for users and one for items, both
    estimated from the same rows: an item of many rows gets what its rows say, an item of one
    row stays near the mean.

    Parameters
    ----------
    relevance : (n_rows,)
        Graded, >= 0.
    user, item : (n_rows,)
        Integers or strings, in any order.
    min_relevance : float
        Relevance from which a row is a positive.

    Raises
    ------
    ArgumentError
        For lengths that differ, rows of one class, or ids that are no integers or strings.

    Notes
    -----
    Empirical Bayes: a normal (Laplace) approximation of each effect around its most probable
    value, the others held, and the variances at which expectation-maximisation comes to rest.
    They come out somewhat small where users and items have few rows. Deterministic; row order
    matters to rounding only. Cost: some tens of passes over the rows, no matrix.

    References
    ----------
    gelman2006, chapters 12 and 14.

    Examples
    --------
    >>> fitted = pool([1, 0, 1, 0], [1, 1, 2, 2], ["a", "b", "a", "b"])
    >>> fitted.converged, fitted.user_variance < fitted.item_variance
    (True, True)
    """
    return _pooling(_labels(relevance, min_relevance), user, item)


@dataclass(frozen=True, eq=False)
class _Effects:
    """One side of the model: which rows an effect is in, its values and their variance."""

    of_row: RowIndex
    values: NDArray[np.float64]
    variance: float = 1.0

    def sums(self, by_row: PerRow) -> NDArray[np.float64]:
        return np.asarray(np.bincount(self.of_row, by_row, self.values.size), np.float64)

    def moved(self, label: PerRow, chance: PerRow) -> _Effects:
        """Take one step of Newton's for every effect by itself.

        Shortened to log(1 + step): the second derivative changes at most by a factor
        exp(step) on the way, so that no step leads upwards, however far off the start is.
        """
        slope = self.sums(chance - label) + self.values / self.variance
        step = slope / (self.sums(chance * (1.0 - chance)) + 1.0 / self.variance)
        return replace(self, values=self.values - np.sign(step) * np.log1p(np.abs(step)))

    def reestimated(self, chance: PerRow) -> _Effects:
        """Set the variance to the sum of squares over the number of effects the rows determine.

        At rest it is the mean expected square of an effect, as expectation-maximisation has it;
        but where there is nothing to find it falls by a factor each time, not ever more slowly.
        """
        known = self.sums(chance * (1.0 - chance))
        determined = float((known / (known + 1.0 / self.variance)).sum())
        variance = float((self.values**2).sum()) / determined
        return replace(self, variance=max(variance, _LEAST))


def _pooling(label: PerRow, user: ArrayLike, item: ArrayLike) -> Pooling:
    codes = {name: _codes(values, name) for name, values in (("user", user), ("item", item))}
    _check.equal_length(relevance=label, **codes)
    share = _share_of_positives(label)
    mean = float(np.log(share) - np.log1p(-share))
    sides = [_Effects(rows, np.zeros(int(rows.max()) + 1)) for rows in codes.values()]
    n_iter, change = 0, np.inf
    while change > _TOL and n_iter < _MAX_ITER:
        before, mean_before = sides, mean
        mean, sides = _sweep(label, mean, sides)
        change = max(abs(mean - mean_before), *map(_change, before, sides))
        n_iter += 1
    chance = _chance(mean, sides)
    return Pooling(chance, sides[0].variance, sides[1].variance, n_iter, change <= _TOL)


def _sweep(label: PerRow, mean: float, sides: list[_Effects]) -> tuple[float, list[_Effects]]:
    """Update the mean and both sides' effects once, then both variances."""
    chance = _chance(mean, sides)
    step = float((chance - label).sum() / (chance * (1.0 - chance)).sum())
    mean -= float(np.sign(step) * np.log1p(abs(step)))
    sides = list(sides)
    for i in range(len(sides)):
        moved = sides[i].moved(label, _chance(mean, sides))
        # What all effects have in common is the mean's: there it costs nothing.
        common = float(moved.values.mean())
        mean += common
        sides[i] = replace(moved, values=moved.values - common)
    chance = _chance(mean, sides)
    return mean, [side.reestimated(chance) for side in sides]


def _chance(mean: float, sides: list[_Effects]) -> PerRow:
    odds = np.full(sides[0].of_row.size, mean)
    for side in sides:
        odds += side.values[side.of_row]
    return 1.0 / (1.0 + np.exp(-odds))


def _change(before: _Effects, after: _Effects) -> float:
    return max(
        float(np.abs(after.values - before.values).max()),
        float(np.abs(np.sqrt(after.variance) - np.sqrt(before.variance))),
    )


def _labels(relevance: ArrayLike, min_relevance: float) -> PerRow:
    low = _check.number(min_relevance, "min_relevance", low=0.0, strict=True)
    return (_check.relevance(relevance) >= low).astype(np.float64)


def _share_of_positives(label: PerRow) -> float:
    share = float(label.mean()) if label.size else 0.0
    if not 0.0 < share < 1.0:
        found = "no rows" if not label.size else f"{label.size} rows of one class"
        raise ArgumentError(
            f"relevance must have positives and negatives to pool, got {found}. Check "
            "min_relevance."
        )
    return share


def _codes(values: ArrayLike, name: str) -> RowIndex:
    array: NDArray[Any] = _check.one_dimensional(_check.array(values, name), name)
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array):
        array = array.astype(np.str_)
    if array.size and array.dtype.kind not in "iuU":
        raise ArgumentError(
            f"{name} must hold integers or strings, got {array.dtype}. Convert the column, or "
            "encode it first."
        )
    return encode(array)[0]
