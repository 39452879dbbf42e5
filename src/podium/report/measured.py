"""The JSON of an Evaluation and of a Comparison as tables, paragraphs and named numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from podium.report._types import Table
from podium.report.cells import NOTHING, count, number, p_value, percent, span
from podium.report.conventions import GLUE, conventions_line
from podium.report.flat import comparisons, has_bounds, summaries
from podium.report.headlines import lead
from podium.report.views import Numbers, Tables, Text, View

_LEVEL = 0.95  # of the column's name if there is no measure
_RULES = {
    "skip": "They are left out of the mean.",
    "zero": "They count as 0.",
    "one": "They count as 1.",
}
BOLD = "Bold: the best mean, if its difference from every other run is significant (p Holm)."
_OF_MEAN = ("std_error", "n_groups", "n_undefined")
_OF_TEST = (
    *("std_error", "t_p_value", "randomisation_p_value", "holm_p_value", "effect_size"),
    *("relative_difference", "wins", "losses", "equal", "detectable", "n_groups"),
)


def evaluation_view(result: Mapping[str, Any]) -> View:
    """Return the means of an Evaluation's JSON form, and its conventions."""
    note = without_segments(result) + conventions_line(result["conventions"])
    means = [summary for _, _, _, summary in summaries(result)]
    return View((Tables((means_table(result),)), Text((note,))), undefined_note(result, means))


def comparison_view(result: Mapping[str, Any]) -> View:
    """Return the means and the tests of a Comparison's JSON form, and how to read them."""
    tables = (run_means_table(result), differences_table(result), wins_table(result))
    note = f"{' '.join(tests_notes(result))}\n{conventions_line(result['conventions'])}"
    means = [mean for *_, tested in comparisons(result) for mean in tested["means"].values()]
    legend = (BOLD, *undefined_note(result, means))
    return View((Tables(tables), Text((note,))), legend)


def evaluation_numbers(result: Mapping[str, Any]) -> Numbers:
    """Yield the numbers of each mean: ``ndcg@10``, in a segment ``n_pos 1/ndcg@10``."""
    for by, name, measure, summary in summaries(result):
        values = {"": summary["mean"], **_numbers(summary, _OF_MEAN)}
        bounds = {f"unjudged_{end}": v for end, v in summary.get("unjudged", {}).items()}
        yield _key(by, name, measure), values | bounds


def comparison_numbers(result: Mapping[str, Any]) -> Numbers:
    """Yield the numbers of each mean, ``run/ndcg@10``, and test, ``run - baseline/ndcg@10``."""
    for by, name, measure, tested in comparisons(result):
        place = _key(by, name, measure)
        for run, mean in tested["means"].items():
            yield f"{run}/{place}", {"": mean["mean"], **_numbers(mean, _OF_MEAN)}
        for test in tested["differences"]:
            values = {"": test["difference"], **_numbers(test, _OF_TEST)}
            yield f"{test['run']} - {test['baseline']}/{place}", values


def _key(by: str, name: str, measure: str) -> str:
    return f"{_segment(by, name)}/{measure}" if by else measure


