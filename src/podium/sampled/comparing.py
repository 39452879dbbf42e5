"""Comparisons of models by sampled ranks of the same users, with the error of each difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation import stats
from podium.evaluation.stats.intervals import t_interval
from podium.metrics import ByMeasure, Measure, listed_measures
from podium.progress import or_silent
from podium.report import Report, Table, estimates
from podium.report.pictures import Pictures, chosen_measure, estimated
from podium.report.results import Result
from podium.report.views import Numbers, View
from podium.sampled import _uncertainty
from podium.sampled._request import (
    COMPARE,
    Pair,
    comparable,
    conventions,
    read_request,
    read_resamples,
    require_kind,
    require_several,
    same_catalogue,
)
from podium.sampled.bounds import Bounds, identification_bounds
from podium.sampled.design import Floats
from podium.sampled.difference import (
    Difference,
    bounds_of_difference,
    limited,
    probability_of_sign,
)
from podium.sampled.distribution import rank_weights, read_measure
from podium.sampled.estimators import ErrorFrom, Estimator
from podium.sampled.estimators.smooth import SmoothFit
from podium.sampled.evaluating import N_BOOTSTRAP, SampledEvaluation, evaluate
from podium.sampled.ranks import SampledRanks
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
        The ranks of both models for the same users. Users are matched by their labels if they
        have any, otherwise by row. The samples may differ in size, and need not share their
        items. Histories are read as in `evaluate`.
    measures, estimator, level, n_bootstrap, bounds, seed
        The options of `evaluate`.

    Returns
    -------
    SampledComparison

    Raises
    ------
    ArgumentError
        If users, their catalogues or their weights differ, or for a reason listed in `evaluate`.

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

    Examples
    --------
    >>> a = SampledRanks([1, 2, 5, 9] * 20, 9, 100)
    >>> b = SampledRanks([1, 1, 4, 7] * 20, 9, 100)
    >>> found = compare(a, b, "recall@20", estimator="bv(gamma=0.1)").summary("recall@20")
    >>> found.difference > 0, found.sign_probability > 0.99, found.either_sign
    (True, True, True)
    """
    for name, ranks in (("a", a), ("b", b)):
        require_kind(ranks, SampledRanks, name, COMPARE)
    method, parsed = read_request(estimator, measures, (a, b))
    level = _check.open_fraction(level, "level")
    n_bootstrap, seed = read_resamples(n_bootstrap), _check.seed(seed)
    pair = same_catalogue(a, b)
    with _uncertainty.distinct_warnings():
        means, errors, source, prior_decides = _differences(method, pair, parsed, n_bootstrap, seed)
        all_bounds = [_bounds(pair, measure, level) if bounds else None for measure in parsed]
    shared_fields = (
        level,
        a.n_users,
        str(method),
        *_uncertainty.interval_kind(method, *pair),
        source,
    )
    differences: dict[str, Difference] = {}
    for measure, (mean_a, mean_b), std_error, measure_bounds, decided in zip(
        parsed, means.tolist(), errors.tolist(), all_bounds, prior_decides, strict=True
    ):
        difference = mean_b - mean_a
        sign_probability = probability_of_sign(difference, std_error, a.n_users)
        interval = t_interval(difference, std_error, a.n_users, level)
        if source == "posterior":
            largest = float(rank_weights(measure, a.most_items).max())
            interval = limited(interval, measure_bounds or (-largest, largest), difference)
        differences[str(measure)] = Difference(
            mean_a,
            mean_b,
            difference,
            std_error,
            interval,
            *shared_fields,
            sign_probability,
            measure_bounds,
            decided,
        )
    recorded_resamples = n_bootstrap if source == "bootstrap" else None
    return SampledComparison(
        differences,
        {
            name: conventions(method, ranks, seed, recorded_resamples)
            for name, ranks in zip("ab", pair, strict=True)
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
        Two or more samples of the same users, by the name of the model.
    measures : str, Measure, or several
    progress : callable, optional
        A function that is called with (done, total, name) before each model.
    **options
        The options of `evaluate`: estimator, level, n_bootstrap, bounds, seed.

    Returns
    -------
    SampledComparisons

    Raises
    ------
    ArgumentError
        If there are fewer than two models, or for a reason listed in `comparable` or `compare`.
    """
    require_several(models, SampledRanks, "evaluate")
    samples = comparable(list(models.values()), list(models), options.get("estimator", "auto"))
    samples_by_name = dict(zip(models, samples, strict=True))
    parsed, show = listed_measures(measures), or_silent(progress)
    baseline, *_ = samples_by_name
    evaluations: dict[str, SampledEvaluation] = {}
    comparisons: dict[str, SampledComparison] = {}
    for n_done, (name, ranks) in enumerate(samples_by_name.items()):
        show(n_done, len(samples_by_name), name)
        evaluations[name] = evaluate(ranks, parsed, **options)
        if name != baseline:
            comparisons[name] = compare(samples_by_name[baseline], ranks, parsed, **options)
    return SampledComparisons(evaluations, comparisons, samples[0].user is None)


def _differences(
    method: Estimator, pair: Pair, measures: Sequence[Measure], n_bootstrap: int, seed: int
) -> tuple[Floats, Floats, ErrorFrom, list[bool]]:
    """Return means, (n_measures, 2), standard errors of differences, and their source.

    The last value says for each measure whether the method's prior decides more than the ranks.
    """
    no_prior = [False] * len(measures)
    linear_a, linear_b = (_uncertainty.linear_form(method, ranks) for ranks in pair)
    if linear_a is not None and linear_b is not None:
        forms = ((linear_a, pair[0]), (linear_b, pair[1]))
        values = [
            [_uncertainty.user_values(form, ranks, m) for form, ranks in forms] for m in measures
        ]
        std_errors = [stats.summarize(b - a).std_error for a, b in values]
        means = np.array([[a.mean(), b.mean()] for a, b in values])
        return means, np.array(std_errors), "users", no_prior
    if method.error_from == "posterior":
        fits = [method.posterior(ranks) for ranks in pair]
        prior_decides = [any(fit.prior_decides(measure) for fit in fits) for measure in measures]
        return *_by_posteriors(method, pair, fits, measures), "posterior", prior_decides
    means = np.array([_uncertainty.estimates(method, ranks, measures) for ranks in pair]).T
    covariances = _uncertainty.covariances(method, pair, measures, n_bootstrap, seed)
    errors = _difference_errors(np.einsum("mii->mi", covariances), covariances[:, 0, 1])
    return means, errors, "bootstrap", no_prior


def _difference_errors(variances: Floats, covariances: Floats) -> Floats:
    """Return standard errors of differences, by measure."""
    return np.sqrt(np.maximum(variances.sum(axis=1) - 2 * covariances, 0.0))


def _by_posteriors(
    method: Estimator, pair: Pair, fits: Sequence[SmoothFit], measures: Sequence[Measure]
) -> tuple[Floats, Floats]:
    """Return means, (n_measures, 2), and standard errors of differences.

    Variances are the estimator's own, or those over users if all items were drawn. The covariance
    of the two estimates is the first-order effect of the choice of users on both.
    """
    means = np.array([[fit.expect(measure) for fit in fits] for measure in measures])
    posterior_errors = np.array([[fit.std_error(measure) for fit in fits] for measure in measures])
    covariances = np.array([_uncertainty.user_covariance(method, pair, fits, m) for m in measures])
    variances = np.maximum(np.einsum("mii->mi", covariances), posterior_errors**2)
    return means, _difference_errors(variances, covariances[:, 0, 1])


def _bounds(pair: Pair, measure: Measure, level: float) -> Bounds:
    a, b = (identification_bounds(ranks, measure, confidence=(1 + level) / 2) for ranks in pair)
    return bounds_of_difference(a, b)
