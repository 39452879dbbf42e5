"""What the demo found, in words: sentences and a table for the terminal, and a page."""

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


def verdict(evaluations: Mapping[str, Evaluation], duels: Sequence[Duel]) -> list[str]:
    """Say which method wins: every sentence is computed from the numbers."""
    best, order = duels[0].better, methods(duels)
    mean = evaluations[best].means[TARGET]
    level = [duel for duel in _of_best(duels) if duel.p_value >= _ALPHA]
    beaten = [duel for duel in _of_best(duels) if duel.p_value < _ALPHA]
    name = capitalized(best)
    sentences = [f"{name} wins: its mean {TARGET} of {mean:.4f} is the highest."]
    if level:
        close = level[0]
        sentences[0] = (
            f"No method wins alone: {best} has the highest mean {TARGET} ({mean:.4f}), but "
            f"{listed([d.worse for d in level])} {'is' if len(level) == 1 else 'are'} not told "
            f"from it by a paired test. {name} - {close.worse} is {_gain(close)}; "
            f"{close.test.n_groups} customers would have shown a difference of "
            f"{close.test.detectable:.4f}, four times out of five."
        )
    if beaten:
        gains = [f"{d.worse} by {d.test.difference:.4f} ({_p(d)})" for d in beaten]
        gains[0] = f"{beaten[0].worse} by {_gain(beaten[0])}"
        sentences.append(f"{name} beats {listed(gains)}.")
    hits = [f"{evaluations[n].means[f'precision@{K}'] * K:.2f} ({n})" for n in order]
    return [*sentences, f"Of {K} products shown, a customer then buys {listed(hits)}."]


def methods(duels: Sequence[Duel]) -> list[str]:
    """Return the methods by their mean, the highest first."""
    return [duels[0].better, *(duel.worse for duel in _of_best(duels))]


def winners(duels: Sequence[Duel]) -> list[str]:
    """Return the best method and all that do not differ from it significantly."""
    level = (duel.worse for duel in _of_best(duels) if duel.p_value >= _ALPHA)
    return [duels[0].better, *level]


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
    """Write the two digits of a p value that 10,000 drawn permutations support."""
    return "<0.001" if duel.p_value < 0.001 else f"{duel.p_value:.2g}"


def table(comparison: Comparison, duels: Sequence[Duel]) -> dict[str, Any]:
    """Return a row per method: means, the first measure by engagement, and its paired test.

    The first measure, `pap@10`, has half its 95 % interval beside it. p values are
    corrected for all pairs.
    """
    baseline, first = next(iter(comparison.evaluations.items()))
    head, *others = first.measures
    segments = [s for s in first.segments if s.by == "engagement"]
    p_texts = {frozenset((d.better, d.worse)): _p_value(d) for d in duels}
    rows: list[list[str]] = []
    for name, e in comparison.evaluations.items():
        low, high = e.summary(head).interval
        rows.append([name, f"{e.means[head]:.4f} ± {(high - low) / 2:.4f}"])
        rows[-1] += [f"{e.means[m]:.4f}" for m in others]
        rows[-1] += [f"{e.summary(head, s.mask).mean:.4f}" for s in segments]
        if name != baseline:
            rows[-1].append(f"{comparison.tests[head][name].difference:+.4f}")
            rows[-1].append(p_texts[frozenset((name, baseline))])
    rows[0] += ["", ""]
    columns = ["method", head, *others, *(f"{head}, {s.name}" for s in segments)]
    return {"columns": [*columns, f"{head} - {baseline}", "p (Holm)"], "rows": rows}


def listed(names: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def capitalized(name: str) -> str:
    """Upper-case the first letter, unless the name has its own way (pAp)."""
    return name if name[1:2].isupper() else name[:1].upper() + name[1:]


def report(results: Results, summary: Mapping[str, Any]) -> Report:
    """Return the page as a dictionary; `summary` holds the results as JSON does."""
    dates = {name: _dates(results, name) for name in results.tasks}
    test = summary["windows"]["test"]
    page: dict[str, Any] = {**comparison_report(summary["comparison"], groups="customers")}
    means, by_target, *by_others = page["sections"]
    return {
        "title": f"Which {K} products should each customer be told about next?",
        "subtitle": f"A year of a gift shop's purchases; the last {WINDOW_DAYS // 7} weeks are the "
        f"test ({dates['test']})",
        "summary": verdict(results.evaluations, results.duels),
        "facts": {
            "test customers": test["customers"],
            "new products that they bought": test["new_purchases"],
            "candidates per customer": round(test["candidates"] / test["customers"]),
            "of the new purchases among candidates": f"{test['share_among_candidates']:.0%}",
        },
        "sections": [
            _result(results, means),
            by_target,
            {"title": "For whom", "figures": [_by_segment(summary["evaluations"])]},
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
                *(d.better, d.worse, d.test.difference),
                "{:+.4f} to {:+.4f}".format(*d.test.interval),
                *(_p_value(d), d.test.detectable),
            ]
            for d in results.duels
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
        "figures": [*means["figures"], _gains(results)],
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


def _gains(results: Results) -> Figure:
    """How customers differ in the gain of the first method over the last."""
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
        [method, trial.settings, trial.ranker.best_iteration_, trial.value]
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
    literal = next(trial for trial in surrogates if trial.loss.k == K)
    named = {f"{t.loss.name}, k = {t.loss.k}": t for t in (surrogates[0], literal)}
    best, *others = named.items()
    shown = dict([(LOGISTIC, trials[LOGISTIC][0]), best, (PAP, trials[PAP][0]), *others])
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
    for trial in sorted(surrogates, key=lambda t: (t.loss.name, t.loss.k, t.value)):
        best.setdefault(trial.loss.name, {})[trial.loss.k] = trial.value
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
