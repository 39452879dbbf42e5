"""The results of the demo in words: sentences and a table for the terminal, and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from podium.demo.features import FEATURES
from podium.demo.study import LOGISTIC, PAP, SURROGATE, TARGET, WINDOW_DAYS, Duel, K, Results, Trial
from podium.evaluation import Comparison, Evaluation
from podium.report import Figure, Report, Section, Table, comparison_report
from podium.report.figures import bin_values, interval_row

_ALPHA = 0.05
_SOURCE = (
    "Data: Online Retail, D. Chen, S. L. Sain and K. Guo, Journal of Database Marketing & Customer "
    "Strategy Management 19(3), 2012, doi 10.1057/dbm.2012.17. Customers and products are shown "
    "with the shop's numbers and descriptions. The data contain no prices and no time zone."
)
_QUESTION = (
    "Only products that the customer had never bought count: a repeat order needs no "
    "recommendation, and would make the task easy. The test customers bought before the window, "
    "and bought something new in it. New purchases that are not among the candidates count as "
    "ranked below all candidates."
)
_PREPARATION = (
    "Candidates and features of a window are computed from purchases before it, without "
    "cancellations. All methods rank the same candidates: the best products by popularity (of all "
    "time and recent), by item similarity, by recent purchases of similar customers, and by words "
    "of the description. Features are standardised within each customer's list."
)
_CHOICE = (
    f"{TARGET} on the validation window stopped each fit and selected one setting of each method. "
    "The test window was measured once, with the selected settings."
)


def verdict(evaluations: Mapping[str, Evaluation], duels: Sequence[Duel]) -> list[str]:
    """Return sentences that name the best method; all of them are computed from the numbers."""
    best, method_names = duels[0].better, methods(duels)
    mean = evaluations[best].means[TARGET]
    tied = [duel for duel in _of_best(duels) if duel.p_value >= _ALPHA]
    worse_duels = [duel for duel in _of_best(duels) if duel.p_value < _ALPHA]
    name = capitalized(best)
    sentences = [f"{name} wins: its mean {TARGET} of {mean:.4f} is the highest."]
    if tied:
        runner_up = tied[0]
        sentences[0] = (
            f"No method wins alone: {best} has the highest mean {TARGET} ({mean:.4f}), but "
            f"{listed([d.worse for d in tied])} {'is' if len(tied) == 1 else 'are'} not "
            f"significantly worse in a paired test. {name} - {runner_up.worse} is "
            f"{_gain(runner_up)}. With {runner_up.test.n_groups} customers, a difference of "
            f"{runner_up.test.detectable:.4f} is found four times out of five."
        )
    if worse_duels:
        gains = [f"{d.worse} by {d.test.difference:.4f} ({_p(d)})" for d in worse_duels]
        gains[0] = f"{worse_duels[0].worse} by {_gain(worse_duels[0])}"
        sentences.append(f"{name} beats {listed(gains)}.")
    purchases = [f"{evaluations[n].means[f'precision@{K}'] * K:.2f} ({n})" for n in method_names]
    return [*sentences, f"Of {K} shown products, the average customer buys {listed(purchases)}."]


def methods(duels: Sequence[Duel]) -> list[str]:
    """Return the methods in order of their mean, the highest first."""
    return [duels[0].better, *(duel.worse for duel in _of_best(duels))]


def winners(duels: Sequence[Duel]) -> list[str]:
    """Return the best method and all methods that do not differ significantly from it."""
    tied = (duel.worse for duel in _of_best(duels) if duel.p_value >= _ALPHA)
    return [duels[0].better, *tied]


def _of_best(duels: Sequence[Duel]) -> list[Duel]:
    return [duel for duel in duels if duel.better == duels[0].better]


def _gain(duel: Duel) -> str:
    low, high = duel.test.interval
    return (
        f"{duel.test.difference:.4f} (95 % interval {low:.4f} to {high:.4f}, "
        f"{_p(duel)}, corrected for all pairs)"
    )


def _p(duel: Duel) -> str:
    text = _p_value(duel)
    return "p < 0.001" if text.startswith("<") else f"p = {text}"


def _p_value(duel: Duel) -> str:
    """Return the p value with two digits, as many as 10,000 random permutations support."""
    return "<0.001" if duel.p_value < 0.001 else f"{duel.p_value:.2g}"


def table(
    evaluations: Mapping[str, Evaluation], comparison: Comparison, duels: Sequence[Duel]
) -> dict[str, Any]:
    """Return a table with one row per method.

    The columns are the means, the first measure by engagement, and its paired test against the
    baseline. The first measure, `pap@10`, is followed by half its 95 % interval. The p values are
    corrected for all pairs.
    """
    baseline = comparison.baseline
    first = evaluations[baseline]
    first_measure, *others = first.measures
    segments = [segment for segment in first.segments if segment.by == "engagement"]
    p_texts = {frozenset((duel.better, duel.worse)): _p_value(duel) for duel in duels}
    rows: list[list[str]] = []
    for name in comparison.evaluations:
        evaluation = evaluations[name]
        low, high = evaluation.summary(first_measure).interval
        rows.append([name, f"{evaluation.means[first_measure]:.4f} ± {(high - low) / 2:.4f}"])
        rows[-1] += [f"{evaluation.means[measure]:.4f}" for measure in others]
        rows[-1] += [
            f"{evaluation.summary(first_measure, segment.mask).mean:.4f}" for segment in segments
        ]
        if name != baseline:
            rows[-1].append(f"{comparison.difference(first_measure, name).test.difference:+.4f}")
            rows[-1].append(p_texts[frozenset((name, baseline))])
    rows[0] += ["", ""]
    columns = [
        "method",
        first_measure,
        *others,
        *(f"{first_measure}, {segment.name}" for segment in segments),
    ]
    return {"columns": [*columns, f"{first_measure} - {baseline}", "p (Holm)"], "rows": rows}


def listed(names: Sequence[str]) -> str:
    """Return the names as "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def capitalized(name: str) -> str:
    """Return the name with a capital first letter, unless the second one is a capital (pAp)."""
    return name if name[1:2].isupper() else name[:1].upper() + name[1:]


