"""Conversion of the JSON of a comparison to a report's dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium import _numbers
from podium.report._evaluation import conventions, estimate, percent
from podium.report._types import Report, Section, Table
from podium.report.figures import interval_row

Test = Mapping[str, Any]  # one difference, a stats.PairedTest in JSON


def comparison_report(
    comparison: Mapping[str, Any],
    *,
    title: str = "",
    subtitle: str = "",
    groups: str = "users",
) -> Report:
    """Return the report of the JSON object of ``podium compare``.

    Parameters
    ----------
    comparison : mapping
        A mapping with "runs", "baseline", "measures" and optionally "conventions"
        (docs/schemas/comparison.json).
    title, subtitle : str
        The title and subtitle of the page. The default title gives the number of runs and the
        baseline.
    groups : str
        The word for groups, in the plural.

    Returns
    -------
    Report
        A dictionary for `podium.report.render`. Each run has the same colour in all figures.

    Examples
    --------
    >>> summary = {"mean": 0.5, "std_error": 0.1, "interval": [0.3, 0.7], "level": 0.95}
    >>> summary |= {"n_groups": 9, "n_undefined": 0}
    >>> measures = {"pap@10": {"means": {"a": summary}, "differences": []}}
    >>> report = comparison_report({"runs": ["a"], "baseline": "a", "measures": measures})
    >>> [section["title"] for section in report["sections"]]
    ['Means']
    """
    runs, baseline = list(comparison["runs"]), str(comparison["baseline"])
    measures = comparison["measures"]
    tested = {name: results for name, results in measures.items() if results["differences"]}
    is_all = comparison.get("pairs", "first") == "all"
    against = "" if is_all else baseline
    return {
        "title": title or (f"{len(runs)} runs" + ("" if is_all else f", compared with {baseline}")),
        "subtitle": subtitle,
        "summary": _summary(tested, against),
        "sections": [
            *_means_sections(runs, measures),
            *(
                _differences_section(name, results, against, groups)
                for name, results in tested.items()
            ),
            *_segment_sections(comparison.get("segments", []), tested, against, groups),
        ],
        "conventions": conventions(comparison),
    }


def _summary(tested: Mapping[str, Any], baseline: str) -> list[str]:
    if not tested:
        return []
    tests = [test for results in tested.values() for test in results["differences"]]
    kind = "randomisation" if any(_has_randomisation(test) for test in tests) else "t"
    intro = (
        f"Significant differences{f' from {baseline}' if baseline else ''}, by a paired {kind} "
        f"test with Holm's correction at the {percent(_alpha(tests[0]))} level:"
    )
    return [
        intro,
        *(_sentence(name, results["differences"], baseline) for name, results in tested.items()),
    ]


def _has_randomisation(test: Test) -> bool:
    return test["randomisation_p_value"] is not None


def _name(test: Test, baseline: str) -> str:
    """Return the run, or "run - baseline" if the baseline is not the same for all tests."""
    return str(test["run"]) if baseline else f"{test['run']} - {test['baseline']}"


def _sentence(measure: str, tests: Sequence[Test], baseline: str) -> str:
    """Return which runs differ from the baseline or, if none does, the detectable difference."""
    digits = _numbers.decimals(test["difference"] for test in tests)
    significant = [
        f"{_name(test, baseline)} by {_numbers.fixed(test['difference'], digits, signed=True)}"
        for test in tests
        if _is_significant(test)
    ]
    if significant:
        return f"In {measure}: {'; '.join(significant)}."
    detectable = [value for test in tests if (value := _numbers.to_float(test["detectable"])) > 0]
    note = ""
    if detectable:
        note = (
            f" A true difference of {_numbers.fixed(max(detectable), digits)} would probably have "
            "been found; a smaller one may exist."
        )
    return f"In {measure}: no {'run' if baseline else 'pair'}.{note}"


def _is_significant(test: Test) -> bool:
    return _numbers.to_float(test["holm_p_value"]) <= _alpha(test)


def _alpha(test: Test) -> float:
    """Return the level of the test, such as 0.05 for intervals of 95 %."""
    return round(1 - test.get("level", 0.95), 12)


def _means_sections(runs: Sequence[str], measures: Mapping[str, Any]) -> list[Section]:
    if not measures or not runs:
        return []
    level = percent(measures[next(iter(measures))]["means"][runs[0]]["level"])
    rows = [[run] + [_mean_cell(run, results) for results in measures.values()] for run in runs]
    panels = [
        {"title": name, "rows": [interval_row(run, results["means"][run], run) for run in runs]}
        for name, results in measures.items()
    ]
    title = f"Means, with {level} intervals"
    figure: dict[str, Any] = {
        "kind": "grouped_intervals",
        "title": title,
        "panels": panels,
        "share_axis": False,
    }
    if len(panels) == 1:
        name = panels[0]["title"]
        figure = {
            "kind": "interval_plot",
            "title": f"{name}: {title[0].lower()}{title[1:]}",
            "rows": panels[0]["rows"],
        }
    return [
        {
            "title": "Means",
            "figures": [figure],
            "table": {"columns": ["run", *measures], "rows": rows, "caption": _letters(measures)},
        }
    ]


def _letters(measures: Mapping[str, Any]) -> str:
    """Return what the letters mean, empty without letters."""
    if not any("letters" in results for results in measures.values()):
        return ""
    return "Runs with a letter in common do not differ significantly, after Holm's correction."


def _mean_cell(run: str, results: Mapping[str, Any]) -> str:
    """Return the mean with its interval, and the letters of the run if there are any."""
    letters = results.get("letters", {}).get(run)
    mean = estimate(results["means"][run])
    return f"{mean} {letters}" if letters else mean


def _segment_sections(
    segments: Sequence[Mapping[str, Any]], tested: Mapping[str, Any], baseline: str, groups: str
) -> list[Section]:
    """Return a section per measure and segment in which it was tested."""
    return [
        _differences_section(
            measure,
            segment["measures"][measure],
            baseline,
            groups,
            f"{segment['name']} ({segment['by']}, {segment['n_groups']} {groups})",
        )
        for measure in tested
        for segment in segments
        if segment["measures"].get(measure, {}).get("differences")
    ]


def _differences_section(
    measure: str, results: Mapping[str, Any], baseline: str, groups: str, segment: str = ""
) -> Section:
    tests: Sequence[Test] = results["differences"]
    low_label, high_label = _directions(results, baseline)
    digits = _numbers.decimals(test["difference"] for test in tests)
    level = percent(tests[0].get("level", 0.95))
    start = f"difference from {baseline}" if baseline else "differences"
    figure = {
        "kind": "difference_plot",
        "title": f"{measure}: {start}, with {level} intervals",
        "low_label": low_label,
        "high_label": high_label,
        "rows": [
            interval_row(_name(test, baseline), {**test, "mean": test["difference"]}, test["run"])
            for test in tests
        ],
        "digits": digits,
    }
    return {
        "title": f"Differences in {measure}{f': {segment}' if segment else ''}",
        "figures": [figure],
        "tables": [
            {
                "columns": [
                    *("run", "difference", f"{level} interval"),
                    *("p (t)", "p (randomisation)", "p (Holm)"),
                ],
                "rows": [_test_cells(test, baseline, digits) for test in tests],
                "highlight": [(i, 1) for i, test in enumerate(tests) if _is_significant(test)],
                "caption": (
                    f"Both runs have the same {groups}. p (Holm) is the p value, corrected for all "
                    "tests of this comparison. Differences are bold if it is at most "
                    f"{_alpha(tests[0]):g}."
                ),
            },
            {
                "columns": [
                    *("run", "wins", "losses", "equal", "detectable", "effect", "relative"),
                    groups,
                ],
                "rows": [_count_cells(test, baseline, digits) for test in tests],
                "caption": (
                    f"{groups.capitalize()} for which the run is better (wins), worse (losses) or "
                    "equal. Detectable is the smallest true difference that would probably be "
                    f"found with this many {groups}. Effect is the mean difference, divided by the "
                    "standard deviation of the differences. Relative is the difference, divided "
                    "by the mean of the baseline."
                ),
            },
            *_unjudged_tables(tests, baseline, digits),
        ],
    }


def _unjudged_tables(tests: Sequence[Test], baseline: str, digits: int) -> list[Table]:
    """Return a table of the ranges over all judgements of unjudged items, if there are any."""
    rows: list[list[Any]] = []
    for test in tests:
        if (unjudged := test.get("unjudged")) is not None:
            n_labels = unjudged["n_labels"]
            bounds = _numbers.bounds(unjudged["low"], unjudged["high"], digits, signed=True)
            rows.append(
                [_name(test, baseline), bounds, _numbers.NOTHING if n_labels is None else n_labels]
            )
    caption = (
        "The range of the difference over all ways to judge the items that the truth lacks. If "
        "it contains both signs, labels is the number of items to judge. If none of them is "
        "relevant, the sign cannot change."
    )
    columns = ["run", "unjudged", "labels"]
    return [{"columns": columns, "rows": rows, "caption": caption}] if rows else []


def _directions(results: Mapping[str, Any], baseline: str) -> tuple[str, str]:
    """Return labels for a difference below and above 0; for a loss, lower is better."""
    tests, is_better = results["differences"], results.get("higher_is_better")
    run = "the run" if len(tests) > 1 else str(tests[0]["run"])
    if not baseline:
        run, baseline = "the first run", "the second run"
    if is_better is None:
        return f"{baseline} higher", f"{run} higher"
    low, high = (baseline, run) if is_better else (run, baseline)
    return f"{low} better", f"{high} better"


def _test_cells(test: Test, baseline: str, digits: int) -> list[Any]:
    low, high = test["interval"]
    return [
        _name(test, baseline),
        _numbers.fixed(test["difference"], digits, signed=True),
        _numbers.bounds(low, high, digits, signed=True),
        *(_numbers.p_value(test[f"{kind}_p_value"]) for kind in ("t", "randomisation", "holm")),
    ]


def _count_cells(test: Test, baseline: str, digits: int) -> list[Any]:
    return [
        _name(test, baseline),
        *(test["wins"], test["losses"], test["equal"]),
        _numbers.fixed(test["detectable"], digits),
        _numbers.fixed(test["effect_size"], 2, signed=True),
        _signed_percent(test["relative_difference"]),
        test["n_groups"],
    ]


def _signed_percent(value: Any) -> str:
    text = _numbers.fixed(100 * _numbers.to_float(value), 1, signed=True)
    return text if text == _numbers.NOTHING else f"{text}%"
