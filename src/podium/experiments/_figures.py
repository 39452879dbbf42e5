"""The demo's plots, as dictionaries that `podium.report.figures.draw` turns into SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from podium.evaluation import Evaluation
from podium.evaluation.stats import PairedTest, Summary
from podium.experiments._features import FEATURES
from podium.experiments._models import LOGISTIC, PAP, SURROGATE, TARGET, K, Trial
from podium.experiments._results import MEASURES, Results
from podium.report.figures import bin_values
from podium.types import Mask

Figure = dict[str, Any]


def by_measure(results: Results) -> Figure:
    """Every measure's mean by method."""
    return {
        "kind": "grouped_intervals",
        "panels": [{"title": m, "rows": _means(results.evaluations, m)} for m in MEASURES],
        "title": "Means over test customers, by method",
        "share_axis": False,
        "caption": "Bars are 95 % confidence intervals of each mean. Methods are measured on the "
        "same customers, so their differences are known better than these bars suggest.",
    }


def by_segment(results: Results) -> Figure:
    """pAp@10 by method, for each segment of customers."""
    first = next(iter(results.evaluations.values()))
    panels = [
        {
            "title": f"{s.by}: {s.name}" if s.by == "country" else s.name,
            "note": f"{int(s.mask.sum())} customers",
            "rows": _means(results.evaluations, TARGET, s.mask),
        }
        for s in first.segments
    ]
    return {
        "kind": "grouped_intervals",
        "panels": panels,
        "title": f"{TARGET} by segment",
        "axis_label": f"mean {TARGET}",
        "caption": f"n_pos is the number of new products that a customer bought in the window; "
        f"up to {K} of them, pAp@{K} looks at all, beyond at the best {K}.",
    }


def differences(results: Results) -> Figure:
    """Every method against the baseline, customer by customer."""
    comparison = results.comparison
    rows = [_interval(run, test) for run, test in comparison.tests[TARGET].items()]
    return {
        "kind": "difference_plot",
        "rows": rows,
        "title": f"{TARGET}: difference from {comparison.baseline}",
        "axis_label": "mean difference by customer",
        "low_label": f"{comparison.baseline} better",
        "high_label": "other method better",
        "caption": f"{comparison.baseline[:1].upper() + comparison.baseline[1:]} did best on "
        "validation among the methods whose loss is not made for pAp@k.",
    }


def spread(results: Results) -> Figure:
    """How customers differ in what the first method gains over the last."""
    first, last = results.verdict.order[0], results.verdict.order[-1]
    values = [results.evaluations[name].values[TARGET] for name in (first, last)]
    gain = values[0] - values[1]
    return {
        "kind": "histogram",
        **bin_values(gain[np.isfinite(gain)], 24),
        "title": f"{TARGET} of each customer: {first} - {last}",
        "axis_label": f"difference in {TARGET}",
        "count_label": "customers",
        "mean": float(np.nanmean(gain)),
        "caption": f"Better for {np.mean(gain > 0):.0%} of the customers, worse for "
        f"{np.mean(gain < 0):.0%}, and the same for {np.mean(gain == 0):.0%}.",
    }


def training(results: Results) -> Figure:
    """Validation by iteration: every method's choice, and the best surrogate at k = 10."""
    surrogates = results.trials[SURROGATE]
    literal = next(t for t in surrogates if _cutoff(t) == K)
    shown = {
        LOGISTIC: results.trials[LOGISTIC][0],
        _named(surrogates[0]): surrogates[0],
        PAP: results.chosen,
    }
    if literal is not surrogates[0]:
        shown[_named(literal)] = literal
    return {
        "kind": "line_plot",
        "series": [_curve(name, trial) for name, trial in shown.items()],
        "title": f"{TARGET} on the validation window while training",
        "x_label": "iteration",
        "y_label": f"mean {TARGET} among candidates",
        "caption": "The iterate with the highest value is kept. At zero coefficients, before the "
        "first step, all products tie, and ties count as errors.",
    }


def cutoffs(results: Results) -> Figure:
    """Validation by the surrogate's cutoff."""
    found: dict[str, dict[int, float]] = {}
    for trial in results.trials[SURROGATE]:
        k, loss = _cutoff(trial), trial.settings.loss
        best = found.setdefault(loss, {})
        best[k] = max(best.get(k, 0.0), trial.value)
    series = [
        {"label": loss, "x": sorted(best), "y": [best[k] for k in sorted(best)]}
        for loss, best in sorted(found.items())
    ]
    return {
        "kind": "line_plot",
        "series": series,
        "title": f"{TARGET} on validation by the cutoff that the surrogate is trained at",
        "x_label": "k of the surrogate",
        "y_label": f"mean {TARGET}",
        "caption": f"All are measured by {TARGET}. A surrogate at k = {K} compares positives with "
        f"the {K} highest negatives only; where these overlap much, its minimum is at zero "
        "coefficients, and only the first steps towards it rank well.",
    }


def weights(results: Results) -> Figure:
    """Coefficients of the pAp@10 ranker, the largest first."""
    values: list[float] = results.chosen.coef.tolist()
    coef = dict(zip(FEATURES, values, strict=True))
    largest = max(map(abs, coef.values())) or 1.0
    rows = [
        {"label": name, "value": value / largest, "low": None, "high": None}
        for name, value in sorted(coef.items(), key=lambda pair: -abs(pair[1]))
    ]
    return {
        "kind": "interval_plot",
        "rows": rows,
        "title": f"What the {PAP} goes by",
        "axis_label": "weight of a standard deviation within a list, largest = 1",
        "reference": {"value": 0.0, "label": "no influence"},
        "digits": 2,
        "caption": "Features that say nearly the same share their weight, so a small or negative "
        "one does not mean that a feature is useless by itself.",
    }


def _means(
    evaluations: Mapping[str, Evaluation], measure: str, mask: Mask | None = None
) -> list[dict[str, Any]]:
    return [_interval(name, e.summary(measure, mask)) for name, e in evaluations.items()]


def _interval(label: str, found: Summary | PairedTest) -> dict[str, Any]:
    value = found.mean if isinstance(found, Summary) else found.difference
    low, high = (_defined(v) for v in found.interval)
    return {"label": label, "value": _defined(value), "low": low, "high": high, "series": label}


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _curve(label: str, trial: Trial) -> dict[str, Any]:
    return {
        "label": label,
        "x": list(range(trial.validation.size)),
        "y": _floats(trial.validation),
    }


def _floats(values: Iterable[float]) -> list[float]:
    return [float(v) for v in values]


def _named(trial: Trial) -> str:
    return f"{trial.settings.loss}, k = {_cutoff(trial)}"


def _cutoff(trial: Trial) -> int:
    return dict(trial.settings.params)["k"]
