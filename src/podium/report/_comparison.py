"""Conversion of the JSON of a comparison to a report's dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.report import _numbers
from podium.report._evaluation import conventions, estimate, percent
from podium.report._types import Report, Section
from podium.report.figures import interval_row

_ALPHA = 0.05

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
    return {
        "title": title or f"{len(runs)} runs, compared with {baseline}",
        "subtitle": subtitle,
        "summary": _summary(tested, baseline),
        "sections": [
            *_means_sections(runs, measures),
            *(
                _differences_section(name, results, baseline, groups)
                for name, results in tested.items()
            ),
        ],
        "conventions": conventions(comparison),
    }


def _summary(tested: Mapping[str, Any], baseline: str) -> list[str]:
    if not tested:
        return []
    intro = (
        f"Significant differences from {baseline}, by a paired randomisation test with Holm's "
        f"correction at the {percent(_ALPHA)} level:"
    )
    return [intro, *(_sentence(name, results["differences"]) for name, results in tested.items())]


def _sentence(measure: str, tests: Sequence[Test]) -> str:
    """Return which runs differ from the baseline or, if none does, the detectable difference."""
    digits = _numbers.decimals(test["difference"] for test in tests)
    significant = [
        f"{test['run']} by {_numbers.fixed(test['difference'], digits, signed=True)}"
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
    return f"In {measure}: no run.{note}"


def _is_significant(test: Test) -> bool:
    return _numbers.to_float(test["holm_p_value"]) < _ALPHA


def _means_sections(runs: Sequence[str], measures: Mapping[str, Any]) -> list[Section]:
    if not measures or not runs:
        return []
    level = percent(measures[next(iter(measures))]["means"][runs[0]]["level"])
    rows = [[run] + [estimate(m["means"][run]) for m in measures.values()] for run in runs]
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
            "table": {"columns": ["run", *measures], "rows": rows},
        }
    ]


def _differences_section(
    measure: str, results: Mapping[str, Any], baseline: str, groups: str
) -> Section:
    tests: Sequence[Test] = results["differences"]
    low_label, high_label = _directions(results, baseline)
    digits = _numbers.decimals(test["difference"] for test in tests)
    level = percent(tests[0].get("level", 0.95))
    figure = {
        "kind": "difference_plot",
        "title": f"{measure}: difference from {baseline}, with {level} intervals",
        "low_label": low_label,
        "high_label": high_label,
        "rows": [
            interval_row(test["run"], {**test, "mean": test["difference"]}, test["run"])
            for test in tests
        ],
        "digits": digits,
    }
    return {
        "title": f"Differences in {measure}",
        "figures": [figure],
        "tables": [
            {
                "columns": [
                    *("run", "difference", f"{level} interval"),
                    *("p (t)", "p (randomisation)", "p (Holm)"),
                ],
                "rows": [_test_cells(test, digits) for test in tests],
                "highlight": [(i, 1) for i, test in enumerate(tests) if _is_significant(test)],
                "caption": (
                    f"Both runs have the same {groups}. p (Holm) is the randomisation p value, "
                    "corrected for all tests of this comparison. Differences are bold if it is "
                    f"below {_ALPHA}."
                ),
            },
            {
                "columns": ["run", "wins", "losses", "equal", "detectable", groups],
                "rows": [_count_cells(test, digits) for test in tests],
                "caption": (
                    f"{groups.capitalize()} for which the run is better (wins), worse (losses) or "
                    "equal. Detectable is the smallest true difference that would probably be "
                    f"found with this many {groups}."
                ),
            },
        ],
    }


def _directions(results: Mapping[str, Any], baseline: str) -> tuple[str, str]:
    """Return labels for a difference below and above 0; for a loss, lower is better."""
    tests, is_better = results["differences"], results.get("higher_is_better")
    run = "the run" if len(tests) > 1 else str(tests[0]["run"])
    if is_better is None:
        return f"{baseline} higher", f"{run} higher"
    low, high = (baseline, run) if is_better else (run, baseline)
    return f"{low} better", f"{high} better"


def _test_cells(test: Test, digits: int) -> list[Any]:
    low, high = test["interval"]
    return [
        test["run"],
        _numbers.fixed(test["difference"], digits, signed=True),
        _numbers.bounds(low, high, digits, signed=True),
        *(_numbers.p_value(test[f"{kind}_p_value"]) for kind in ("t", "randomisation", "holm")),
    ]


def _count_cells(test: Test, digits: int) -> list[Any]:
    return [
        test["run"],
        *(test["wins"], test["losses"], test["equal"]),
        _numbers.fixed(test["detectable"], digits),
        test["n_groups"],
    ]
