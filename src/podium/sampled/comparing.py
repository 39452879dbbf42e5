"""Comparisons of models by sampled ranks of the same users, with the error of each difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats.intervals import t_interval
from podium.metrics import ByMeasure, Measure
from podium.progress import or_silent
from podium.report import Report, Table, estimates
from podium.report.pictures import Pictures, chosen_measure, estimated
from podium.report.results import Result
from podium.report.views import Numbers, View
from podium.sampled._request import read_measures, read_resamples, require_several
from podium.sampled._targets import same_rows
from podium.sampled._uncertainty import distinct_warnings
from podium.sampled.difference import (
    Difference,
    bounds_of_difference,
    covering,
    limited,
    probability_of_sign,
)
from podium.sampled.distribution import read_measure
from podium.sampled.estimators import Estimator
from podium.sampled.evaluating import (
    N_BOOTSTRAP,
    Observations,
    SampledEvaluation,
    evaluation_of,
    fit_of,
    with_resamples,
)
from podium.sampled.fits import Fit, MeanOfUsers
from podium.types import Progress


@dataclass(frozen=True, eq=False, repr=False)
class SampledComparison(Result):
    """Differences between two models by several measures.

    Attributes
    ----------
    differences : dict of str to Difference
        The differences by the text of the measure.
    conventions : dict of str to dict
        The method and the design of the samples of "a" and "b".
    """

    differences: dict[str, Difference]
    conventions: dict[str, dict[str, Any]]

    _test: ClassVar[str] = "the intervals of comparison.differences"

    def __post_init__(self) -> None:
        object.__setattr__(self, "differences", ByMeasure(self.differences))

    def summary(self, measure: str | Measure) -> Difference:
        """Return the difference in one measure."""
        name = str(read_measure(measure))
        if name not in self.differences:
            raise ArgumentError(
                f"{name} was not compared. The compared measures are: "
                f"{', '.join(self.differences)}."
            )
        return self.differences[name]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form; nan becomes None."""
        return {
            "measures": {name: value.as_json() for name, value in self.differences.items()},
            "conventions": {name: dict(value) for name, value in self.conventions.items()},
        }

    def _pictures(self, measure: Any) -> Pictures:
        name = chosen_measure(self.differences, measure)
        only = "" if measure is None else name
        return {"differences": estimated.pair_differences(self.as_json(), only)}

    def _view(self) -> View:
        return estimates.pair_view(self.as_json())

    def _table(self) -> Table:
        return estimates.pair_table(self.as_json())

    def _numbers(self) -> Numbers:
        return estimates.pair_numbers(self.as_json())


