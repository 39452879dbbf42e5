"""How many items to sample for an error, and what ranking all of them would cost and give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.sampled._request import read_request
from podium.sampled._uncertainty import said_once
from podium.sampled.design import Design
from podium.sampled.estimators import Estimator, LinearEstimator
from podium.sampled.estimators.smooth.cells import Cells
from podium.sampled.planning.designs import Kind, PlannedDesign, Table, ladders, largest
from podium.sampled.planning.outlook import Expected, Question, layout, of_pilot, of_value
from podium.sampled.ranks import SampledRanks
from podium.types import Progress

N_REPEATS = 16
"""Draws from what a pilot leaves open: errors are then known to some 15 %."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Designs and their errors, and which of them reach a goal.

    Attributes
    ----------
    measure : str
    goal : float
        The largest error that was asked for, in units of the measure.
    value : float
        What the measure is expected to be.
    n_items, n_users : int
    designs : tuple of PlannedDesign
        From the cheapest to ranking all items, which is last.
    conventions : dict
        Method and assumptions, for the record.
    """

    measure: str
    goal: float
    value: float
    n_items: int
    n_users: int
    designs: tuple[PlannedDesign, ...]
    conventions: dict[str, Any]

    @property
    def fixed(self) -> PlannedDesign | None:
        """The smallest sample of one size that reaches the goal; None if none of them does."""
        return self._cheapest("fixed")

    @property
    def growing(self) -> PlannedDesign | None:
        """The cheapest sample that grows and reaches the goal; None if none of them does."""
        return self._cheapest("growing")

    @property
    def everything(self) -> PlannedDesign:
        """Ranking all items: its error is that of having these users and no others.

        A biased estimate from a sample can have a smaller one.
        """
        return self.designs[-1]

    @property
    def best(self) -> PlannedDesign | None:
        """The cheapest of all that reach the goal; None if neither a sample nor all items do."""
        return next((each for each in self.designs if each.reaches), None)

    @property
    def n_users_needed(self) -> int:
        """Users with whom ranking all items reaches the goal."""
        times = min(float(self.everything.std_error) / float(self.goal), 1e9)  # nobody has more
        return max(1, int(np.ceil(self.n_users * times**2)))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/plan.json)."""
        chosen = {"best": self.best, "fixed": self.fixed, "growing": self.growing}
        return {
            "measure": self.measure,
            "goal": self.goal,
            "value": self.value,
            "n_items": self.n_items,
            "n_users": self.n_users,
            "n_users_needed": self.n_users_needed,
            **{k: None if v is None else self.designs.index(v) for k, v in chosen.items()},
            "designs": [_as_json(each, self.n_users) for each in self.designs],
            "conventions": dict(self.conventions),
        }

    def __str__(self) -> str:
        head = f"{self.measure} (about {self.value:.4g}) of {self.n_users} users within "
        alone = " (standard error alone)" if self.conventions["ignore_bias"] else ""
        about = f"{self.n_items} items, {self.conventions['method']}"
        lines = [f"{head}{self.goal:.4g}{alone}, {about}"]
        for each in self.designs:
            mark = "*" if each is self.best else "+" if each.reaches else " "
            lines.append(
                f"{mark} {each.text:20s} {each.n_scored:10.1f} items a user  "
                f"error {each.error:.4g} (standard error {each.std_error:.4g}, "
                f"bias {each.bias:.4g})"
            )
        return "\n".join(lines)

    def _cheapest(self, kind: Kind) -> PlannedDesign | None:
        return next((d for d in self.designs if d.kind == kind and d.reaches), None)