def report(results: Results, summary: Mapping[str, Any]) -> Report:
    """Return the content of the page as a dictionary.

    `summary` holds the results in a form that JSON can hold.
    """
    dates = {name: _dates(results, name) for name in results.tasks}
    test = summary["windows"]["test"]
    page: dict[str, Any] = {**comparison_report(summary["comparison"], groups="customers")}
    means, by_target, *by_others = page["sections"]
    return {
        "title": f"Which {K} products should be recommended to each customer?",
        "subtitle": f"A year of purchases in a gift shop; the last {WINDOW_DAYS // 7} weeks are "
        f"the test window ({dates['test']})",
        "summary": verdict(results.evaluations, results.duels),
        "facts": {
            "test customers": test["customers"],
            "new products bought": test["new_purchases"],
            "candidates per customer": round(test["candidates"] / test["customers"]),
            "new purchases among candidates": f"{test['share_among_candidates']:.0%}",
        },
        "sections": [
            _result(results, means),
            by_target,
            {"title": "By segment", "figures": [_by_segment(summary["evaluations"])]},
            _customers(summary["examples"], results.duels[0].better),
            _weights(summary["weights"]),
            _training(results.trials),
            *by_others,
            _method(summary, dates),
        ],
        "conventions": page["conventions"],
        "footer": _SOURCE,
    }


def _dates(results: Results, name: str) -> str:
    task = results.tasks[name]
    seconds = (results.shop.epoch0 + minute * 60 for minute in (task.start, task.stop - 1))
    first, last = (datetime.fromtimestamp(s, UTC).date().isoformat() for s in seconds)
    return f"{first} to {last}"


def _result(results: Results, means: Mapping[str, Any]) -> Section:
    duels: Table = {
        "columns": ["better", "worse", "difference", "95 % interval", "p", "detectable"],
        "rows": [
            [
                *(duel.better, duel.worse, duel.test.difference),
                "{:+.4f} to {:+.4f}".format(*duel.test.interval),
                *(_p_value(duel), duel.test.detectable),
            ]
            for duel in results.duels
        ],
        "digits": 4,
        "caption": f"All pairs of methods by {TARGET}. The p values are corrected for all pairs "
        "by Holm's method. A true difference as large as the detectable one is found four times "
        "out of five.",
    }
    return {
        "title": "Result",
        "text": "Means over customers with 95 % intervals. All methods are measured on the same "
        "customers, so their differences are more precise than the intervals suggest. "
        f"{capitalized(results.comparison.baseline)} is the baseline: it was the best on "
        "validation of the methods whose loss is not made for pAp@k.",
        "tables": [*means["tables"], duels],
        "figures": [*means["figures"], _gains(results)],
    }


