"""Plans of sampled evaluations: the number of items to sample for a given error, and the cost."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError, PodiumWarning, arg
from podium.metrics import Measure
from podium.sampled.design import Design, Floats
from podium.sampled.distribution import rank_weights, read_measures, require_defined, values_of
from podium.sampled.estimators import Estimator, LinearEstimator, get
from podium.sampled.evaluating import evaluate
from podium.sampled.fits import distinct_warnings
from podium.sampled.planning.designs import Kind, Plan, PlannedDesign, ladders, search
from podium.sampled.planning.outlook import (
    PILOT,
    PlannedEstimate,
    expected_from_pilot,
    expected_from_value,
    layout,
)
from podium.sampled.ranks import SampledRanks, ScannedRanks, columns_at
from podium.sampled.scanning.measured import OpenTargets
from podium.types import Progress

_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the pilot's number of random items
_N_SCANS = 4
_LEAST_USERS = 1000  # simulated users, at least
N_REPEATS = 16
"""The number of draws from a pilot's posterior. It determines errors to about 15 %."""


class _Simulation:
    """Targets like those of a pilot, with the number of unlisted items above each.

    Attributes
    ----------
    pilot : ScannedRanks
        The pilot, repeated until there are enough users.
    above_unlisted : int64, (n,)
        The number of unlisted items above each target, drawn given its own draws.
    is_fixed : bool
        Whether items are drawn for all targets, also for settled ones.
    rng : numpy.random.Generator
    """

    def __init__(self, pilot: ScannedRanks, rng: np.random.Generator) -> None:
        times = -(-_LEAST_USERS // pilot.n_users)  # copies of the pilot's users
        users = pilot.owner + pilot.n_users * np.arange(times)[:, None]
        names = [field.name for field in fields(pilot) if field.name != "user"]
        columns = columns_at(pilot, names, np.tile(np.arange(pilot.n_rows), times))
        ranks = ScannedRanks(**columns, user=users.ravel())
        alpha, beta = OpenTargets.fit(pilot).shapes(ranks.above_listed)
        n_below = ranks.n_drawn - ranks.above_drawn
        shares = rng.beta(alpha + ranks.above_drawn, beta + n_below)
        self.pilot, self.rng, self.is_fixed = ranks, rng, bool((ranks.n_drawn > 0).all())
        self.above_unlisted = ranks.above_drawn + rng.binomial(ranks.n_rest, shares)

    def exact(self, measure: Measure) -> Floats:
        """Return the mean and the variance of the users' exact values: float64, (2,)."""
        weights = rank_weights(measure, int(self.pilot.n_items.max()))
        above = self.pilot.above_listed + self.above_unlisted
        values = self.pilot.means_of_users(values_of(weights, above))
        return np.array([values.mean(), values.var(ddof=1)])

    def design(self, times: float, measure: Measure, n_users: int, goal: float) -> PlannedDesign:
        """Return the cost and the standard error with some times the random items of the pilot."""
        scans = [self._drawn(times) for _ in range(_N_SCANS)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PodiumWarning)  # the pilot's is enough
            estimates = [evaluate(ranks, measure).summary(str(measure)) for ranks in scans]
        errors = [estimate.std_error for estimate in estimates]
        ratio = self.pilot.n_users / n_users
        std_error = float(np.sqrt(np.mean(np.square(errors)) * ratio))
        n_listed = float(self.pilot.n_listed.mean())
        budget = float(np.mean([ranks.n_scored.mean() for ranks in scans]))
        kind: Kind = "strata" if self.is_fixed else "scan"
        share = (budget + 1) / float(self.pilot.n_items.mean())
        return _planned(kind, budget, share, std_error, n_listed / budget, goal)

    def _drawn(self, times: float) -> ScannedRanks:
        """Draw items from the unlisted ones, until k items are above a target if it is a scan."""
        ranks = self.pilot
        n_unlisted = ranks.n_items - 1 - ranks.n_listed
        n_left = ranks.k - ranks.above_listed  # items above that settle the target
        most = ranks.n_drawn if self.is_fixed else (n_left > 0) * int(ranks.n_drawn.max())
        sizes = np.minimum(np.ceil(times * most).astype(np.int64), n_unlisted)
        n_below = n_unlisted - self.above_unlisted
        above = self.rng.hypergeometric(self.above_unlisted, n_below, sizes)
        if not self.is_fixed:
            stops = np.flatnonzero((above >= n_left) & (n_left > 0))
            places = self.rng.beta(n_left[stops], above[stops] - n_left[stops] + 1)
            above[stops] = n_left[stops]
            sizes[stops] = np.maximum(np.ceil(sizes[stops] * places), above[stops])
        return replace(ranks, above_drawn=above, n_drawn=sizes)


def _scan_designs(
    pilots: Sequence[ScannedRanks], measure: Measure, n_users: int, goal: float, seed: int
) -> tuple[float, tuple[PlannedDesign, ...]]:
    """Return the expected value, and scans from the cheapest with all items last."""
    designs, everything = list[PlannedDesign](), list[Floats]()
    for number, pilot in enumerate(pilots):
        if not pilot.n_drawn.any():
            advice = (
                "Scan the pilot's users with list_share below 1"
                if pilot.is_open.any()
                else "Its lists alone give the exact measure: scan more users, or shorten the lists"
            )
            raise ArgumentError(
                f"{arg.pilot} must have random items, but pilot {number} has none. {advice}."
            )
        pilot.warn_of_random_list()
        simulation = _Simulation(pilot, np.random.default_rng([seed, number]))
        everything.append(simulation.exact(measure))
        designs += [simulation.design(times, measure, n_users, goal) for times in _MULTIPLES]
    value, variance = np.mean(everything, axis=0)
    n_others = float(np.mean([pilot.n_items.mean() for pilot in pilots])) - 1
    designs.sort(key=lambda design: design.n_scored)
    error = float(np.sqrt(variance / n_users))
    return float(value), (*designs, _planned("all", n_others, 1.0, error, None, goal))


def _planned(
    kind: Kind, budget: float, share: float, error: float, list_share: float | None, goal: float
) -> PlannedDesign:
    costs = (round(budget), (), budget + 1, share)
    errors = (error, 0.0, error, {PILOT: error}, error <= goal)
    return PlannedDesign(kind, *costs, *errors, list_share)


def plan(
    n_items: int,
    n_users: int,
    measure: str | Measure,
    error: float,
    *,
    pilot: SampledRanks | ScannedRanks | Sequence[ScannedRanks] | None = None,
    expect: float | None = None,
    method: str | Estimator = "auto",
    replacement: bool = True,
    sizes: Iterable[int] | None = None,
    n_repeats: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Find the number of items to score for a given error, by samples or with the help of a proxy.

    The root mean square error of the estimate must be at most the goal. Samples have a fixed size
    or a growing one. A pilot that is a scan, or has strata, gives plans for `scan` or
    `draw_strata`.

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
    pilot : SampledRanks, ScannedRanks or several ScannedRanks, optional
        The ranks of some users under the model, or a similar one, in the same catalogue (without
        seen items, if these were left out). The plan uses the posterior of a smooth fit to them. A
        history influences this fit, but the planned evaluations are assumed to have none.
        Or scans or strata of some users, with the planned proxy. Each has its own numbers of listed
        items; pass pilots with several values of `list_share` or `certain` to compare them. The
        other options but `seed` then have no effect, and are refused.
    expect : float, optional
        The expected value of the measure, if there is no pilot.
    method : str or Estimator
        The estimator of the planned evaluation; see `get`.
    replacement : bool
        Whether an item can be drawn twice.
    sizes : iterable of int, optional
        The numbers of sampled items to evaluate; for samples that grow, the last sizes. By default,
        sizes increase from 25 to at most 3,200 until the goal is reached. There are no growing
        samples of fewer than 8 items.
    n_repeats : int, optional
        The number of draws from the posterior of a pilot, at least 2; by default 16. For methods
        whose error must be simulated, there are three evaluations per draw. Without a pilot, there
        are n_repeats evaluations per shape.
    seed : int
        The seed of the draws and of the simulations.
    progress : callable, optional
        A function that is called with (done, total, note) after each design.

    Returns
    -------
    Plan
        From a scan, the designs have the listed items of a pilot, and a quarter to four times its
        random items. Pass `budget` and `list_share` of the best design to `scan`. For
        `draw_strata`, `certain` is their product, less the user's other targets if these count as
        listed, and `uniform` is the rest of the budget.

    Raises
    ------
    ArgumentError
        If the error is not above 0, if the measure needs more than ranks, if the pilot has another
        catalogue, or if no ranking has the expected value. If a pilot that is a scan has no random
        items, or a cutoff below that of the measure.

    Warns
    -----
    PodiumWarning
        If the list of a pilot is hardly better than a random one.

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

    *Scans.* For each target, a number of unlisted items above it is drawn from the distribution
    that was fitted to the pilot, given the target's own draws. New random items are drawn, and the
    result is evaluated. The standard errors are root mean squares over four such simulations. The
    bias is not planned: under the fitted distribution it is about 0. On MovieLens-1M, with pilots
    of 800 users, planned standard errors were .77 to 1.31 times those of scans of all users.

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
    >>> rng = np.random.default_rng(0)
    >>> listed, above = rng.integers(0, 20, 400), rng.binomial(60, 0.003, 400)
    >>> pilot = ScannedRanks(listed, [40] * 400, above, [60] * 400, 2000, k=10)
    >>> plan(2000, 10_000, "recall@10", 0.01, pilot=pilot).best.text
    '40 listed, 60 random'
    """
    n_items = _check.count(n_items, "n_items", low=2)
    estimator, (parsed, *others) = get(method), read_measures(measure)
    if others:
        raise ArgumentError(f"{arg.measure} must be one measure. Plan for each one.")
    require_defined([parsed], n_items)
    n_planned, goal = _check.cutoff(n_users, name="n_users"), _check.positive(error, "error")
    replacement, seed = _check.flag(replacement, "replacement"), _check.seed(seed)
    n_draws = _check.count(N_REPEATS if n_repeats is None else n_repeats, "n_repeats", low=2)
    pilots = _read_pilots(pilot, n_items)
    conventions = {
        "method": str(estimator),
        "replacement": replacement,
        "expected_from": "value" if pilot is None else PILOT,
        "n_pilot_users": None if pilot is None else sum(ranks.n_users for ranks in pilots),
        "bias_is": None,  # how biases of a pilot's draws are combined
        "n_repeats": n_draws,
        "seed": seed,
    }
    about = (n_items, n_planned)
    if isinstance(pilots[0], ScannedRanks):
        for name, is_given in (
            ("expect", expect is not None),
            ("method", method != "auto"),
            ("replacement", not replacement),
            ("sizes", sizes is not None),
            ("n_repeats", n_repeats is not None),
        ):
            if is_given:
                raise ArgumentError(
                    f"{arg[name]} has no effect with scans or strata. Leave it out."
                )
        value, designs = _scan_designs(pilots, parsed, n_planned, goal, seed)
        conventions["method"] = f"scan(k={min(ranks.k for ranks in pilots)})"
        conventions |= {"replacement": False, "n_repeats": _N_SCANS}
        return Plan(str(parsed), goal, value, *about, designs, conventions)
    families = ladders(sizes, n_items, grows=estimator.grows)
    largest = max((family.sizes[-1] for family in families if family.sizes), default=1)
    cells = layout(Design(largest, n_items, replacement))
    if pilot is None:
        expected = expected_from_value(parsed, cells, expect)
    elif expect is not None:
        raise ArgumentError(
            f"{arg.expect} is only for plans without a pilot, and there is one. Leave one of them "
            "out."
        )
    else:
        is_linear = isinstance(estimator, LinearEstimator)
        conventions["bias_is"] = "median" if is_linear else "root mean square"
        expected = expected_from_pilot(pilots[0], parsed, cells, n_draws, seed)
    planned = PlannedEstimate(estimator, parsed, n_planned, expected, n_draws, seed)
    with distinct_warnings():
        designs = search(
            planned,
            families,
            goal,
            replacement=replacement,
            all_sizes=sizes is not None,
            progress=progress,
        )
    is_assumed = pilot is None and expect is None
    return Plan(str(parsed), goal, expected.value, *about, designs, conventions, is_assumed)


def _read_pilots(pilot: Any, n_items: int) -> list[Any]:
    """Return one sample, or scans, of the catalogue; [None] without a pilot."""
    pilots: list[Any] = [*pilot] if isinstance(pilot, Sequence) else [pilot]
    are_scans = bool(pilots) and all(isinstance(ranks, ScannedRanks) for ranks in pilots)
    if not (are_scans or isinstance(pilot, SampledRanks | None)):
        raise ArgumentError(f"{arg.pilot} must be SampledRanks, or one or more ScannedRanks.")
    for ranks in filter(None, pilots):
        is_whole = isinstance(ranks, SampledRanks) and np.ndim(ranks.n_items) == 0
        if ranks.most_items > n_items or (ranks.most_items < n_items and is_whole):
            raise ArgumentError(
                f"{arg.pilot} must have ranks among {arg.n_items} = {n_items} items, got "
                f"{ranks.most_items} items. Use a pilot from the same catalogue."
            )
    return pilots