def plan(
    n_items: int,
    n_users: int,
    measure: str | Measure,
    error: float,
    *,
    pilot: SampledRanks | None = None,
    expect: float | None = None,
    relative: bool = False,
    ignore_bias: bool = False,
    method: str | Estimator = "auto",
    replacement: bool = True,
    sizes: Iterable[int] | None = None,
    n_repeats: int = N_REPEATS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Find how many items have to be sampled for an error, of a fixed size or growing.

    The root mean square error is held to the goal, or with ignore_bias the standard error alone.

    Parameters
    ----------
    n_items : int
        Items of the catalogue, at least 2.
    n_users : int
        Users whose targets will be ranked, one target each.
    measure : str or Measure
        That the target's rank determines; see `RankDistribution.expect`.
    error : float
        Goal: the root mean square of what the estimate is off, standard error and bias together,
        in units of the measure.
    pilot : SampledRanks, optional
        Ranks of some users under the model, or one like it, in the same catalogue (less what
        users had seen, if that was left out). What a smooth fit to them leaves open is what the
        plan has to do with. A history shapes that fit, but not the planned evaluations: they are
        taken to have none.
    expect : float, optional
        Without a pilot: the value of the measure that is expected.
    relative : bool
        The goal is a share of the expected value.
    ignore_bias : bool
        Hold the standard error alone to the goal.
    method : str or Estimator
        That will be used; see `get`.
    replacement : bool
        Whether an item can be drawn twice.
    sizes : iterable of int, optional
        Numbers of sampled items to look at, the last ones of samples that grow, instead of a
        ladder from 25 to 3,200 that ends where the goal is reached. There is no growing sample of
        less than 8 items.
    n_repeats : int
        Draws from what a pilot leaves open, at least 2. Methods whose error has to be simulated
        get three evaluations of each draw, or as many as this of each shape without a pilot.
    seed : int
        Of both.
    progress : callable, optional
        Called with (done, total, note) after each design.

    Raises
    ------
    ArgumentError
        For an error that is not above 0, a measure that needs more than ranks, a pilot of
        another catalogue, an expected value that no ranking has.

    Notes
    -----
    Without a pilot, ranks follow a power law that flattens among the first n_items / 300 ranks
    (bent), the first n_items / 15 (flat), or nowhere (steep), each with the power that gives the
    expected value; the error is the largest of the three, and has to be within the goal. Such
    laws fitted to the exact ranks of 24 recommenders on four data sets flatten between nowhere
    and n_items / 15 for 18 of them. If no value is given, it is the one that recall at k of
    sqrt(k / n_items) goes with.

    With a pilot, errors are root mean squares over n_repeats distributions drawn from the
    posterior of `Smooth`, so that bias is what this shape allows: a model whose ranks are not of
    it (a gap before the cutoff) is further off than planned. The bias of a mean over users is the
    median over these distributions (`conventions["bias_is"]`): a few of them have a bias several
    times as large as the rest. It is what the pilot leaves open, and not what is found in the end:
    where the true ranks were known, the planned error was .5 to 4.7 times the true one, and the
    standard error 1.0 to 1.3 times.

    Standard errors and biases of means over users (bv, cls, naive and their like) are sums over
    all outcomes. Those of `Smooth` are taken to first order about its fit to outcomes that come
    as often as expected: 10 % off what simulations give, and up to 15 % short for 50 users. Those
    of others are simulated, and known to 10 to 20 %.

    A growing sample doubles three times, or from 64 items on six times; sizes that this does not
    divide are halved and rounded up, as 38, 75, 150, 300.

    The estimate of `Smooth` is drawn towards smooth shapes, which can take more off the standard
    error of few users than it adds bias: then a sample is nearer than all items ranked.

    Cost: n_repeats fits a design, 3 without a pilot; seconds for the default and for means over
    users. Simulations take 4 n_repeats fits, or 3 n_repeats without a pilot.

    Examples
    --------
    >>> found = plan(10_000, 5_000, "ndcg@10", 0.005, expect=0.05, method="bv(gamma=0.01)")
    >>> found.everything.reaches, found.best.share < 0.1
    (True, True)
    >>> found.growing.n_scored < found.fixed.n_scored
    True
    """
    estimator, wanted = _read_request(n_items, method, measure)
    users = _check.cutoff(n_users, name="n_users")
    goal = _check.number(error, "error", low=0.0, strict=True)
    bias, again = _check.flag(ignore_bias, "ignore_bias"), _check.flag(replacement, "replacement")
    share, seed = _check.flag(relative, "relative"), _check.seed(seed)
    repeats, climbed = _read_repeats(n_repeats), ladders(sizes, n_items, grows=estimator.grows)
    cells = layout(Design(largest(climbed), n_items, again))
    expected = _expected(wanted, cells, pilot, expect, repeats, seed)
    question = Question(estimator, wanted, users, expected, repeats, seed)
    table = Table(question, goal * (expected.value if share else 1.0), bias, again)
    with said_once():
        designs = table.rows(climbed, whole=sizes is not None, progress=progress)
    return _found(table, designs, pilot)


def _found(table: Table, designs: tuple[PlannedDesign, ...], pilot: SampledRanks | None) -> Plan:
    asked = table.question
    conventions = {
        "method": str(asked.method),
        "replacement": table.replacement,
        "expected_from": "value" if pilot is None else "pilot",
        "n_pilot_users": None if pilot is None else pilot.n_users,
        "ignore_bias": table.ignore_bias,
        "bias_is": _bias_is(asked.method, pilot),
        "n_repeats": asked.n_repeats,
        "seed": asked.seed,
    }
    n_items, value = asked.expected.cells.n_items, asked.expected.value
    measure = str(asked.measure)
    return Plan(measure, table.goal, value, n_items, asked.n_users, designs, conventions)


def _bias_is(method: Estimator, pilot: SampledRanks | None) -> str | None:
    """Return what is made of the biases under each distribution that a pilot leaves open."""
    if pilot is None:
        return None
    return "median" if isinstance(method, LinearEstimator) else "root mean square"


def _read_request(
    n_items: int, method: str | Estimator, measure: str | Measure
) -> tuple[Estimator, Measure]:
    if _check.cutoff(n_items, name="n_items") < 2:
        raise ArgumentError(f"n_items must be >= 2, the target and others, got {n_items}.")
    found, (wanted,) = read_request(method, measure, (SampledRanks([1], 1, n_items),))
    return found, wanted


def _read_repeats(n_repeats: int) -> int:
    if _check.cutoff(n_repeats, name="n_repeats") < 2:
        raise ArgumentError(f"n_repeats must be >= 2, got {n_repeats}.")
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
        return of_value(
            measure, cells, None if value is None else _check.number(value, "expect", low=-np.inf)
        )
    if value is not None:
        raise ArgumentError(
            "expect is what is assumed without a pilot, and there is one. Leave one of them out."
        )
    return of_pilot(pilot, measure, cells, n_draws, seed)


def _as_json(design: PlannedDesign, n_users: int) -> dict[str, Any]:
    return {
        **asdict(design),
        "stages": list(design.stages) or None,
        "n_scored_in_all": design.n_scored * n_users,
    }
