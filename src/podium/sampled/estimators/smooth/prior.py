"""What the smooth estimator expects of a rank distribution before it sees one.

The log density of ranks is a cubic spline in log(R / (n_items - R)), plus what a user's own items
do. Its second differences are penalised, so that it tends to a straight line: a power law of the
rank at the top, and another one of the distance from the bottom. The constants were chosen on
ml-1m (eight recommenders) by the marginal likelihood of exact ranks; the slope at the top, which
ml-1m leaves open between 0.35 and 0.6, by errors on four data sets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import block_diag

from podium.sampled.design import Floats
from podium.sampled.estimators.smooth.cells import Cells

_SPACING = 0.5  # between knots
_UNIT = 0.36  # knot spacing in whose second differences the roughness is counted
_SHIFT = 0.2  # of ranks in the logarithm
_HEAD = 0.35  # standard deviation of d log density / d log rank at rank 1, about 0
ANY_HEAD = 2.0  # the same where the data alone are to say it: intervals take little for granted
_PEAK = 0.9, 0.15  # mean and standard deviation of the log height of a peak, of a slope of 1
_FIRST = 10  # ranks over which the slope is taken that a peak goes with
_TAIL = 5.0  # standard deviation of the exponent of the distance from the bottom
_HISTORY_HEAD = 0.1  # the same two for the change with the log of a user's number of items
_HISTORY_TAIL = 2.0
_HISTORY_ROUGHNESS = 4.0  # times that of the density
_DIP = 1.0  # standard deviation of the exponent with which a user's items come first
_RIDGE = 1e-6


@dataclass(frozen=True, eq=False)
class Prior:
    """A family of log densities, linear in its coefficients, and a Gaussian prior on them.

    Attributes
    ----------
    design : float64, (n_groups, n_cells, n_coefficients)
        Log density of a group's ranks per unit of each coefficient, without the cells' sizes.
    sizes : float64, (n_cells,)
        Log of the number of ranks in each cell.
    rough : float64, (n_coefficients, n_coefficients)
        Penalty that is scaled by the roughness parameter.
    fixed : float64, (n_coefficients, n_coefficients)
        Penalty that is not; positive definite.
    """

    design: Floats
    sizes: Floats
    rough: Floats
    fixed: Floats


def plain(cells: Cells, head: float = _HEAD) -> Prior:
    """Return the family of one density for all users, whose slope at rank 1 is 0 or so."""
    design, rough, slope = _spline(cells)
    fixed = _fixed(design.shape[1], _TAIL) + np.outer(slope, slope) / head**2
    return Prior(design[None], np.log(cells.sizes), rough, fixed)


def with_history(cells: Cells, history: Floats, shares: Floats, top: float = _HEAD) -> Prior:
    """Return the family in which the density changes with a user's number of own items.

    Parameters
    ----------
    cells : Cells
    history : float64, (n_groups,)
        Typical number of own items in each group, 1 or more.
    shares : float64, (n_groups,)
        Of the users.
    top : float
        Standard deviation of the slope at rank 1.

    Notes
    -----
    Recommenders rank the items they were trained on first, as long as nothing takes these out: a
    user of h items has few targets among the first h ranks. So the density has the factor
    (1 - exp(-R / h)) to a power that is estimated, and that can be 0; besides, log h shifts the
    log density by a spline of its own.
    """
    design, rough, slope = _spline(cells)
    n = design.shape[1]
    change = np.log(history) - shares @ np.log(history) / shares.sum()
    dip = np.log(-np.expm1(-cells.middles / history[:, None]))
    both = np.broadcast_to(design, (history.size, *design.shape))
    shifted = both * change[:, None, None]
    head = np.concatenate([slope, np.zeros(n), [1.0]])  # the dip adds its power to the slope
    own = _fixed(n, _HISTORY_TAIL) + np.outer(slope, slope) / _HISTORY_HEAD**2
    fixed = (
        block_diag(_fixed(n, _TAIL), own, np.full((1, 1), 1.0 / _DIP**2))
        + np.outer(head, head) / top**2
    )
    return Prior(
        np.concatenate([both, shifted, dip[:, :, None]], axis=2),
        np.log(cells.sizes),
        block_diag(rough, _HISTORY_ROUGHNESS * rough, np.zeros((1, 1))),
        fixed,
    )


def with_peak(prior: Prior, slope: float) -> Prior:
    """Return the family whose first rank has a peak above the spline: the last coefficient.

    Ranks that are rounded up from a power law of real numbers have one: from x ** -0.7, rank 1
    comes 2.8 times as often as the spline's power law has it. The log of its height grows with the
    square of the exponent, nearly. A spline without the peak comes out steeper than that.

    Parameters
    ----------
    prior : Prior
    slope : float
        Exponent with which a density without the peak falls over the first ranks, above 0; see
        `fall`.
    """
    first = np.zeros((*prior.design.shape[:2], 1))
    first[:, 0] = 1.0
    mean, deviation = _PEAK[0] * slope**2, _PEAK[1] * slope**2
    sizes = prior.sizes.copy()
    sizes[0] += mean
    return Prior(
        np.concatenate([prior.design, first], axis=2),
        sizes,
        block_diag(prior.rough, np.zeros((1, 1))),
        block_diag(prior.fixed, np.full((1, 1), 1.0 / deviation**2)),
    )


def fall(cells: Cells, mass: Floats) -> float:
    """Return the exponent with which the density falls over the first ten ranks."""
    last = min(_FIRST, cells.sizes.size) - 1
    if last < 1:
        return 0.0
    density = np.log(mass[[0, last]] / cells.sizes[[0, last]])
    places = np.log(cells.middles[[0, last]] + _SHIFT)
    return float((density[0] - density[1]) / (places[1] - places[0]))


def _spline(cells: Cells) -> tuple[Floats, Floats, Floats]:
    """Return spline and tail at the cells, the penalty, and coefficients' slopes at the top."""
    n_items, ranks = cells.n_items, cells.middles
    tail = np.log((n_items + 1 - ranks) / n_items)
    place = np.log(ranks + _SHIFT) - tail
    n_knots = max(int(np.ceil((place[-1] - place[0]) / _SPACING)), 1) + 1
    knots = place[0] + _SPACING * np.arange(-3, n_knots + 3)
    inside = np.clip(place, place[0], knots[-4] - 1e-9)
    spline = BSpline.design_matrix(inside, knots, 3).toarray()
    bends = np.diff(np.eye(spline.shape[1]), 2, axis=0)
    rough = block_diag(bends.T @ bends * (_UNIT / _SPACING) ** 3, np.zeros((1, 1)))
    slope = np.zeros(spline.shape[1] + 1)
    slope[0], slope[2] = -0.5 / _SPACING, 0.5 / _SPACING
    return np.column_stack([spline, tail]), rough, slope


def _fixed(n: int, tail: float) -> Floats:
    found = _RIDGE * np.eye(n)
    found[-1, -1] += 1.0 / tail**2
    return found
