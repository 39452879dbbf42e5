"""The demo's results as JSON, and as a page that `podium.report` renders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from podium.demo.features import FEATURES
from podium.demo.study import (
    LOGISTIC,
    PAP,
    SURROGATE,
    TARGET,
    WINDOW_DAYS,
    K,
    Results,
    Trial,
)
from podium.demo.verdict import Verdict, capitalized, listed
from podium.report import Figure, Report, Section, Table, comparison_report
from podium.report.figures import bin_values, interval_row

_SOURCE = (
    "Data: Online Retail, D. Chen, S. L. Sain and K. Guo, Journal of Database Marketing & Customer "
    "Strategy Management 19(3), 2012, doi 10.1057/dbm.2012.17. Customers and products are shown by "
    "the shop's own numbers and descriptions. The data name no price, and no time zone."
)
_QUESTION = (
    "Only products count that the customer had never bought: a repeat order needs no "
    "recommendation, and would make the question easy. Customers count who had bought before the "
    "window, and who bought something new in it. New purchases that are not among the candidates "
    "count as ranked below all of them."
)
_PREPARATION = (
    "Candidates and features of a window are made from purchases before it; cancellations are left "
    "out. All methods rank the same candidates: the best by popularity, ever and lately, by item "
    "similarity, by what similar customers bought lately, and by words of the description. "
    "Features are standardised within each customer's list."
)
_CHOICE = (
    f"Every setting was stopped, and one of each method chosen, by {TARGET} on the validation "
    "window. The test window was measured once, with what was chosen."
)


def summarize(results: Results, verdict: Verdict) -> dict[str, Any]:
    """Return all results as JSON can hold them."""
    settings = {method: str(tried[0].settings) for method, tried in results.trials.items()}
    return {
        "verdict": verdict.text,
        "winners": verdict.winners,
        "methods": results.forms | settings,
        "windows": {
            name: {
                "start_minute": task.start,
                "stop_minute": task.stop,
                "customers": task.users.size,
                "candidates": task.row.size,
                "new_purchases": task.truth.nnz,
                "share_among_candidates": float(task.y.sum() / task.truth.nnz),
            }
            for name, task in results.tasks.items()
        },
        "comparison": results.comparison.to_dict(),
        "evaluations": {name: e.to_dict() for name, e in results.evaluations.items()},
        "trials": {m: [_trial(trial) for trial in tried] for m, tried in results.trials.items()},
        "weights": {
            method: dict(zip(FEATURES, tried[0].ranker.coef_.tolist(), strict=True))
            for method, tried in results.trials.items()
        },
        "examples": [_example(results, verdict.order[0], q) for q in (0.95, 0.75, 0.5)],
    }


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "settings": str(trial.settings),
        "validation": trial.value,
        "best_iteration": trial.ranker.best_iteration_,
        "iterations": len(trial.ranker.history_["validation"]),
    }


def _example(results: Results, method: str, quantile: float) -> dict[str, Any]:
    """Show a method's list for the customer at a quantile of its pAp@10.

    The lowest customer number comes first among equals, so that nobody picked these customers.
    """
    shop, task, evaluation = results.shop, results.tasks["test"], results.evaluations[method]
    order = np.lexsort((evaluation.labels, evaluation.values[TARGET]))
    place = order[int(np.ceil(quantile * (order.size - 1)))]
    mine = np.flatnonzero(task.row == place)
    best = mine[np.argsort(-results.scores[method][mine], kind="stable")[:K]]
    user = task.users[place]
    earlier = np.flatnonzero((shop.user == user) & (shop.minute < task.start))
    latest = shop.item[earlier[np.argsort(-shop.minute[earlier], kind="stable")]]
    history = list(dict.fromkeys(latest.tolist()))
    return {
        "quantile": quantile,
        "pap": float(evaluation.values[TARGET][place]),
        "customer_id": int(shop.customer_id[user]),
        "country": str(shop.country[user]),
        "n_before": len(history),
        "n_new": task.truth[place].nnz,
        "latest": shop.description[history[:5]].tolist(),
        "shown": [
            {"description": str(shop.description[task.item[i]]), "bought": bool(task.y[i])}
            for i in best
        ],
    }


def report(results: Results, verdict: Verdict, summary: Mapping[str, Any]) -> Report:
    """Return the page as a dictionary; `summary` is that of `summarize`."""
    dates = {name: _dates(results, name) for name in results.tasks}
    test = summary["windows"]["test"]
    page: dict[str, Any] = {**comparison_report(summary["comparison"], groups="customers")}
    means, by_target, *by_others = page["sections"]
    return {
        "title": f"Which {K} products should each customer be told about next?",
        "subtitle": f"A year of a gift shop's purchases; the last {WINDOW_DAYS // 7} weeks are the "
        f"test ({dates['test']})",
        "summary": verdict.sentences,
        "facts": {
            "test customers": test["customers"],
            "new products that they bought": test["new_purchases"],
            "candidates per customer": round(test["candidates"] / test["customers"]),
            "of the new purchases among candidates": f"{test['share_among_candidates']:.0%}",
        },
        "sections": [
            _result(results, verdict, means),
            by_target,
            {"title": "For whom", "figures": [_by_segment(summary["evaluations"])]},
            _customers(summary["examples"], verdict.order[0]),
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


def _result(results: Results, verdict: Verdict, means: Mapping[str, Any]) -> Section:
    duels: Table = {
        "columns": ["better", "worse", "difference", "95 % interval", "p", "detectable"],
        "rows": [
            [d.better, d.worse, d.test.difference, d.interval, d.p_text, d.test.detectable]
            for d in verdict.duels
        ],
        "digits": 4,
        "caption": f"Every pair of methods by {TARGET}; p values are corrected by Holm for all "
        "pairs. A true difference as large as the detectable one would have been found four times "
        "out of five.",
    }
    return {
        "title": "Result",
        "text": "Means over customers with 95 % intervals. Methods are measured on the same "
        "customers, so their differences are known better than the intervals suggest. "
        f"{capitalized(results.comparison.baseline)} was the strongest on validation of the "
        "methods whose loss is not made for pAp@k: the others are compared with it.",
        "tables": [means["table"], duels],
        "figures": [*means["figures"], _gains(results, verdict)],
    }


def _by_segment(evaluations: Mapping[str, Any]) -> Figure:
    segments = zip(*(e["segments"] for e in evaluations.values()), strict=True)
    panels = [
        {
            "title": f"country: {s[0]['name']}" if s[0]["by"] == "country" else s[0]["name"],
            "note": f"{s[0]['n_groups']} customers",
            "rows": [
                interval_row(n, part["measures"][TARGET], n)
                for n, part in zip(evaluations, s, strict=True)
            ],
        }
        for s in segments
    ]
    return {
        "kind": "grouped_intervals",
        "panels": panels,
        "title": f"{TARGET} by segment",
        "axis_label": f"mean {TARGET}",
        "caption": f"n_pos is the number of new products that a customer bought in the window; "
        f"up to {K} of them, pAp@{K} looks at all, beyond at the best {K}.",
    }


def _gains(results: Results, verdict: Verdict) -> Figure:
    """How customers differ in the gain of the first method over the last."""
    first, last = verdict.order[0], verdict.order[-1]
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
        "text": f"Lists by {method}. Nobody picked these customers: by its {TARGET}, they stand at "
        f"the {places} percentile. Products bought in the test window are in bold.",
        "tables": [_list(e) for e in examples],
    }


def _list(example: Mapping[str, Any]) -> Table:
    shown: list[Mapping[str, Any]] = example["shown"]
    return {
        "columns": ["rank", "shown", "bought"],
        "rows": [
            [rank, product["description"], "yes" if product["bought"] else ""]
            for rank, product in enumerate(shown, start=1)
        ],
        "highlight": [(i, 1) for i, product in enumerate(shown) if product["bought"]],
        "align": ["right", "left", "left"],
        "caption": f"Customer {example['customer_id']}, {example['country']}: {TARGET} = "
        f"{example['pap']:.3f}. Had bought {example['n_before']} products, last "
        f"{'; '.join(example['latest'])}. Then bought {example['n_new']} new ones.",
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
        "title": f"What the {PAP} goes by",
        "axis_label": "weight of a standard deviation within a list, largest = 1",
        "reference": {"value": 0.0, "label": "no influence"},
        "digits": 2,
        "caption": "Features that say nearly the same share their weight, so a small or negative "
        "one does not mean that a feature is useless by itself.",
    }
    table: Table = {
        "columns": ["feature", "meaning", *weights],
        "rows": [[n, text, *(w[n] for w in weights.values())] for n, text in FEATURES.items()],
        "digits": 3,
        "caption": "Weights of a standard deviation within a customer's list. Only their "
        "proportions within a column matter for the ranking.",
    }
    return {"title": "What the rankers go by", "figures": [figure], "table": table}


def _training(trials: Mapping[str, Sequence[Trial]]) -> Section:
    rows = [
        [method, str(trial.settings), trial.ranker.best_iteration_, trial.value]
        for method, tried in trials.items()
        for trial in tried
    ]
    columns = ["method", "settings", "kept iteration", f"{TARGET} on validation"]
    n = {method: f"({len(tried)} settings)" for method, tried in trials.items()}
    losses = (
        f"All are linear. {LOGISTIC.capitalize()} {n[LOGISTIC]} is a likelihood of "
        f"all candidates. The {SURROGATE} {n[SURROGATE]} is one of those that "
        "pAp@k's authors propose (Hiranandani et al., ICML 2020), and looks at the k highest "
        f"negatives of a list only. The {PAP} {n[PAP]} adds to a likelihood of all "
        "candidates the risk of pAp@k, with sigmoids for its steps."
    )
    return {
        "title": "How they were trained",
        "text": [losses, _CHOICE],
        "figures": [_curves(trials), _cutoffs(trials[SURROGATE])],
        "table": {"columns": columns, "rows": rows, "digits": 4},
    }


def _curves(trials: Mapping[str, Sequence[Trial]]) -> Figure:
    """Validation by iteration: every method's choice, and the best surrogate at k = 10."""
    surrogates = trials[SURROGATE]
    literal = next(trial for trial in surrogates if _cutoff(trial) == K)
    shown = {LOGISTIC: trials[LOGISTIC][0], _name(surrogates[0]): surrogates[0]}
    shown |= {PAP: trials[PAP][0], _name(literal): literal}
    curves = {name: trial.ranker.history_["validation"].tolist() for name, trial in shown.items()}
    return {
        "kind": "line_plot",
        "series": [{"label": name, "x": list(range(len(y))), "y": y} for name, y in curves.items()],
        "title": f"{TARGET} on the validation window while training",
        "x_label": "iteration",
        "y_label": f"mean {TARGET} among candidates",
        "caption": "The iterate with the highest value is kept. At zero coefficients, before the "
        "first step, all products tie, and ties count as errors.",
    }


