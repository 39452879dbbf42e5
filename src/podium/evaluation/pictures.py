"""The pictures of an Evaluation and a Comparison by name, as `Result.plot` draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from podium.evaluation import details
from podium.metrics import parse
from podium.report import Figure
from podium.report.pictures import Pictures, chosen_measures, measured

if TYPE_CHECKING:
    from podium.evaluation.comparison import Comparison
    from podium.evaluation.evaluation import Evaluation


def of_evaluation(evaluation: Evaluation, measure: Any = None) -> Pictures:
    """Return the means, the distribution over users, the segments and the curve over cutoffs.

    Parameters
    ----------
    evaluation : Evaluation
    measure : str or Measure, optional
        The only measure, by default all of them, or the first one that the picture can show.
    """
    result = evaluation.as_json()
    name, only, names = chosen_measures(result["measures"], measure)
    if not name:
        return {}
    pictures: dict[str, Any] = {"means": measured.means(result, measure=only)}
    per_user = next((name for name in names if parse(name).metric.is_mean), None)
    if per_user:
        pictures["distribution"] = lambda: measured.distribution(
            per_user, details.histogram(evaluation, per_user)
        )
        pictures |= {f"by {by}": figure for by, figure in measured.segments(result, only)}
    summaries = {name: {"": summary} for name, summary in result["measures"].items()}
    return {**pictures, **_cutoffs(summaries, names, {"": evaluation})}


def of_comparison(comparison: Comparison, measure: Any = None) -> Pictures:
    """Return the differences, the means, the users who gain, the segments, curves and trade-offs.

    Parameters
    ----------
    comparison : Comparison
    measure : str or Measure, optional
        The only measure, by default the first one; all of them in the picture of means.
    """
    result = comparison.as_json()
    name, only, names = chosen_measures(result["measures"], measure)
    pictures: dict[str, Any] = {
        "differences": measured.differences(result, name),
        "means": measured.run_means(result, measure=only),
    }
    if parse(name).metric.is_mean:
        pictures["users"] = partial(_users, comparison, name)
        pictures["gains"] = lambda: measured.gains(
            details.gains(comparison, name, _best_other(comparison, name))
        )
        pictures |= {f"by {by}": figure for by, figure in measured.run_segments(result, name)}
    trade_off = measured.trade_off(result, name)
    if trade_off is not None:
        pictures["trade-off"] = trade_off
    means = {name: tested["means"] for name, tested in result["measures"].items()}
    return {**pictures, **_cutoffs(means, names, comparison.evaluations)}


def _cutoffs(
    means: Mapping[str, Mapping[str, Any]],
    names: Iterable[str],
    evaluations: Mapping[str, Evaluation],
) -> Pictures:
    """Return the curve over cutoffs, if several were measured or the lists are known."""
    for name in names:
        figure = measured.cutoffs(means, name, measured.UNJUDGED)
        if figure is not None:
            return {"cutoffs": figure}
        if all(details.has_curve(parse(name), e) for e in evaluations.values()):
            return {"cutoffs": partial(_curve, evaluations, name)}
    return {}


def _curve(evaluations: Mapping[str, Evaluation], measure: str) -> Figure:
    baseline = next(iter(evaluations))
    curves = details.curves(details.leaders(evaluations, baseline, measure), [measure])
    no_curve: dict[str, Any] = {"k": [], "means": {}}  # no cutoff that all lists reach
    metric, curve = next(iter(curves.items()), (measure, no_curve))
    return measured.curve(metric, curve)


def _users(comparison: Comparison, measure: str) -> Figure:
    runs = comparison.baseline, _best_other(comparison, measure)
    values = [comparison.evaluations[run].filled(measure) for run in runs]
    return measured.users(values, runs, measure)


def _best_other(comparison: Comparison, measure: str) -> str:
    """Return the best run that is not the baseline; the first one if all are undefined."""
    best = details.best_runs(comparison.evaluations, measure)
    return next(run for run in [*best, *comparison.evaluations] if run != comparison.baseline)