def _numbers(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    low, high = values["interval"]
    return {"low": low, "high": high, **{name: values[name] for name in names}}


def undefined_note(result: Mapping[str, Any], means: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return what undefined users are, if there are any."""
    if not any(mean["n_undefined"] for mean in means):
        return ()
    rule = _RULES.get(str(result["conventions"].get("undefined")), "")
    text = "Undefined: users without a value, for example because nothing is relevant to them."
    return (f"{text} {rule}".rstrip(),)


def ties_notes(names: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Return a line for each mean that depends on the order of equal scores, which nobody chose."""
    return [
        f"{name}: the order of equal scores decides the value of {ties['n_lists']:,} of "
        f"{ties['n_groups']:,} lists. The mean is between {number(ties['last'])} (relevant items "
        f"last, as reported) and {number(ties['first'])} (relevant items first)."
        for name, mean in names
        if (ties := mean.get("ties"))
    ]


def _level(means: Iterator[Mapping[str, Any]]) -> float:
    return next((mean["level"] for mean in means), _LEVEL)


def means_table(result: Mapping[str, Any]) -> Table:
    """Return the means of an Evaluation's JSON form, by segment."""
    level = _level(iter(result["measures"].values()))
    columns = ["measure", "mean", f"{level:.4g} interval", "std error", "users", "undefined"]
    is_bounded = has_bounds(result)
    if is_bounded:
        columns.insert(3, "unjudged")
    rows: list[list[str]] = []
    previous_segment = ""
    for by, name, measure, summary in summaries(result):
        segment = _segment(by, name)
        rows.append(
            [] if not result["segments"] else [segment if segment != previous_segment else ""]
        )
        cells = _mean_cells(summary)
        if is_bounded:
            cells.insert(2, span(summary["unjudged"].values()) if "unjudged" in summary else "")
        rows[-1] += [measure, *cells]
        previous_segment = segment
    return {"columns": [*(["segment"] if result["segments"] else []), *columns], "rows": rows}


def _segment(by: str, name: str) -> str:
    """Return the name of a segment, with its column unless the name implies it."""
    return name if by in ("", "engagement", "n_pos") else f"{by} {name}"


def _mean_cells(summary: Mapping[str, Any]) -> list[str]:
    return [
        number(summary["mean"]),
        span(summary["interval"]),
        number(summary["std_error"]),
        str(summary["n_groups"]),
        str(summary["n_undefined"]),
    ]


def without_segments(result: Mapping[str, Any]) -> str:
    """Return a line on the measures that segments lack, empty if there are none."""
    if not result["segments"]:
        return ""
    names = [name for name in result["measures"] if name not in result["segments"][0]["measures"]]
    if not names:
        return ""
    is_or_are = "is not a mean" if len(names) == 1 else "are not means"
    return f"{' and '.join(names)} {is_or_are} over users and can't be divided into segments.\n"


def run_means_table(result: Mapping[str, Any]) -> Table:
    """Return the means of a Comparison's JSON form; the best is bold if its lead is significant."""
    has_letters = result["pairs"] == "all"
    rows = [
        [
            _measure_in(by, name, measure) if i == 0 else "",
            run,
            *([results["letters"][run]] if has_letters else []),
            *_mean_cells(summary),
        ]
        for by, name, measure, results in comparisons(result)
        for i, (run, summary) in enumerate(results["means"].items())
    ]
    columns = ["measure", "run", *(["letters"] if has_letters else []), "mean"]
    columns += [f"{_first_level(result):.4g} interval", "std error", "users", "undefined"]
    is_best = [
        best is not None and best.is_proven and run == best.run
        for _, _, measure, tested in comparisons(result)
        for best in [lead(measure, tested)]
        for run in tested["means"]
    ]
    cells = [
        (row, column)
        for row, bold in enumerate(is_best)
        if bold
        for column in (1, columns.index("mean"))
    ]
    return {"columns": columns, "rows": rows, "highlight": cells}


def differences_table(result: Mapping[str, Any]) -> Table:
    """Return the differences of a Comparison's JSON form, with their tests."""
    p_columns = {"randomisation_p_value": "p rand.", "holm_p_value": "p Holm"}
    if result["splits"] > 1:
        p_columns = {"t_p_value": "p t", "holm_p_value": "p Holm"}
    columns = ["measure", "run", "diff.", f"{_first_level(result):.4g} t interval"]
    has_bounds = _has_unjudged(result)
    return {
        "columns": [
            *(*columns, *p_columns.values()),
            *(["unjudged", "labels"] if has_bounds else []),
        ],
        "rows": [
            [
                *start,
                number(test["difference"], "+"),
                span(test["interval"], "+"),
                *(p_value(test[name]) for name in p_columns),
                *(_unjudged_cells(test) if has_bounds else []),
            ]
            for start, test in _tests(result)
        ],
    }


def _has_unjudged(result: Mapping[str, Any]) -> bool:
    return any("unjudged" in test for _, test in _tests(result))


def _unjudged_cells(test: Mapping[str, Any]) -> list[str]:
    """Return the range of a difference over all judgements, and the number of labels."""
    unjudged = test.get("unjudged")
    if unjudged is None:
        return [NOTHING, NOTHING]
    n_labels = unjudged["n_labels"]
    bounds = span((unjudged["low"], unjudged["high"]), "+")
    return [bounds, NOTHING if n_labels is None else str(n_labels)]


def wins_table(result: Mapping[str, Any]) -> Table:
    """Return the users who gain and lose, and the sizes of effects, of a Comparison's JSON form."""
    has_t = result["splits"] == 1
    columns = ["measure", "run", "wins", "losses", "equal", "detectable", "effect", "relative"]
    return {
        "columns": [*columns, *(["p t"] if has_t else [])],
        "rows": [
            [
                *start,
                *(count(test[name]) for name in ("wins", "losses", "equal")),
                number(test["detectable"]),
                NOTHING if test["effect_size"] is None else f"{test['effect_size']:+.2f}",
                percent(test["relative_difference"]),
                *([p_value(test["t_p_value"])] if has_t else []),
            ]
            for start, test in _tests(result)
        ],
    }


def _tests(result: Mapping[str, Any]) -> Iterator[tuple[list[str], Mapping[str, Any]]]:
    for by, name, measure, results in comparisons(result):
        for i, test in enumerate(results["differences"]):
            run = test["run"]
            if result["pairs"] == "all":
                run = f"{run} - {test['baseline']}"
            yield [_measure_in(by, name, measure) if i == 0 else "", run], test


def _measure_in(by: str, name: str, measure: str) -> str:
    """Return the name of a measure, followed by that of its segment."""
    return f"{measure}, {_segment(by, name)}" if by else measure


def _first_level(result: Mapping[str, Any]) -> float:
    means = (mean for tested in result["measures"].values() for mean in tested["means"].values())
    return _level(means)


def tests_notes(result: Mapping[str, Any]) -> list[str]:
    """Return how to read the differences and tests of a comparison."""
    is_first = result["pairs"] == "first"
    notes = [f"Differences are from {result['baseline']}."] if is_first else []
    if result["splits"] == 1:
        notes.append(
            "p rand., p Holm: paired randomisation test, before and after Holm's correction for "
            "all tests here. p t: paired t test."
        )
        if any(test["randomisation_p_value"] is None for _, test in _tests(result)):
            notes[-1] += (
                " Without p rand., which measures that are not means and large numbers of tests "
                "leave out, p Holm corrects p t."
            )
    else:
        notes.append(
            f"There are {result['splits']} splits, and users counts each user once per split. The "
            "standard errors include the variation of users and of splits. p t, p Holm: paired t "
            "test, before and after Holm's correction for all tests here."
        )
    notes.append(
        "Detectable: the smallest true difference that a test with this many users detects "
        f"(5{GLUE}% level, 80{GLUE}% power). Effect: mean difference, divided by the standard "
        "deviation of the differences. Relative: difference, divided by the baseline's mean."
    )
    if _has_unjudged(result):
        notes.append(
            "Unjudged: the range of the difference over all ways to judge the items that the "
            "truth lacks. Labels: if this range contains both signs, the number of items to judge "
            "(--labels writes them). If none of them is relevant, the sign cannot change."
        )
    if not is_first:
        notes.append("Runs with a letter in common do not differ significantly (p Holm).")
    return [re.sub(r"\bp (?=t\b|Holm|rand\.)", f"p{GLUE}", note) for note in notes]
