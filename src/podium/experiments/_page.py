"""The demo's page: a report dictionary, which `podium.report` renders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from podium.evaluation.stats import PairedTest
from podium.experiments import _figures
from podium.experiments._features import FEATURES
from podium.experiments._models import LOGISTIC, PAP, SURROGATE, TARGET, K
from podium.experiments._results import MEASURES, Results, examples
from podium.experiments._story import listed, mean_text, p_text
from podium.experiments._windows import WINDOW_DAYS
from podium.report import Report, Section, Table

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


def report(results: Results) -> Report:
    """Return the page as a dictionary."""
    test = results.tasks["test"]
    return {
        "title": f"Which {K} products should each customer be told about next?",
        "subtitle": f"A year of a gift shop's purchases; the last {WINDOW_DAYS // 7} weeks are the "
        f"test ({_dates(results, 'test')})",
        "summary": [*results.verdict.sentences],
        "facts": {
            "test customers": int(test.lists.users.size),
            "new products that they bought": int(test.truth.nnz),
            "candidates per customer": round(test.lists.row.size / test.lists.users.size),
            "of the new purchases among candidates": f"{test.found:.0%}",
        },
        "sections": [
            _result(results),
            _segments(results),
            _examples(results),
            _weights(results),
            _training(results),
            _method(results),
        ],
        "conventions": dict(
            results.comparison.evaluations[results.comparison.baseline].conventions
        ),
        "footer": _SOURCE,
    }


def _result(results: Results) -> Section:
    baseline = results.comparison.baseline
    return {
        "title": "Result",
        "text": f"Means over customers with 95 % intervals, and the paired differences from "
        f"{baseline}, which was the strongest on validation of the methods whose loss is not made "
        "for pAp@k.",
        "tables": [_means(results), _duels(results), _differences(results)],
        "figures": [
            _figures.by_measure(results),
            _figures.differences(results),
            _figures.spread(results),
        ],
    }


def _means(results: Results) -> Table:
    rows = [
        [name, *(mean_text(e.summary(measure)) for measure in MEASURES)]
        for name, e in results.comparison.evaluations.items()
    ]
    return {"columns": ["method", *MEASURES], "rows": rows}


def _differences(results: Results) -> Table:
    comparison = results.comparison
    rows = [
        [measure, run, *_tested(test), p_text(comparison.holm[measure][run])]
        for measure, tests in comparison.tests.items()
        for run, test in tests.items()
    ]
    return {
        "columns": ["measure", "method", "difference", "95 % interval", "won/lost/equal", "p"],
        "rows": rows,
        "digits": 4,
        "caption": f"Differences from {comparison.baseline}. p values are those of a paired "
        "randomisation test, corrected by Holm for all tests of this table.",
    }


def _tested(test: PairedTest) -> list[Any]:
    low, high = test.interval
    counts = f"{test.wins}/{test.losses}/{test.equal}"
    return [test.difference, f"{low:+.4f} to {high:+.4f}", counts]


def _segments(results: Results) -> Section:
    return {
        "title": "For whom",
        "figures": [_figures.by_segment(results)],
    }


def _duels(results: Results) -> Table:
    """Every pair by pAp@10, with what this many customers can show."""
    rows = [
        [d.better, d.worse, *_tested(d.test)[:2], p_text(d.p_value), d.test.detectable]
        for d in results.verdict.duels
    ]
    return {
        "columns": ["better", "worse", "difference", "95 % interval", "p", "detectable"],
        "rows": rows,
        "digits": 4,
        "caption": f"Every pair of methods by {TARGET}; p values are corrected by Holm for all "
        "pairs. A true difference as large as the detectable one would have been found four times "
        "out of five.",
    }


def _examples(results: Results) -> Section:
    found = examples(results)
    first = results.verdict.order[0]
    places = listed([f"{100 * example['quantile']:.0f}th" for example in found])
    return {
        "title": "Three customers",
        "text": f"Lists by {first}. Nobody picked these customers: by its {TARGET}, they stand at "
        f"the {places} percentile. Products bought in the test window are in bold.",
        "tables": [_example(e) for e in found],
    }


def _example(example: Mapping[str, Any]) -> Table:
    shown: Sequence[Mapping[str, Any]] = example["shown"]
    return {
        "columns": ["rank", "shown", "bought"],
        "rows": [
            [rank, product["description"], "yes" if product["bought"] else ""]
            for rank, product in enumerate(shown, start=1)
        ],
        "highlight": [(row, 1) for row, product in enumerate(shown) if product["bought"]],
        "align": ["right", "left", "left"],
        "caption": f"Customer {example['customer_id']}, {example['country']}: {TARGET} = "
        f"{example['pap']:.3f}. Had bought {example['n_before']} products, last "
        f"{'; '.join(example['latest'])}. Then bought {example['n_new']} new ones.",
    }


def _weights(results: Results) -> Section:
    coefs = [tried[0].coef for tried in results.trials.values()]
    rows = [
        [name, text, *(float(coef[i]) for coef in coefs)]
        for i, (name, text) in enumerate(FEATURES.items())
    ]
    return {
        "title": "What the rankers go by",
        "figures": [_figures.weights(results)],
        "table": {
            "columns": ["feature", "meaning", *results.trials],
            "rows": rows,
            "digits": 3,
            "caption": "Weights of a standard deviation within a customer's list. Only their "
            "proportions within a column matter for the ranking.",
        },
    }


def _training(results: Results) -> Section:
    rows = [
        [method, str(trial.settings), trial.best, trial.value]
        for method, tried in results.trials.items()
        for trial in tried
    ]
    return {
        "title": "How they were trained",
        "text": [_losses(results), _CHOICE],
        "figures": [_figures.training(results), _figures.cutoffs(results)],
        "table": {
            "columns": ["method", "settings", "kept iteration", f"{TARGET} on validation"],
            "rows": rows,
            "digits": 4,
        },
    }


def _losses(results: Results) -> str:
    """Say what each ranker's loss is, and how many settings it was given."""
    tried = {method: len(trials) for method, trials in results.trials.items()}
    return (
        f"All are linear. {LOGISTIC.capitalize()} ({tried[LOGISTIC]} settings) is a likelihood of "
        f"all candidates. The {SURROGATE} ({tried[SURROGATE]} settings) is one of those that "
        "pAp@k's authors propose (Hiranandani et al., ICML 2020), and looks at the k highest "
        f"negatives of a list only. The {PAP} ({tried[PAP]} settings) adds to a likelihood of all "
        "candidates the risk of pAp@k, with sigmoids for its steps."
    )


def _method(results: Results) -> Section:
    return {
        "title": "What was asked",
        "text": [_QUESTION, _PREPARATION],
        "tables": [_windows(results), _forms(results)],
    }


def _windows(results: Results) -> Table:
    rows = [
        [
            name,
            _dates(results, name),
            int(task.lists.users.size),
            int(task.lists.row.size),
            int(task.truth.nnz),
            f"{task.found:.0%}",
        ]
        for name, task in results.tasks.items()
    ]
    columns = ["window", "dates", "customers", "candidates", "new purchases", "among candidates"]
    return {"columns": columns, "rows": rows}


def _forms(results: Results) -> Table:
    rows = [[name, text] for name, text in results.how.items()]
    return {"columns": ["method", "form that did best on validation"], "rows": rows}


def _dates(results: Results, name: str) -> str:
    window = results.windows[name]
    seconds = (results.shop.epoch0 + minute * 60 for minute in (window.start, window.stop - 1))
    first, last = (datetime.fromtimestamp(s, UTC).date().isoformat() for s in seconds)
    return f"{first} to {last}"