def _by_segment(evaluations: Mapping[str, Any]) -> Figure:
    segments = zip(*(evaluation["segments"] for evaluation in evaluations.values()), strict=True)
    panels = [
        {
            "title": f"country: {same_segment[0]['name']}"
            if same_segment[0]["by"] == "country"
            else same_segment[0]["name"],
            "note": f"{same_segment[0]['n_groups']} customers",
            "rows": [
                interval_row(name, part["measures"][TARGET], name)
                for name, part in zip(evaluations, same_segment, strict=True)
            ],
        }
        for same_segment in segments
    ]
    return {
        "kind": "grouped_intervals",
        "panels": panels,
        "title": f"{TARGET} by segment",
        "axis_label": f"mean {TARGET}",
        "caption": f"n_pos is the number of new products that a customer bought in the window. "
        f"pAp@{K} uses all of them if there are at most {K}, else the {K} with the best ranks.",
    }


def _gains(results: Results) -> Figure:
    """Return a histogram of each customer's gain of the first method over the last."""
    first, *_, last = methods(results.duels)
    values = {name: results.evaluations[name].values[TARGET] for name in (first, last)}
    gain = values[first] - values[last]
    return {
        "kind": "histogram",
        **bin_values(gain, 24),
        "title": f"{TARGET} of each customer: {first} - {last}",
        "axis_label": f"difference in {TARGET}",
        "count_label": "customers",
        "mean": float(np.nanmean(gain)),
        "caption": f"Better for {np.mean(gain > 0):.0%} of the customers, worse for "
        f"{np.mean(gain < 0):.0%}, and the same for {np.mean(gain == 0):.0%}.",
    }


def _customers(examples: Sequence[Mapping[str, Any]], method: str) -> Section:
    places = listed([f"{100 * example['quantile']:.0f}th" for example in examples])
    return {
        "title": "Three customers",
        "text": f"Lists by {method}. The customers were not picked by hand: they are at the "
        f"{places} percentile of its {TARGET}. Products bought in the test window are in bold.",
        "tables": [_list(e) for e in examples],
    }


def _list(example: Mapping[str, Any]) -> Table:
    products: list[Mapping[str, Any]] = example["shown"]
    return {
        "columns": ["rank", "shown", "bought"],
        "rows": [
            [rank, product["description"], "yes" if product["bought"] else ""]
            for rank, product in enumerate(products, start=1)
        ],
        "highlight": [(i, 1) for i, product in enumerate(products) if product["bought"]],
        "align": ["right", "left", "left"],
        "caption": f"Customer {example['customer_id']}, {example['country']}: {TARGET} = "
        f"{example['pap']:.3f}. Earlier products: {example['n_before']}, most recently "
        f"{'; '.join(example['latest'])}. New products in the window: {example['n_new']}.",
    }


def _weights(weights: Mapping[str, Mapping[str, float]]) -> Section:
    coef = weights[PAP]
    largest = max(map(abs, coef.values())) or 1.0
    figure = {
        "kind": "interval_plot",
        "rows": [
            {"label": name, "value": coef[name] / largest, "low": None, "high": None}
            for name in sorted(coef, key=lambda name: -abs(coef[name]))
        ],
        "title": f"Weights of the features in the {PAP}",
        "axis_label": "weight per standard deviation within a list, largest = 1",
        "reference": {"value": 0.0, "label": "no influence"},
        "digits": 2,
        "caption": "Correlated features share their weight. A small or negative weight therefore "
        "does not mean that a feature is useless by itself.",
    }
    table: Table = {
        "columns": ["feature", "meaning", *weights],
        "rows": [[n, text, *(w[n] for w in weights.values())] for n, text in FEATURES.items()],
        "digits": 3,
        "caption": "Weights per standard deviation within a customer's list. Only their "
        "proportions within a column matter for the ranking.",
    }
    return {"title": "Weights of the features", "figures": [figure], "table": table}