@dataclass(frozen=True, eq=False, repr=False)
class SampledComparisons(Result):
    """Estimates of several models, and the difference of each from the first.

    Attributes
    ----------
    evaluations : dict of str to SampledEvaluation
        The estimates by the name of the model; the first is the baseline.
    comparisons : dict of str to SampledComparison
        The comparison of the baseline, as "a", with each other model, as "b".
    by_row : bool
        Whether the samples have no users, so that users are matched by row.
    """

    evaluations: dict[str, SampledEvaluation]
    comparisons: dict[str, SampledComparison]
    by_row: bool = False

    _test: ClassVar[str] = "the intervals of comparisons[name].differences"

    @property
    def baseline(self) -> str:
        """The name of the first model, with which the other models are compared."""
        return next(iter(self.evaluations))

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/estimate-comparison.json); nan becomes None."""
        estimates = {
            name: result.as_json()["measures"] for name, result in self.evaluations.items()
        }
        differences = {name: result.as_json() for name, result in self.comparisons.items()}
        first_convention = next(iter(differences.values()))["conventions"]["a"]
        return {
            "runs": list(estimates),
            "baseline": self.baseline,
            "measures": {
                measure: {
                    "higher_is_better": True,  # true of all measures that a rank determines
                    "means": {name: result[measure] for name, result in estimates.items()},
                    "differences": [
                        self._difference(name, result["measures"][measure])
                        for name, result in differences.items()
                    ],
                }
                for measure in estimates[self.baseline]
            },
            "conventions": {self.baseline: first_convention}
            | {name: result["conventions"]["b"] for name, result in differences.items()},
        }

    def _report(self, titles: Any) -> Report:
        return estimates.comparison_page(self.as_json(), by_row=self.by_row)

    def _pictures(self, measure: Any) -> Pictures:
        result = self.as_json()
        name = chosen_measure(result["measures"], measure)
        only = "" if measure is None else name
        means = {name: estimates["means"] for name, estimates in result["measures"].items()}
        return {
            "differences": estimated.run_differences(result, name),
            "estimates": estimated.run_estimates(result, only),
            **estimated.cutoffs(means, only),
        }

    def _view(self) -> View:
        return estimates.comparison_view(self.as_json(), by_row=self.by_row)

    def _table(self) -> Table:
        return estimates.comparison_table(self.as_json())

    def _numbers(self) -> Numbers:
        return estimates.comparison_numbers(self.as_json())

    def _difference(self, run: str, test: dict[str, Any]) -> dict[str, Any]:
        """Return a difference with the names of both models and without their estimates."""
        fields = {key: value for key, value in test.items() if key not in ("a", "b")}
        return {"run": run, "baseline": self.baseline, **fields}


def compare(
    a: Observations,
    b: Observations,
    measures: str | Measure | Iterable[str | Measure],
    *,
    estimator: str | Estimator = "auto",
    level: float = 0.95,
    n_bootstrap: int = N_BOOTSTRAP,
    bounds: bool = True,
    seed: int = 0,
) -> SampledComparison:
    """Compare two models by observations of the same users: paired differences b - a.

    Parameters
    ----------
    a, b : SampledRanks, SharedRanks or ScannedRanks
        The observations of both models for the same users, of one kind. Users are matched by their
        labels if they have any, otherwise by row. The samples may differ in size, and need not
        share their items. Histories are read as in `evaluate`. Shared samples and scans must have
        the same targets, in any order; the proxies and budgets may differ.
    measures, estimator, level, n_bootstrap, bounds, seed
        The options of `evaluate`.

    Returns
    -------
    SampledComparison

    Raises
    ------
    ArgumentError
        If users, their targets, their catalogues or their weights differ, or for a reason listed in
        `evaluate`.

    Notes
    -----
    Users are resampled together for both models. Variation between users that affects both models
    therefore does not count as an error of the difference. For an estimator with its own standard
    errors (`Smooth`), the variances are the squares of these, and the covariance is computed from
    the influence of each user on both estimates, without new fits. The other part of the
    variances, which comes from the limited information in the samples, is treated as independent
    between the models, although similar models share some of it.
    The bounds of the difference follow from the bounds of each model at the level (1 + level) / 2.
    The interval of `Smooth` ends at the bounds, or without them at the measure's largest value.
    With one user there is no standard error, as in `evaluate`.
    If the bounds allow either sign, no estimator can determine from these ranks alone which model
    is better. A sign probability near 1 then rests on the assumptions of the estimator.
    With scans and strata, if `prior_decides` for one of the models, the interval of the difference
    contains all differences that the bounds of both models allow, and the probability of the sign
    is undefined (nan).

    Examples
    --------
    >>> a = SampledRanks([1, 2, 5, 9] * 20, 9, 100)
    >>> b = SampledRanks([1, 1, 4, 7] * 20, 9, 100)
    >>> found = compare(a, b, "recall@20", estimator="bv(gamma=0.1)").summary("recall@20")
    >>> found.difference > 0, found.sign_probability > 0.99, found.either_sign
    (True, True, True)
    """
    request = _Request.of(measures, level, n_bootstrap, bounds, seed)
    (fit_a, fit_b), parsed = request.fits({"a": a, "b": b}, estimator), request.measures
    with distinct_warnings():
        means = [
            [fit.mean(m, request.level, bounds=False) for m in parsed] for fit in (fit_a, fit_b)
        ]
        return request.comparison((fit_a, fit_b), means)


def compare_all(
    models: Mapping[str, Observations],
    measures: str | Measure | Iterable[str | Measure],
    *,
    estimator: str | Estimator = "auto",
    level: float = 0.95,
    n_bootstrap: int = N_BOOTSTRAP,
    bounds: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> SampledComparisons:
    """Estimate measures of several models, and compare each with the first.

    Parameters
    ----------
    models : mapping of str to SampledRanks, SharedRanks or ScannedRanks
        Two or more observations of the same users, by the name of the model.
    measures, estimator, level, n_bootstrap, bounds, seed
        The options of `evaluate`.
    progress : callable, optional
        A function that is called with (done, total, name) before each model.

    Returns
    -------
    SampledComparisons

    Raises
    ------
    ArgumentError
        If there are fewer than two models, or for a reason listed in `comparable` or `compare`.
    """
    require_several(models)
    request, show = _Request.of(measures, level, n_bootstrap, bounds, seed), or_silent(progress)
    fits = dict(zip(models, request.fits(models, estimator), strict=True))
    (baseline, first), first_means = next(iter(fits.items())), list[MeanOfUsers]()
    evaluations: dict[str, SampledEvaluation] = {}
    comparisons: dict[str, SampledComparison] = {}
    with distinct_warnings():
        for n_done, (name, fit) in enumerate(fits.items()):
            show(n_done, len(fits), name)
            means = request.means(fit, bounds=bounds)
            first_means = first_means or means
            evaluations[name] = request.evaluation(fit, means)
            if name != baseline:
                comparisons[name] = request.comparison((first, fit), [first_means, means])
    return SampledComparisons(evaluations, comparisons, first.observed.user is None)


@dataclass(frozen=True, eq=False)
class _Request:
    """The checked options of a comparison."""

    measures: list[Measure]
    level: float
    n_bootstrap: int
    bounds: bool
    seed: int

    @classmethod
    def of(cls, measures: Any, level: float, n_bootstrap: int, bounds: bool, seed: int) -> _Request:
        level = _check.open_fraction(level, "level")
        n_bootstrap, seed = read_resamples(n_bootstrap), _check.seed(seed)
        return cls(read_measures(measures), level, n_bootstrap, bounds, seed)

    def fits(self, models: Mapping[str, Observations], estimator: str | Estimator) -> list[Fit]:
        """Return the fits to models that can be compared."""
        matched = same_rows(list(models.values()), list(models), estimator)
        fits = [fit_of(ranks, estimator, name) for name, ranks in zip(models, matched, strict=True)]
        for name, fit in zip(models, fits, strict=True):
            fit.require(self.measures, name)
        return fits

    def means(self, fit: Fit, *, bounds: bool) -> list[MeanOfUsers]:
        return [fit.mean(measure, self.level, bounds=bounds) for measure in self.measures]

    def evaluation(self, fit: Fit, means: Sequence[MeanOfUsers]) -> SampledEvaluation:
        return evaluation_of(fit, means, self.measures, self.level, self.n_bootstrap, self.seed)

    def comparison(
        self, pair: tuple[Fit, Fit], means: Sequence[Sequence[MeanOfUsers]]
    ) -> SampledComparison:
        """Compare two models, whose users are resampled together."""
        options = self.measures, self.level, self.n_bootstrap, self.seed
        of_a, of_b = with_resamples(pair, means, *options)
        uncertain = pair[0] if pair[1].source == "users" else pair[1]
        differences = {
            str(measure): self._difference(pair, uncertain, (a, b), measure)
            for measure, a, b in zip(self.measures, of_a, of_b, strict=True)
        }
        n_used = self.n_bootstrap if uncertain.source == "bootstrap" else None
        conventions = {n: f.conventions(self.seed, n_used) for n, f in zip("ab", pair, strict=True)}
        return SampledComparison(differences, conventions)

    def _difference(
        self,
        pair: tuple[Fit, Fit],
        fit: Fit,
        means: tuple[MeanOfUsers, MeanOfUsers],
        measure: Measure,
    ) -> Difference:
        """Return the difference of two means; `fit` is one whose errors are those of a sample."""
        (a, b), level, limits = means, self.level, None
        difference, (error, size) = b.mean - a.mean, fit.error_of_difference(a, b)
        sign_probability = probability_of_sign(difference, error, size)
        prior_decides = a.prior_decides or b.prior_decides
        is_unknown = prior_decides and fit.omits_assumptions
        if self.bounds or is_unknown:  # with this confidence, the bounds of both models hold
            limits = bounds_of_difference(*(of.bounds(measure, (1 + level) / 2) for of in pair))
        ends = fit.limits(limits, max(a.largest, b.largest))
        interval = limited(t_interval(difference, error, size, level), ends, difference)
        if is_unknown and limits is not None:
            interval, sign_probability = covering(interval, limits), np.nan
        biased, interval_of = zip(*(of.bias for of in pair), strict=True)
        return Difference(
            a.mean,
            b.mean,
            difference,
            error,
            interval,
            level,
            fit.n_users,
            pair[1].method,
            any(biased),
            "expectation" if "expectation" in interval_of else "exact",
            fit.source,
            sign_probability,
            limits if self.bounds else None,
            prior_decides,
        )
