"""The JSON of estimates from sampled ranks as tables, paragraphs and named numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from podium.report import estimate_notes as notes
from podium.report import headlines, measured, pages
from podium.report._types import Report, Section, Table
from podium.report.cells import change, changes, number, probability, span
from podium.report.pictures import estimated
from podium.report.tables import Columns, build, ends, flat, once, texts
from podium.report.views import Forms, Numbers, Tables, Text, View

_ENDS = ("low", "high", "lowest", "highest")
_FLAT = (
    *("mean", "std_error", "low", "high", "level", "n_groups", "n_undefined", "method", "biased"),
    *("interval_of", "error_from", "lowest", "highest", "prior_decides", "order_assumed"),
)
_OF_RUN = [name for name in _FLAT if name not in (*_ENDS, "n_undefined")]
_TEST = ("difference", "std_error", "sign_probability", "either_sign", *_ENDS)
_OF_MEAN = ("std_error", "n_groups", *_ENDS)


def estimate_view(result: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> View:
    """Return the estimates of a SampledEvaluation's JSON form, and how to read them.

    Parameters
    ----------
    result : dict
    given : dict, optional
        The options of the command, which the conventions of the result do not all contain.
    """
    tables = Tables((_estimate_table(result),))
    return _view(tables, notes.of_estimate(result), result["conventions"], given or {})


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
    tables = Tables((_means_table(result), _differences_table(result)))
    return _view(tables, notes.of_comparison(result, by_row), conventions, given or {})


def _view(
    tables: Tables, sentences: Iterable[str], design: Mapping[str, Any], given: Mapping[str, Any]
) -> View:
    text = " ".join([*sentences, *notes.about_sizes(design, given)])
    return View((tables, Text((f"{text}\n{notes.options(design, given)}",))))


def estimate_page(result: Mapping[str, Any]) -> Report:
    """Return the page of a SampledEvaluation's JSON form."""
    first = next(iter(result["measures"].values()))
    status = "open" if headlines.is_determined(first) is False else ""
    section: Section = {
        "title": "Estimates",
        "figures": [estimated.estimates(result)],
        "tables": [pages.complete(_estimate_table(result))],
        "notes": [*notes.of_estimate(result)],
    }
    title, summary = "Estimates for the ranking of all items", headlines.of_estimate(result)
    return pages.of_section(result, title, status, summary, section)


def comparison_page(result: Mapping[str, Any], *, by_row: bool = False) -> Report:
    """Return the page of a SampledComparison's JSON form; see `comparison_view`."""
    first = next(iter(result["measures"].values()))
    status = "open" if notes.is_open(first["differences"]) else ""
    of_measures = (estimated.run_differences(result, name) for name in result["measures"])
    section: Section = {
        "title": "Estimates",
        "figures": [estimated.run_estimates(result), *of_measures],
        "tables": [
            pages.complete(_means_table(result), "Means"),
            pages.complete(_differences_table(result), "Differences"),
        ],
        "notes": [*notes.of_comparison(result, by_row)],
    }
    title = f"Estimates of {len(result['runs'])} models for the ranking of all items"
    merged = {"conventions": _merged_conventions([*result["conventions"].values()])}
    return pages.of_section(merged, title, status, headlines.of_estimates(result), section)


def estimate_numbers(result: Mapping[str, Any]) -> Numbers:
    """Return the numbers of each estimate, by its measure."""
    return measured.evaluation_numbers(result, _OF_MEAN)


def comparison_numbers(result: Mapping[str, Any]) -> Numbers:
    """Return the numbers of each estimate, ``run/ndcg@10``, and difference, ``b - a/ndcg@10``."""
    of_test = ("std_error", "sign_probability", *_ENDS)
    return measured.comparison_numbers(result, _OF_MEAN, of_test)


def _estimate_table(result: Mapping[str, Any]) -> Table:
    return build({**texts("measure"), **_columns(result)}, _by_measure(result))


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
    columns = {**texts("measure", "run"), **_columns(result)}
    return once(build(columns, measured.means(result)), "measure")


def _differences_table(result: Mapping[str, Any]) -> Table:
    first = next(measured.tests(result))
    columns: Columns = {
        **texts("measure", "run"),
        "diff.": ("difference", change),
        f"{first['level']:.4g} interval": ("interval", changes),
        "sign right": ("sign_probability", probability),
        **({} if first["bounds"] is None else {"possible": ("bounds", changes)}),
    }
    return once(build(columns, measured.tests(result)), "measure")


def comparison_table(result: Mapping[str, Any]) -> Table:
    """Return a row per measure and model: its mean, then its difference from the first."""
    doubled = ("std_error", *_ENDS)  # names that a mean has as well
    names = {name: f"difference_{name}" if name in doubled else name for name in _TEST}
    tests = {(test["measure"], test["run"]): test for test in measured.tests(result)}
    records: list[Mapping[str, Any]] = []
    for mean in measured.means(result):
        test = tests.get((mean["measure"], mean["run"]), {})
        values = {**test, **ends(test)}
        of_test = {name: values.get(field) for field, name in names.items()}
        records.append({**mean, **of_test, "baseline": result["baseline"]})
    return flat(["measure", "run", *_OF_RUN, *_ENDS, "baseline", *names.values()], records)


ESTIMATE = Forms(estimate_view, estimate_table, estimate_numbers)
COMPARISON = Forms(comparison_view, comparison_table, comparison_numbers)


def _merged_conventions(conventions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the options of all files; sizes that differ become [minimum, maximum]."""
    merged = dict(conventions[0])
    for name in ("n_items", "n_negatives"):
        sizes = {*np.hstack([design[name] for design in conventions]).tolist()}
        merged[name] = min(sizes) if len(sizes) == 1 else [min(sizes), max(sizes)]
    return merged
