"""Plans of sampled evaluations: the number of items to sample for a given error, and the cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.metrics import Measure
from podium.sampled.design import Design
from podium.sampled.distribution import read_measures, require_defined
from podium.sampled.estimators import Estimator, LinearEstimator, get
from podium.sampled.fits import distinct_warnings
from podium.sampled.planning.designs import SIZES, Plan, search
from podium.sampled.planning.outlook import (
    PlannedEstimate,
    expected_from_pilot,
    expected_without_pilot,
    layout,
)
from podium.sampled.ranks import SampledRanks
from podium.types import Progress


def plan(
    n_items: int,
    n_users: int,
    measure: str | Measure,
    error: float,
    *,
    pilot: SampledRanks | None = None,
    method: str | Estimator = "auto",
    replacement: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Find the number of items to sample for a given error.

    The root mean square error of the estimate must be at most the goal.

    Parameters
    ----------
    n_items : int
        The number of items of the catalogue, at least 2.
    n_users : int
        The number of users whose targets will be ranked, with one target each.
    measure : str or Measure
        The measure to estimate. The target's rank must determine it; see `RankDistribution.expect`.
    error : float
        The goal: the largest acceptable root mean square error in units of the measure. It combines
        the standard error and the bias.
    pilot : SampledRanks, optional
        The ranks of some users under the model, or a similar one, in the same catalogue (without
        seen items, if these were left out). The plan uses the posterior of a smooth fit to them. A
        history influences this fit, but the planned evaluations are assumed to have none.
    method : str or Estimator
        The estimator of the planned evaluation: "auto" or a mean over users, such as bv, cls and
        naive; see `get`.
    replacement : bool
        Whether an item can be drawn twice.
    seed : int
        The seed of the draws from the pilot's posterior.
    progress : callable, optional
        A function that is called with (done, total, note) after each design.

    Returns
    -------
    Plan
        Sizes increase from 25 to at most 3,200, or half of the catalogue, until the goal is
        reached.

    Raises
    ------
    ArgumentError
        If the error is not above 0, if the measure needs more than ranks, if the errors of the
        method would have to be simulated, or if the pilot has another catalogue.

    Notes
    -----
    Without a pilot, the expected value of the measure is assumed to be the one for which recall at
    k is sqrt(k / n_items). Three shapes of rank distributions with this value are evaluated: a
    power law of the rank (steep), a power law that flattens over the first n_items / 300 ranks
    (bent), and one that flattens over the first n_items / 15 ranks (flat). The largest of the three
    errors must be at most the goal. Such power laws were fitted to the exact ranks of 24
    recommenders on four data sets. For 18 of them, the law is between steep and flat.

    With a pilot, errors are root mean squares over 16 distributions drawn from the posterior of
    `Smooth`. The planned bias is therefore that for distributions of the kind that `Smooth`
    assumes. For other distributions, such as ranks with a gap before the cutoff, the bias is larger
    than planned. For a method that is a mean over users, the bias is the median over these
    distributions (`conventions["bias_is"]`), because a few of them have a bias several times as
    large as the rest. The planned error includes the uncertainty of the pilot. In tests of `BV`
    with known exact ranks, the planned error was .5 to 4.7 times the true one, and the planned
    standard error 1.0 to 1.3 times.

    Standard errors and biases of means over users (such as bv, cls and naive) are sums over all
    outcomes. Those of `Smooth` are first-order approximations about its fit to outcomes with their
    expected frequencies. They differ by 10 % from simulations, and are up to 15 % too small for 50
    users.

    `Smooth` shrinks its estimate towards smooth shapes. With few users, this can reduce the
    standard error by more than it adds bias. The error of a sample is then smaller than that of
    ranking all items.

    Cost: 16 fits per design, or 3 without a pilot, which takes seconds.

    Examples
    --------
    >>> found = plan(10_000, 5_000, "ndcg@10", 0.005, method="bv(gamma=0.01)")
    >>> found.everything.reaches, found.best.n_negatives, found.best.share < 0.1
    (True, 270, True)
    """
    n_items = _check.count(n_items, "n_items", low=2)
    estimator, (parsed, *others) = get(method), read_measures(measure)
    is_mean = isinstance(estimator, LinearEstimator)
    if not is_mean and estimator.error_from != "posterior":
        raise ArgumentError(
            f"{arg.method} must be auto or a mean over users, such as bv, cls and naive, got "
            f"{estimator}, whose errors would have to be simulated."
        )
    if others:
        raise ArgumentError(f"{arg.measure} must be one measure. Plan for each one.")
    require_defined([parsed], n_items)
    n_planned, goal = _check.cutoff(n_users, name="n_users"), _check.positive(error, "error")
    replacement, seed = _check.flag(replacement, "replacement"), _check.seed(seed)
    _check_pilot(pilot, n_items)
    # Cells have the resolution of the largest usual sample.
    largest = max((size for size in SIZES if size < n_items), default=1)
    cells = layout(Design(largest, n_items, replacement))
    weights = cells.weights(parsed)
    if weights.min() == weights.max():
        raise ArgumentError(
            f"{parsed} is {weights[0]:g} for every ranking of {n_items} items: there is nothing to "
            "estimate. Lower its cutoff."
        )
    bias_is = None  # how biases of a pilot's draws are combined
    if pilot is None:
        expected = expected_without_pilot(parsed, cells)
    else:
        bias_is = "median" if is_mean else "root mean square"
        expected = expected_from_pilot(pilot, parsed, cells, seed)
    conventions = {
        "method": str(estimator),
        "replacement": replacement,
        "n_pilot_users": None if pilot is None else pilot.n_users,
        "bias_is": bias_is,
        "seed": seed,
    }
    planned = PlannedEstimate(estimator, parsed, n_planned, expected)
    with distinct_warnings():
        designs = search(planned, goal, replacement=replacement, progress=progress)
    return Plan(str(parsed), goal, expected.value, n_items, n_planned, designs, conventions)


def _check_pilot(pilot: Any, n_items: int) -> None:
    """Raise unless a pilot has ranks among sampled items of the catalogue."""
    if not isinstance(pilot, SampledRanks | None):
        raise ArgumentError(
            f"{arg.pilot} must be SampledRanks, which are ranks among uniformly drawn items, got "
            f"{type(pilot).__name__}."
        )
    if pilot is None:
        return
    is_whole = np.ndim(pilot.n_items) == 0
    if pilot.most_items > n_items or (pilot.most_items < n_items and is_whole):
        raise ArgumentError(
            f"{arg.pilot} must have ranks among {arg.n_items} = {n_items} items, got "
            f"{pilot.most_items} items. Use a pilot from the same catalogue."
        )
