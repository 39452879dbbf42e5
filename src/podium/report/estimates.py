"""The JSON of estimates from sampled ranks as tables, paragraphs and named numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from podium.report import estimate_notes as notes
from podium.report import headlines, pages
from podium.report._types import Report, Table
from podium.report.cells import change, changes, number, probability, span
from podium.report.pictures import estimated
from podium.report.tables import Columns, build, ends, flat, once
from podium.report.views import Numbers, Tables, Text, View

_FLAT = (
    *("mean", "std_error", "low", "high", "level", "n_groups", "n_undefined", "method", "biased"),
    *("interval_of", "error_from", "lowest", "highest", "prior_decides"),
    "order_assumed",
)

_MEAN = (
    *("mean", "std_error", "level", "n_groups", "method", "biased", "interval_of", "error_from"),
    *("prior_decides", "order_assumed"),
)
_TEST = ("difference", "std_error", "sign_probability", "either_sign")
_ENDS = ("low", "high", "lowest", "highest")
_OF_TEST = (*_TEST, *_ENDS)


def estimate_view(result: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> View:
    """Return the estimates of a SampledEvaluation's JSON form, and how to read them.

    Parameters
    ----------
    result : dict
    given : dict, optional
        The options of the command, which the conventions of the result do not all contain.
    """
    conventions, options = result["conventions"], given or {}
    sentences = [*notes.of_estimate(result), *notes.about_sizes(conventions, options)]
    text = f"{' '.join(sentences)}\n{notes.options(conventions, options)}"
    return View((Tables((_estimate_table(result),)), Text((text,))))


def comparison_view(
    result: Mapping[str, Any], given: Mapping[str, Any] | None = None, *, by_row: bool = False
) -> View:
    """Return the estimates and differences of a SampledComparison's JSON form.

    Parameters
    ----------
    result : dict
    given : dict, optional
        The options of the command; see `estimate_view`.
    by_row : bool
        Whether the samples have no users.
    """
    conventions = _merged_conventions(list(result["conventions"].values()))
    options = given or {}
    sentences = [*notes.of_comparison(result, by_row), *notes.about_sizes(conventions, options)]
    note = f"{' '.join(sentences)}\n{notes.options(conventions, options)}"
    return View((Tables((_means_table(result), _differences_table(result))), Text((note,))))


def estimate_page(result: Mapping[str, Any]) -> Report:
    """Return the page of a SampledEvaluation's JSON form."""
    first = next(iter(result["measures"].values()))
    is_known = headlines.is_determined(first)
    return {
        "title": "Estimates for the ranking of all items",
        "status": "open" if is_known is False else "",
        "summary": headlines.of_estimate(result),
        "sections": [
            {
                "title": "Estimates",
                "figures": [estimated.estimates(result)],
                "tables": [pages.complete(_estimate_table(result))],
                "notes": [*notes.of_estimate(result)],
            }
        ],
        "conventions": pages.conventions(result),
    }


def comparison_page(result: Mapping[str, Any], *, by_row: bool = False) -> Report:
    """Return the page of a SampledComparison's JSON form; see `comparison_view`."""
    first = next(iter(result["measures"].values()))
    return {
        "title": f"Estimates of {len(result['runs'])} models for the ranking of all items",
        "status": "open" if notes.is_open(first["differences"]) else "",
        "summary": headlines.of_estimates(result),
        "sections": [
            {
                "title": "Estimates",
                "figures": [
                    estimated.run_estimates(result),
                    *(estimated.run_differences(result, name) for name in result["measures"]),
                ],
                "tables": [
                    pages.complete(_means_table(result), "Means"),
                    pages.complete(_differences_table(result), "Differences"),
                ],
                "notes": [*notes.of_comparison(result, by_row)],
            }
        ],
        "conventions": pages.conventions(
            {"conventions": _merged_conventions([*result["conventions"].values()])}
        ),
    }


def estimate_numbers(result: Mapping[str, Any]) -> Numbers:
    """Yield the numbers of each estimate, by its measure."""
    for name, estimate in result["measures"].items():
        yield name, _mean_numbers(estimate)