def _cutoffs(surrogates: Sequence[Trial]) -> Figure:
    """Validation by the surrogate's cutoff."""
    best: dict[str, dict[int, float]] = {}
    for trial in sorted(surrogates, key=lambda t: (_loss(t), _cutoff(t), t.value)):
        best.setdefault(_loss(trial), {})[_cutoff(trial)] = trial.value
    return {
        "kind": "line_plot",
        "series": [
            {"label": loss, "x": list(values), "y": list(values.values())}
            for loss, values in best.items()
        ],
        "title": f"{TARGET} on validation by the cutoff that the surrogate is trained at",
        "x_label": "k of the surrogate",
        "y_label": f"mean {TARGET}",
        "caption": f"All are measured by {TARGET}. A surrogate at k = {K} compares positives with "
        f"the {K} highest negatives only; where these overlap much, its minimum is at zero "
        "coefficients, and only the first steps towards it rank well.",
    }


def _loss(trial: Trial) -> str:
    return trial.settings.loss.partition("(")[0]


def _cutoff(trial: Trial) -> int:
    return int(trial.settings.loss.rpartition("@")[2])


def _name(trial: Trial) -> str:
    return f"{_loss(trial)}, k = {_cutoff(trial)}"


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
        "columns": ["method", "form that did best on validation"],
        "rows": [[name, text] for name, text in summary["methods"].items()],
    }
    return {
        "title": "What was asked",
        "text": [_QUESTION, _PREPARATION],
        "tables": [windows, forms],
    }
