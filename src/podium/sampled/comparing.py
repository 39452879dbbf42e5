"""Models by sampled ranks of the same users: how they differ, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation import stats
from podium.evaluation.json_form import number
from podium.evaluation.stats import Interval
from podium.evaluation.stats.intervals import t_interval, t_p_value, t_statistic
from podium.metrics import ByMeasure, Measure, listed_measures
from podium.progress import or_silent
from podium.sampled import _uncertainty
from podium.sampled._request import (
    Pair,
    comparable,
    conventions,
    read_request,
    read_resamples,
    same_catalogue,
)
from podium.sampled._uncertainty import ErrorFrom, IntervalOf
from podium.sampled.bounds import Bounds, identification_bounds
from podium.sampled.design import Floats
from podium.sampled.distribution import read_measure
from podium.sampled.estimators import Estimator
from podium.sampled.estimators.smooth import Smooth, SmoothFit
from podium.sampled.evaluating import N_BOOTSTRAP, SampledEvaluation, evaluate
from podium.sampled.ranks import SampledRanks
from podium.types import Progress


@dataclass(frozen=True)
class Difference:
    """How much higher a measure of b is than that of a, on the same users.

    Attributes
    ----------
    a, b : float
        The estimates.
    difference, std_error : float
        b - a, in units of the measure.
    interval : Interval
        Of what `interval_of` says, with coverage `level`.
    level : float
    n_groups : int
        Users.
    method : str
    biased : bool
    interval_of : {"exact", "expectation"}
    error_from : {"users", "bootstrap", "posterior"}
        These are as in `Estimate`.
    sign_probability : float
        Probability that the sign of the difference is right: of the exact means, or of the
        expectations, whichever `interval_of` says. From 0.5, for a difference of 0.
    bounds : Bounds or None
        Smallest and largest difference of exact means that the observed ranks allow. The
        default's interval lies inside.
    prior_decides : bool
        Whether the method's prior decides more than the ranks of either model, as in `Estimate`.
    """

    a: float
    b: float
    difference: float
    std_error: float
    interval: Interval
    level: float
    n_groups: int
    method: str
    biased: bool
    interval_of: IntervalOf
    error_from: ErrorFrom
    sign_probability: float
    bounds: Bounds | None
    prior_decides: bool = False

    @property
    def either_sign(self) -> bool | None:
        """Whether the observed ranks allow either model to be the better one; None unasked."""
        return None if self.bounds is None else self.bounds.low < 0 < self.bounds.high

    def to_dict(self) -> dict[str, Any]:
        """Return the form in JSON: None for nan, a list for an interval."""
        found = {name: number(value) for name, value in asdict(self).items()}
        return found | {"either_sign": self.either_sign}


@dataclass(frozen=True, eq=False)
class SampledComparison:
    """Differences between two models by several measures.

    Attributes
    ----------
    differences : dict of str to Difference
        By the text of the measure.
    conventions : dict of str to dict
        Method and design of "a" and "b", for the record.
    """

    differences: dict[str, Difference]
    conventions: dict[str, dict[str, Any]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "differences", ByMeasure(self.differences))

    def summary(self, measure: str | Measure) -> Difference:
        """Return the difference by one measure."""
        name = str(read_measure(measure))
        if name not in self.differences:
            raise ArgumentError(
                f"{name} was not compared. There are: {', '.join(self.differences)}."
            )
        return self.differences[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the form in JSON; nan becomes None."""
        return {
            "measures": {name: found.to_dict() for name, found in self.differences.items()},
            "conventions": {name: dict(each) for name, each in self.conventions.items()},
        }

    def __str__(self) -> str:
        lines: list[str] = []
        for name, d in self.differences.items():
            open_ = {None: "", True: ", either sign is possible", False: ", no other is possible"}
            lines.append(
                f"{name:20s} {d.difference:+.4f}  [{d.interval[0]:+.4f}, {d.interval[1]:+.4f}]  "
                f"sign right with {d.sign_probability:.3f}{open_[d.either_sign]}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class SampledComparisons:
    """Estimates of several models, and how each but the first differs from the first.

    Attributes
    ----------
    evaluations : dict of str to SampledEvaluation
        By the model's name; the first is the baseline.
    comparisons : dict of str to SampledComparison
        Of the baseline, as "a", with each of the others, as "b".
    """

    evaluations: dict[str, SampledEvaluation]
    comparisons: dict[str, SampledComparison]

    @property
    def baseline(self) -> str:
        return next(iter(self.evaluations))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/estimate-comparison.json); nan becomes None."""
        means = {name: each.to_dict()["measures"] for name, each in self.evaluations.items()}
        tests = {name: each.to_dict() for name, each in self.comparisons.items()}
        first = next(iter(tests.values()))["conventions"]["a"]
        return {
            "runs": list(means),
            "baseline": self.baseline,
            "measures": {
                measure: {
                    "higher_is_better": True,  # as all measures are that a rank determines
                    "means": {name: each[measure] for name, each in means.items()},
                    "differences": [
                        self._difference(name, each["measures"][measure])
                        for name, each in tests.items()
                    ],
                }
                for measure in means[self.baseline]
            },
            "conventions": {self.baseline: first}
            | {name: each["conventions"]["b"] for name, each in tests.items()},
        }

    def _difference(self, run: str, test: dict[str, Any]) -> dict[str, Any]:
        """Name both models; their estimates stand among the means."""
        rest = {key: value for key, value in test.items() if key not in ("a", "b")}
        return {"run": run, "baseline": self.baseline, **rest}


def compare(
    a: SampledRanks,
    b: SampledRanks,
    measures: str | Measure | Iterable[str | Measure],
    *,
    estimator: str | Estimator = "auto",
    level: float = 0.95,
    n_bootstrap: int = N_BOOTSTRAP,
    bounds: bool = True,
    seed: int = 0,
) -> SampledComparison:
    """Compare two models by sampled ranks of the same users: paired differences b - a.

    Parameters
    ----------
    a, b : SampledRanks
        Of the same users: by their labels if they have any, else row by row. The samples may be
        of different sizes, and share their items or not. Histories are read as in `evaluate`.
    measures, estimator, level, n_bootstrap, bounds, seed
        As in `evaluate`.

    Raises
    ------
    ArgumentError
        If users or catalogues differ, and for what `evaluate` refuses.

    Notes
    -----
    Users are drawn together for both models, so that what makes some users easy for both does
    not count as an error of the difference. An estimator with standard errors of its own
    (`Smooth`) has these in place of the variances, and what the users share from how each moves
    the estimates, without fitting again; what samples leave open is then taken as independent
    between the models, though models of the same kind share some of it.
    The difference is bounded by the bounds of either model, each at the level (1 + level) / 2.
    With one user there is no standard error, as in `evaluate`.
    Bounds that allow either sign mean that no estimator can tell which model is better from such
    ranks alone: a probability near 1 is then one by what the estimator assumes.

    Examples
    --------
    >>> a = SampledRanks([1, 2, 5, 9] * 20, 9, 100)
    >>> b = SampledRanks([1, 1, 4, 7] * 20, 9, 100)
    >>> found = compare(a, b, "recall@20", estimator="bv(gamma=0.1)").summary("recall@20")
    >>> found.difference > 0, found.sign_probability > 0.99, found.either_sign
    (True, True, True)
    """
    method, wanted = read_request(estimator, measures, (a, b))
    level = _check.open_fraction(level, "level")
    n_bootstrap = read_resamples(n_bootstrap)
    pair = same_catalogue(a, b)
    with _uncertainty.said_once():
        means, deviations, source, prior = _differences(method, pair, wanted, n_bootstrap, seed)
        limits = [_bounds(pair, each, level) if bounds else None for each in wanted]
    about = (level, a.n_users, str(method), *_uncertainty.interval_kind(method, pair), source)
    found: dict[str, Difference] = {}
    for each, (mean_a, mean_b), error, limit, assumed in zip(
        wanted, means.tolist(), deviations.tolist(), limits, prior, strict=True
    ):
        gain = mean_b - mean_a
        right = 1.0 - t_p_value(t_statistic(gain, error), a.n_users) / 2
        interval = t_interval(gain, error, a.n_users, level)
        if limit is not None and source == "posterior":
            interval = Interval(max(interval.low, limit.low), min(interval.high, limit.high))
        found[str(each)] = Difference(
            mean_a, mean_b, gain, error, interval, *about, right, limit, assumed
        )
    drawn = n_bootstrap if source == "bootstrap" else None
    return SampledComparison(
        found,
        {
            name: conventions(method, each, seed, drawn)
            for name, each in zip("ab", pair, strict=True)
        },
    )


def compare_all(
    models: Mapping[str, SampledRanks],
    measures: str | Measure | Iterable[str | Measure],
    *,
    progress: Progress | None = None,
    **options: Any,
) -> SampledComparisons:
    """Estimate measures of several models, and compare each with the first.

    Parameters
    ----------
    models : mapping of str to SampledRanks
        Two or more, by name, of the same users.
    measures : str, Measure, or several
    progress : callable, optional
        Called with (done, total, name) before each model's turn.
    **options
        As in `evaluate`: estimator, level, n_bootstrap, bounds, seed.

    Raises
    ------
    ArgumentError
        As `comparable` and `compare`; if there is one model.
    """
    if len(models) < 2:
        raise ArgumentError(f"models must be at least two, got {len(models)}. See evaluate.")
    alike = comparable(list(models.values()), list(models), options.get("estimator", "auto"))
    named = dict(zip(models, alike, strict=True))
    asked, show = listed_measures(measures), or_silent(progress)
    baseline, *_ = named
    evaluations: dict[str, SampledEvaluation] = {}
    comparisons: dict[str, SampledComparison] = {}
    for done, (name, ranks) in enumerate(named.items()):
        show(done, len(named), name)
        evaluations[name] = evaluate(ranks, asked, **options)
        if name != baseline:
            comparisons[name] = compare(named[baseline], ranks, asked, **options)
    return SampledComparisons(evaluations, comparisons)


def _differences(
    method: Estimator, pair: Pair, measures: Sequence[Measure], n_bootstrap: int, seed: int
) -> tuple[Floats, Floats, ErrorFrom, list[bool]]:
    """Return means, (n_measures, 2), standard errors of differences, and where these are from.

    And whether the method's prior decides more than the ranks, measure by measure.
    """
    no = [False] * len(measures)
    linear = [_uncertainty.linear_form(method, ranks) for ranks in pair]
    first, second = linear
    if first is not None and second is not None:
        values = [
            (
                _uncertainty.user_values(first, pair[0], m),
                _uncertainty.user_values(second, pair[1], m),
            )
            for m in measures
        ]
        gains = [stats.summarize(after - before).std_error for before, after in values]
        means = np.array([[before.mean(), after.mean()] for before, after in values])
        return means, np.array(gains), "users", no
    if isinstance(method, Smooth):
        fits = [method.posterior(ranks) for ranks in pair]
        prior = [any(fit.prior_decides(each) for fit in fits) for each in measures]
        return *_by_posteriors(method, pair, fits, measures), "posterior", prior
    means = np.array([_uncertainty.estimates(method, ranks, measures) for ranks in pair]).T
    spread = _uncertainty.covariances(method, pair, measures, n_bootstrap, seed)
    return means, _of_difference(np.einsum("mii->mi", spread), spread[:, 0, 1]), "bootstrap", no


def _of_difference(variances: Floats, shared: Floats) -> Floats:
    """Return standard errors of differences, by measure."""
    return np.sqrt(np.maximum(variances.sum(axis=1) - 2 * shared, 0.0))


def _by_posteriors(
    method: Smooth, pair: Pair, fits: Sequence[SmoothFit], measures: Sequence[Measure]
) -> tuple[Floats, Floats]:
    """Return means, (n_measures, 2), and standard errors of differences.

    Variances are the estimator's own, or those over users where all items were drawn; what the
    models share is how users move both estimates, to first order.
    """
    means = np.array([[fit.expect(each) for fit in fits] for each in measures])
    own = np.array([[fit.std_error(each) for fit in fits] for each in measures])
    spread = np.array([_of_users(method, pair, fits, each) for each in measures])
    variances = np.maximum(np.einsum("mii->mi", spread), own**2)
    return means, _of_difference(variances, spread[:, 0, 1])


def _of_users(method: Smooth, pair: Pair, fits: Sequence[SmoothFit], measure: Measure) -> Floats:
    """Return how the users, as some of many, let both estimates vary: (2, 2)."""
    n = pair[0].n_users
    if n < 2:
        return np.full((2, 2), np.nan)
    moved: list[Floats] = []
    for ranks, fit in zip(pair, fits, strict=True):
        exact = _uncertainty.linear_form(method, ranks)
        if exact is not None:
            moved.append(_uncertainty.user_values(exact, ranks, measure) / n)
        else:
            shares = fit.influences(measure) * ranks.weights * n
            moved.append(np.bincount(ranks.owner, shares, n).astype(np.float64))
    return n * np.cov(np.array(moved))


def _bounds(pair: Pair, measure: Measure, level: float) -> Bounds:
    a, b = (identification_bounds(each, measure, confidence=(1 + level) / 2) for each in pair)
    return Bounds(b.low - a.high, b.high - a.low)