def comparison_numbers(result: Mapping[str, Any]) -> Numbers:
    """Yield the numbers of each estimate, ``run/ndcg@10``, and difference, ``b - a/ndcg@10``."""
    for measure, results in result["measures"].items():
        for run, mean in results["means"].items():
            yield f"{run}/{measure}", _mean_numbers(mean)
        for test in results["differences"]:
            yield f"{test['run']} - {test['baseline']}/{measure}", _test_numbers(test)


def _mean_numbers(mean: Mapping[str, Any]) -> dict[str, Any]:
    counts = {"std_error": mean["std_error"], "n_groups": mean["n_groups"]}
    return {"": mean["mean"], **counts, **_named_ends(mean)}


def _test_numbers(test: Mapping[str, Any]) -> dict[str, Any]:
    return {"": test["difference"], **{n: test[n] for n in _TEST[1:3]}, **_named_ends(test)}


def _named_ends(record: Mapping[str, Any]) -> dict[str, Any]:
    names = _ENDS if record["bounds"] else _ENDS[:2]
    return {name: ends(record)[name] for name in names}


def _estimate_table(result: Mapping[str, Any]) -> Table:
    return build({"measure": ("measure", str), **_columns(result)}, _by_measure(result))


def _by_measure(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [{**record, "measure": name} for name, record in result["measures"].items()]


def _columns(result: Mapping[str, Any]) -> Columns:
    """Return the columns of an estimate: those of the first one."""
    first = next(iter(result["measures"].values()))
    estimate = next(iter(first["means"].values())) if "means" in first else first
    return {
        "mean": ("mean", number),
        f"{estimate['level']:.4g} interval": ("interval", span),
        "std error": ("std_error", number),
        **({} if estimate["bounds"] is None else {"possible": ("bounds", span)}),
        "users": ("n_groups", str),
    }


def estimate_table(result: Mapping[str, Any]) -> Table:
    """Return one row per measure of a SampledEvaluation's JSON form."""
    return flat(["measure", *_FLAT], _by_measure(result))


def _means_table(result: Mapping[str, Any]) -> Table:
    columns: Columns = {"measure": ("measure", str), "run": ("run", str), **_columns(result)}
    records = (
        {**mean, "measure": measure, "run": run}
        for measure, results in result["measures"].items()
        for run, mean in results["means"].items()
    )
    return once(build(columns, records), "measure")


def _differences_table(result: Mapping[str, Any]) -> Table:
    tests = [
        {**test, "measure": measure}
        for measure, results in result["measures"].items()
        for test in results["differences"]
    ]
    columns: Columns = {"measure": ("measure", str), "run": ("run", str), **_test_columns(tests[0])}
    return once(build(columns, tests), "measure")


def _test_columns(test: Mapping[str, Any]) -> Columns:
    return {
        "diff.": ("difference", change),
        f"{test['level']:.4g} interval": ("interval", changes),
        "sign right": ("sign_probability", probability),
        **({} if test["bounds"] is None else {"possible": ("bounds", changes)}),
    }


def comparison_table(result: Mapping[str, Any]) -> Table:
    """Return a row per measure and model: its mean, then its difference from the first."""
    records: list[Mapping[str, Any]] = []
    names = {name: f"difference_{name}" for name in ("std_error", *_ENDS)}
    for measure, results in result["measures"].items():
        tests = {test["run"]: test for test in results["differences"]}
        for run, mean in results["means"].items():
            test = tests.get(run, {})
            values = {
                names.get(k, k): v for k, v in {**test, **ends(test)}.items() if k in _OF_TEST
            }
            start = {"measure": measure, "run": run, "baseline": result["baseline"]}
            records.append({**mean, **values, **start})
    columns = ["measure", "run", *_MEAN, *_ENDS, "baseline", "difference", "difference_std_error"]
    return flat([*columns, *_TEST[2:], *(f"difference_{end}" for end in _ENDS)], records)


def _merged_conventions(conventions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the options of all files; sizes that differ become [minimum, maximum]."""
    sizes = {
        name: sorted({n for design in conventions for n in _as_list(design[name])})
        for name in ("n_items", "n_negatives")
    }
    size_ranges = {name: values[:: len(values) - 1 or 1] for name, values in sizes.items()}
    return conventions[0] | {
        key: size_range[0] if len(size_range) == 1 else size_range
        for key, size_range in size_ranges.items()
    }


def _as_list(size: Any) -> list[int]:
    return cast("list[int]", size) if isinstance(size, list) else [size]