def _training(trials: Mapping[str, Sequence[Trial]]) -> Section:
    rows = [
        [method, trial.settings, trial.ranker.best_iteration_, trial.value]
        for method, method_trials in trials.items()
        for trial in method_trials
    ]
    columns = ["method", "settings", "best iteration", f"{TARGET} on validation"]
    n_settings = {
        method: f"({len(method_trials)} settings)" for method, method_trials in trials.items()
    }
    losses = (
        f"All rankers are linear. {LOGISTIC.capitalize()} {n_settings[LOGISTIC]} uses the "
        f"likelihood of all candidates. The {SURROGATE} {n_settings[SURROGATE]} is one of those "
        "that the authors of pAp@k propose (Hiranandani et al., ICML 2020). It uses only the k "
        f"highest negatives of a list. The {PAP} {n_settings[PAP]} adds the risk of pAp@k, with "
        "sigmoids instead of steps, to the likelihood of all candidates."
    )
    return {
        "title": "Training of the rankers",
        "text": [losses, _CHOICE],
        "figures": [_curves(trials), _cutoffs(trials[SURROGATE])],
        "table": {"columns": columns, "rows": rows, "digits": 4},
    }


def _curves(trials: Mapping[str, Sequence[Trial]]) -> Figure:
    """Return the curves of validation by iteration.

    They show the chosen form of each method, and the best surrogate with k = 10.
    """
    surrogates = trials[SURROGATE]
    best_at_k = next(trial for trial in surrogates if trial.loss.k == K)
    surrogate_trials = {
        f"{form.loss.name}, k = {form.loss.k}": form for form in (surrogates[0], best_at_k)
    }
    best, *others = surrogate_trials.items()
    shown_trials = dict([(LOGISTIC, trials[LOGISTIC][0]), best, (PAP, trials[PAP][0]), *others])
    curves = {
        name: trial.ranker.history_["validation"].tolist() for name, trial in shown_trials.items()
    }
    return {
        "kind": "line_plot",
        "series": [{"label": name, "x": list(range(len(y))), "y": y} for name, y in curves.items()],
        "title": f"{TARGET} on the validation window during training",
        "x_label": "iteration",
        "y_label": f"mean {TARGET} among candidates",
        "caption": "The iterate with the highest value is kept. At zero coefficients, before the "
        "first step, all products tie, and ties count as errors.",
    }


def _cutoffs(surrogates: Sequence[Trial]) -> Figure:
    """Return the curves of validation by the cutoff of the surrogate."""
    best: dict[str, dict[int, float]] = {}
    for trial in sorted(surrogates, key=lambda form: (form.loss.name, form.loss.k, form.value)):
        best.setdefault(trial.loss.name, {})[trial.loss.k] = trial.value
    return {
        "kind": "line_plot",
        "series": [
            {"label": loss, "x": list(values), "y": list(values.values())}
            for loss, values in best.items()
        ],
        "title": f"{TARGET} on validation by cutoff of the surrogate",
        "x_label": "k of the surrogate",
        "y_label": f"mean {TARGET}",
        "caption": f"All surrogates are measured by {TARGET}. A surrogate with k = {K} compares "
        f"positives only with the {K} highest negatives. If the two overlap much, its minimum is "
        "at zero coefficients, and only the first steps towards it rank well.",
    }


def _method(summary: Mapping[str, Any], dates: Mapping[str, str]) -> Section:
    columns = ["window", "dates", "customers", "candidates", "new purchases", "among candidates"]
    windows: Table = {
        "columns": columns,
        "rows": [
            [
                *(name, dates[name], w["customers"], w["candidates"], w["new_purchases"]),
                f"{w['share_among_candidates']:.0%}",
            ]
            for name, w in summary["windows"].items()
        ],
    }
    forms: Table = {
        "columns": ["method", "feature or setting chosen on validation"],
        "rows": [[name, text] for name, text in summary["methods"].items()],
    }
    return {
        "title": "Task and data",
        "text": [_QUESTION, _PREPARATION],
        "tables": [windows, forms],
    }
