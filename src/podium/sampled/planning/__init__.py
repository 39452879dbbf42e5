"""Plans of sampled evaluations: the number of items to sample for a given error, and the cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from podium import _check
from podium.errors import ArgumentError, arg
from podium.metrics import Measure
from podium.sampled.design import Design
from podium.sampled.distribution import require_defined
from podium.sampled.estimators import Estimator, LinearEstimator, get
from podium.sampled.estimators.smooth.cells import Cells
from podium.sampled.fits import distinct_warnings
from podium.sampled.matching import read_measures, require_kind
from podium.sampled.planning.designs import Plan, PlannedDesign, Sizes, ladders, largest_size
from podium.sampled.planning.outlook import (
    Expected,
    PlannedEstimate,
    expected_from_pilot,
    expected_from_value,
    layout,
)
from podium.sampled.planning.scans import plan_scan as plan_scan
from podium.sampled.ranks import SampledRanks
from podium.types import Progress

N_REPEATS = 16
"""The number of draws from a pilot's posterior. It determines errors to about 15 %."""


def plan(
    n_items: int,
    n_users: int,
    measure: str | Measure,
    error: float,
    *,
    pilot: SampledRanks | None = None,
    expect: float | None = None,
    ignore_bias: bool = False,
    method: str | Estimator = "auto",
    replacement: bool = True,
    sizes: Iterable[int] | None = None,
    n_repeats: int = N_REPEATS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Find the number of items to sample for a given error, with a fixed size or a growing one.

    The root mean square error of the estimate must be at most the goal. With ignore_bias, this
    applies to the standard error instead.

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
    expect : float, optional
        The expected value of the measure, if there is no pilot.
    ignore_bias : bool
        Whether only the standard error must be within the goal.
    method : str or Estimator
        The estimator of the planned evaluation; see `get`.
    replacement : bool
        Whether an item can be drawn twice.
    sizes : iterable of int, optional
        The numbers of sampled items to evaluate; for samples that grow, the last sizes. By default,
        sizes increase from 25 to at most 3,200 until the goal is reached. There are no growing
        samples of fewer than 8 items.
    n_repeats : int
        The number of draws from the posterior of a pilot, at least 2. For methods whose error must
        be simulated, there are three evaluations per draw. Without a pilot, there are n_repeats
        evaluations per shape.
    seed : int
        The seed of the draws and of the simulations.
    progress : callable, optional
        A function that is called with (done, total, note) after each design.

    Returns
    -------
    Plan

    Raises
    ------
    ArgumentError
        If the error is not above 0, if the measure needs more than ranks, if the pilot has another
        catalogue, or if no ranking has the expected value.

    Notes
    -----
    Without a pilot, three shapes of rank distributions are evaluated: a power law of the rank
    (steep), a power law that flattens over the first n_items / 300 ranks (bent), and one that
    flattens over the first n_items / 15 ranks (flat). The power is the one that gives the expected
    value. The largest of the three errors must be at most the goal. Such power laws were fitted to
    the exact ranks of 24 recommenders on four data sets. For 18 of them, the law is between steep
    and flat. The default of `expect` is the value for which recall at k is sqrt(k / n_items).

    With a pilot, errors are root mean squares over n_repeats distributions drawn from the posterior
    of `Smooth`. The planned bias is therefore that for distributions of the kind that `Smooth`
    assumes. For other distributions, such as ranks with a gap before the cutoff, the bias is larger
    than planned. For a method that is a mean over users, the bias is the median over these
    distributions (`conventions["bias_is"]`), because a few of them have a bias several times as
    large as the rest. The planned error includes the uncertainty of the pilot. In tests of `BV`
    with known exact ranks, the planned error was .5 to 4.7 times the true one, and the planned
    standard error 1.0 to 1.3 times.

    Standard errors and biases of means over users (such as bv, cls and naive) are sums over all
    outcomes. Those of `Smooth` are first-order approximations about its fit to outcomes with their
    expected frequencies. They differ by 10 % from simulations, and are up to 15 % too small for 50
    users. Those of other methods are simulated, with an accuracy of 10 to 20 %.

    A growing sample doubles three or six times. With six doublings, its last size is at least 64
    items. Each size is half of the next, rounded up, such as 38, 75, 150, 300.

    `Smooth` shrinks its estimate towards smooth shapes. With few users, this can reduce the
    standard error by more than it adds bias. The error of a sample is then smaller than that of
    ranking all items.

    Cost: n_repeats fits per design, or 3 without a pilot; seconds for the default and for means
    over users. Simulations take 4 n_repeats fits, or 3 n_repeats without a pilot.

    Examples
    --------
    >>> found = plan(10_000, 5_000, "ndcg@10", 0.005, expect=0.05, method="bv(gamma=0.01)")
    >>> found.everything.reaches, found.best.share < 0.1
    (True, True)
    >>> found.growing.n_scored < found.fixed.n_scored
    True
    """
    estimator, parsed = _read_request(n_items, method, measure)
    n_users_checked = _check.cutoff(n_users, name="n_users")
    goal = _check.positive(error, "error")
    only_std_error, with_replacement = (
        _check.flag(ignore_bias, "ignore_bias"),
        _check.flag(replacement, "replacement"),
    )
    seed = _check.seed(seed)
    repeats, families = _read_repeats(n_repeats), ladders(sizes, n_items, grows=estimator.grows)
    cells = layout(Design(largest_size(families), n_items, with_replacement))
    expected = _expected(parsed, cells, pilot, expect, repeats, seed)
    planned_estimate = PlannedEstimate(estimator, parsed, n_users_checked, expected, repeats, seed)
    table = Sizes(
        planned_estimate,
        goal,
        only_std_error,
        with_replacement,
    )
    with distinct_warnings():
        designs = table.search(families, all_sizes=sizes is not None, progress=progress)
    designed = _plan_of(table, designs, pilot)
    return replace(designed, assumed=pilot is None and expect is None)


def _plan_of(table: Sizes, designs: tuple[PlannedDesign, ...], pilot: SampledRanks | None) -> Plan:
    planned_estimate = table.planned_estimate
    conventions = {
        "method": str(planned_estimate.method),
        "replacement": table.replacement,
        "expected_from": "value" if pilot is None else "pilot",
        "n_pilot_users": None if pilot is None else pilot.n_users,
        "ignore_bias": table.ignore_bias,
        "bias_is": _bias_is(planned_estimate.method, pilot),
        "n_repeats": planned_estimate.n_repeats,
        "seed": planned_estimate.seed,
    }
    n_items, value = planned_estimate.expected.cells.n_items, planned_estimate.expected.value
    measure = str(planned_estimate.measure)
    return Plan(measure, table.goal, value, n_items, planned_estimate.n_users, designs, conventions)


def _bias_is(method: Estimator, pilot: SampledRanks | None) -> str | None:
    """Return how biases are combined over the distributions of a pilot's posterior."""
    if pilot is None:
        return None
    return "median" if isinstance(method, LinearEstimator) else "root mean square"


def _read_request(
    n_items: int, method: str | Estimator, measure: str | Measure
) -> tuple[Estimator, Measure]:
    if _check.cutoff(n_items, name="n_items") < 2:
        raise ArgumentError(
            f"{arg.n_items} must be >= 2 (the target and other items), got {n_items}."
        )
    estimator, parsed = get(method), read_measures(measure)
    require_defined(parsed, n_items)
    if len(parsed) > 1:
        raise ArgumentError(
            f"{arg.measure} must be one measure, got {', '.join(map(str, parsed))}. Plan for each "
            "one."
        )
    return estimator, parsed[0]


def _read_repeats(n_repeats: int) -> int:
    if _check.cutoff(n_repeats, name="n_repeats") < 2:
        raise ArgumentError(f"{arg.n_repeats} must be >= 2, got {n_repeats}.")
    return int(n_repeats)


def _expected(
    measure: Measure,
    cells: Cells,
    pilot: SampledRanks | None,
    value: float | None,
    n_draws: int,
    seed: int,
) -> Expected:
    if pilot is None:
        return expected_from_value(measure, cells, value)
    if value is not None:
        raise ArgumentError(
            f"{arg.expect} is only for plans without a pilot, and there is one. Leave one of them "
            "out."
        )
    require_kind(pilot, SampledRanks, "pilot", "Use plan_scan for ScannedRanks.")
    return expected_from_pilot(pilot, measure, cells, n_draws, seed)
