"""Partially pooled relevance: targets that use the other rows of a user and an item."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.data.convert import to_ids
from podium.data.ids import codes_of
from podium.data.source import Source, as_column
from podium.errors import ArgumentError, arg
from podium.types import PerRow, RowIndex

_MAX_ITER = 2000
_TOL = 1e-5  # tolerance for the change of an effect, or of their standard deviation
_ROWS = Source("The rows")
_LEAST = 1e-6  # the smallest variance; without any effect it would tend to 0 without end


def pooled_relevance(
    relevance: ArrayLike,
    user: ArrayLike,
    item: ArrayLike,
    *,
    min_relevance: float = 1.0,
    share: float = 1.0,
    weights: ArrayLike | None = None,
) -> PerRow:
    """Return soft targets: each row's label, mixed with its probability given its user and item.

    The label of a single row is noisy. The share of users who like an item is estimated from many
    rows and is less noisy. If the same items (or users) occur in many rows and the features
    describe them, a model learns more from the probability than from the label.

    Parameters
    ----------
    relevance : (n_rows,)
        Grades >= 0.
    user, item : (n_rows,)
        Integer or string ids, in any order. An item occurs with several users.
    min_relevance : float
        The smallest relevance of a positive row.
    share : float
        The weight of the probability in the target, in [0, 1]. With 0 the targets are the labels,
        0.0 and 1.0.
    weights : (n_rows,), optional
        The weights of the rows, >= 0. A row of weight 2 counts as two rows, and one of weight 0
        has a probability, but no influence.

    Returns
    -------
    float64, (n_rows,)
        Targets in [0, 1], for a loss that accepts probabilities, such as
        `podium.losses.GroupLogistic` with soft=True.

    Raises
    ------
    ArgumentError
        If lengths differ, a weight is negative, all rows of a weight above 0 are of one class, or
        ids are neither integers nor strings.

    Notes
    -----
    Pass only training rows. A target depends on *all* passed rows of its user and item. If these
    include validation or test rows, their labels leak into training, and measures on them are
    biased.

    The probability is ``sigmoid(mean + user effect + item effect)``. The effects have normal
    priors around 0, with one variance for users and one for items, which are estimated from the
    same rows. The effect of an item with many rows is determined by its rows; the effect of an item
    with one row stays near 0.

    The method is empirical Bayes. It uses a normal (Laplace) approximation of each effect around
    its most probable value, with the other effects fixed, and the variances at the fixed point of
    expectation-maximisation. The variances are somewhat too small if users and items have few rows.
    The result is deterministic; row order affects only rounding. Cost: some tens of passes over the
    rows, without a matrix.

    References
    ----------
    gelman2006, chapters 12 and 14.

    Examples
    --------
    >>> targets = pooled_relevance([1, 0, 1, 0], [1, 1, 2, 2], ["a", "b", "a", "b"], share=0.5)
    >>> targets[0] == targets[2] > 0.5 > targets[1] == targets[3]
    np.True_
    """
    share = _check.number(share, "share", low=0.0, high=1.0)
    low = _check.positive(min_relevance, "min_relevance")
    label = (_check.relevance(relevance) >= low).astype(np.float64)
    weight = np.ones(label.size) if weights is None else _check.weights(weights, label.size)
    rows = Rows(label, weight)
    return (1.0 - share) * rows.label + share * pooled(rows, user, item)[0]


@dataclass(frozen=True, eq=False)
class Rows:
    """The labels of rows, 0.0 or 1.0, and their weights."""

    label: PerRow
    weight: PerRow

    def excess(self, chance: PerRow) -> PerRow:
        """Return the slope of the rows' negative log-likelihood by their log-odds."""
        return self.weight * (chance - self.label)

    def information(self, chance: PerRow) -> PerRow:
        """Return its second derivative."""
        return self.weight * chance * (1.0 - chance)


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of users or of items: the effect of each row, the values and their variance."""

    of_row: RowIndex
    values: NDArray[np.float64]
    variance: float = 1.0

    def sums(self, by_row: PerRow) -> NDArray[np.float64]:
        """Return the sum of a column over the rows of each effect."""
        return np.asarray(np.bincount(self.of_row, by_row, self.values.size), np.float64)

    def moved(self, rows: Rows, chance: PerRow) -> Effects:
        """Take one Newton step for each effect separately.

        The step is shortened to log(1 + step). The second derivative changes by at most a factor
        exp(step) along the step, so that no step increases the objective, wherever it starts.
        """
        slope = self.sums(rows.excess(chance)) + self.values / self.variance
        step = slope / (self.sums(rows.information(chance)) + 1.0 / self.variance)
        return replace(self, values=self.values - np.sign(step) * np.log1p(np.abs(step)))

    def reestimated(self, rows: Rows, chance: PerRow) -> Effects:
        """Set the variance to the sum of squares divided by the effective number of effects.

        At the fixed point this is the mean expected square of an effect, as in
        expectation-maximisation. Without any effect, the variance decreases by a constant factor
        per sweep, whereas expectation-maximisation becomes slower and slower.
        """
        information = self.sums(rows.information(chance))
        n_effective = float((information / (information + 1.0 / self.variance)).sum())
        variance = float((self.values**2).sum()) / n_effective
        return replace(self, variance=max(variance, _LEAST))


def pooled(rows: Rows, user: ArrayLike, item: ArrayLike) -> tuple[PerRow, list[Effects]]:
    """Return the probability of each row, and the effects of users and of items."""
    share = _share_of_positives(rows)
    codes = {name: _codes(values, name) for name, values in (("user", user), ("item", item))}
    _check.equal_length(relevance=rows.label, **codes)
    mean = float(np.log(share) - np.log1p(-share))
    sides = [Effects(code, np.zeros(int(code.max()) + 1)) for code in codes.values()]
    for _ in range(_MAX_ITER):
        old_sides, old_mean = sides, mean
        mean, sides = _sweep(rows, mean, sides)
        if max(abs(mean - old_mean), *map(_change, old_sides, sides)) <= _TOL:
            break
    return _chance(mean, sides), sides


def _sweep(rows: Rows, mean: float, sides: list[Effects]) -> tuple[float, list[Effects]]:
    """Update the mean and the effects of both sides once, then both variances."""
    chance = _chance(mean, sides)
    step = float(rows.excess(chance).sum() / rows.information(chance).sum())
    mean -= float(np.sign(step) * np.log1p(abs(step)))
    sides = list(sides)
    for i in range(len(sides)):
        moved = sides[i].moved(rows, _chance(mean, sides))
        # The common part of all effects is moved to the mean, which has no penalty.
        common = float(moved.values.mean())
        mean += common
        sides[i] = replace(moved, values=moved.values - common)
    chance = _chance(mean, sides)
    return mean, [side.reestimated(rows, chance) for side in sides]


def _chance(mean: float, sides: list[Effects]) -> PerRow:
    odds = np.full(sides[0].of_row.size, mean)
    for side in sides:
        odds += side.values[side.of_row]
    return 1.0 / (1.0 + np.exp(-odds))


def _change(before: Effects, after: Effects) -> float:
    return max(
        float(np.abs(after.values - before.values).max()),
        float(np.abs(np.sqrt(after.variance) - np.sqrt(before.variance))),
    )


def _share_of_positives(rows: Rows) -> float:
    n_rows = np.count_nonzero(rows.weight)
    share = float(np.average(rows.label, weights=rows.weight)) if n_rows else 0.0
    if not 0.0 < share < 1.0:
        description = f"{n_rows} rows of one class" if n_rows else "no rows"
        raise ArgumentError(
            f"{arg.relevance} must have positives and negatives to pool, got {description}. Check "
            f"{arg.min_relevance}."
        )
    return share


def _codes(values: ArrayLike, name: str) -> RowIndex:
    return codes_of(to_ids(as_column(values, name, _ROWS), name, _ROWS))[0]
