"""The prior on distributions of ranks: a family of log densities, and the penalties on it.

The log density of ranks is a cubic spline in log(R / (n_items - R)), plus a parabola, plus the
effect of a user's own items. The second differences of the spline are penalised, so that it tends
to a straight line: a power law of the rank at the top, and another one of the distance from the
bottom. The parabola continues to the first ranks a bend that a sample shows in the ranks that it
resolves, as lognormal ranks have. The constants were chosen on ml-1m (eight recommenders) by the
marginal likelihood of exact ranks. The slope at the top, which ml-1m determines only to 0.35 to
0.6, was chosen by errors on four data sets. The bend was chosen on half of the populations of the
recipe sampled-coverage and on ml-1m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import block_diag

from podium.sampled.design import Floats
from podium.sampled.estimators.smooth.cells import Cells

_SPACING = 0.5  # between knots
_UNIT = 0.36  # the knot spacing to whose second differences the roughness refers
_SHIFT = 0.2  # of ranks in the logarithm
_PEAK = 0.9, 0.15  # mean and standard deviation of the log height of a peak with slope 1
_SLOPE_RANKS = 10  # the number of ranks over which the slope for a peak is measured
_HISTORY_ROUGHNESS = 4.0  # of this change, as a multiple of the density's
_DIP = 1.0  # the standard deviation of the exponent of the factor for a user's own items
_RIDGE = 1e-6


@dataclass(frozen=True)
class Spread:
    """Prior standard deviations about 0 of coefficients that the roughness does not scale.

    Attributes
    ----------
    head : float
        The standard deviation of the spline's slope at rank 1, d log density / d log rank.
    bend : float
        The standard deviation of the parabola's second derivative. The derivative is 0 for power
        laws. For lognormal ranks whose logarithm has the standard deviation s, it is -1 / s ** 2.
    tail : float
        The standard deviation of the exponent of the distance from the bottom.
    """

    head: float
    bend: float
    tail: float = 5.0


USUAL = Spread(head=0.35, bend=0.1)
"""The spread for estimates."""
ANY = Spread(head=3.0, bend=2.0)
"""The spread for intervals, in which only the data determine the slope and the bend."""
_HISTORY = Spread(head=0.1, bend=0.05, tail=2.0)  # of changes with the log of a user's items


@dataclass(frozen=True, eq=False)
class Prior:
    """A family of log densities, linear in its coefficients, and a Gaussian prior on them.

    Attributes
    ----------
    design : float64, (n_groups, n_cells, n_coefficients)
        The log density of a group's ranks per unit of each coefficient, without cell sizes.
    sizes : float64, (n_cells,)
        The log of the number of ranks in each cell.
    rough : float64, (n_coefficients, n_coefficients)
        The penalty that is scaled by the roughness parameter.
    fixed : float64, (n_coefficients, n_coefficients)
        The penalty that is not scaled; positive definite.
    """

    design: Floats
    sizes: Floats
    rough: Floats
    fixed: Floats


def prior_of(cells: Cells, history: Floats, shares: Floats, spread: Spread = USUAL) -> Prior:
    """Return the family in which the density changes with a user's number of own items.

    With one group of users, all have the same density, whatever the number.

    Parameters
    ----------
    cells : Cells
    history : float64, (n_groups,)
        The typical number of own items in each group, at least 1.
    shares : float64, (n_groups,)
        The shares of the users.
    spread : Spread
        The standard deviations of the slope at rank 1 and of the bend.

    Returns
    -------
    Prior

    Notes
    -----
    Recommenders rank the items they were trained on first, unless these are removed. A user with h
    items therefore has few targets among the first h ranks. The density has the factor
    (1 - exp(-R / h)) with an estimated power, which can be 0. In addition, log h shifts the log
    density by a separate spline.
    """
    design, rough, slope = _spline(cells)
    if history.size == 1:
        return Prior(design[None], np.log(cells.sizes), rough, _fixed(slope, spread))
    n_spline = design.shape[1]
    centred_log_history = np.log(history) - shares @ np.log(history) / shares.sum()
    dip = np.log(-np.expm1(-cells.middles / history[:, None]))
    spline_by_group = np.broadcast_to(design, (history.size, *design.shape))
    history_spline = spline_by_group * centred_log_history[:, None, None]
    head_slope = np.concatenate([slope, np.zeros(n_spline), [1.0]])  # the dip's power adds to it
    fixed = block_diag(
        _fixed(np.zeros_like(slope), spread),
        _fixed(slope, _HISTORY),
        np.full((1, 1), 1.0 / _DIP**2),
    )
    fixed += np.outer(head_slope, head_slope) / spread.head**2
    return Prior(
        np.concatenate([spline_by_group, history_spline, dip[:, :, None]], axis=2),
        np.log(cells.sizes),
        block_diag(rough, _HISTORY_ROUGHNESS * rough, np.zeros((1, 1))),
        fixed,
    )


def with_peak(prior: Prior, slope: float) -> Prior:
    """Return the family with a peak of the first rank above the spline, as the last coefficient.

    Ranks that are rounded up from a power law of real numbers have such a peak: with x ** -0.7,
    rank 1 is 2.8 times as frequent as under the spline's power law. The log of its height grows
    approximately with the square of the exponent. Without the peak, the spline would be steeper.

    Parameters
    ----------
    prior : Prior
    slope : float
        The exponent, above 0, with which a density without the peak falls over the first ranks; see
        `top_exponent`.
    """
    peak = np.zeros((*prior.design.shape[:2], 1))
    peak[:, 0] = 1.0
    height_mean, height_deviation = _PEAK[0] * slope**2, _PEAK[1] * slope**2
    sizes = prior.sizes.copy()
    sizes[0] += height_mean
    return Prior(
        np.concatenate([prior.design, peak], axis=2),
        sizes,
        block_diag(prior.rough, np.zeros((1, 1))),
        block_diag(prior.fixed, np.full((1, 1), 1.0 / height_deviation**2)),
    )


def top_exponent(cells: Cells, mass: Floats) -> float:
    """Return the exponent with which the density falls over the first ten ranks."""
    last_cell = min(_SLOPE_RANKS, cells.sizes.size) - 1
    if last_cell < 1:
        return 0.0
    density = np.log(mass[[0, last_cell]] / cells.sizes[[0, last_cell]])
    log_ranks = np.log(cells.middles[[0, last_cell]] + _SHIFT)
    return float((density[0] - density[1]) / (log_ranks[1] - log_ranks[0]))


def _spline(cells: Cells) -> tuple[Floats, Floats, Floats]:
    """Return spline, tail and bend at the cells, the penalty, and the spline's slope at the top."""
    n_items, ranks = cells.n_items, cells.middles
    tail = np.log((n_items + 1 - ranks) / n_items)
    position = np.log(ranks + _SHIFT) - tail
    n_knots = max(int(np.ceil((position[-1] - position[0]) / _SPACING)), 1) + 1
    knots = position[0] + _SPACING * np.arange(-3, n_knots + 3)
    inside = np.clip(position, position[0], knots[-4] - 1e-9)
    basis = BSpline.design_matrix(inside, knots, 3).toarray()
    differences = np.diff(np.eye(basis.shape[1]), 2, axis=0)
    rough = block_diag(differences.T @ differences * (_UNIT / _SPACING) ** 3, np.zeros((2, 2)))
    slope = np.zeros(basis.shape[1] + 2)
    slope[0], slope[2] = -0.5 / _SPACING, 0.5 / _SPACING
    resolved = np.log(n_items / cells.n_negatives)  # of the smallest rank that a sample resolves
    return np.column_stack([basis, tail, (position - resolved) ** 2 / 2.0]), rough, slope


def _fixed(slope: Floats, spread: Spread) -> Floats:
    """Return the penalty of a spline, its tail and its bend that roughness does not scale."""
    penalty = _RIDGE * np.eye(slope.size) + np.outer(slope, slope) / spread.head**2
    penalty[-2, -2] += 1.0 / spread.tail**2
    penalty[-1, -1] += 1.0 / spread.bend**2
    return penalty
