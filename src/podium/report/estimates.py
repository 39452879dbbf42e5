"""What shows estimates from sampled ranks: tables, how to read them, pictures and pages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from podium.report import estimate_notes as notes
from podium.report import headlines, measured, measured_figures, pages
from podium.report._types import Figure, Report, Section, Table
from podium.report.cells import change, changes, number, percentage, probability, span
from podium.report.figures import differences, grouped, interval_row, intervals, panel
from podium.report.renderer import Pictures, Renderer, chosen_measures
from podium.report.tables import Columns, build, ends, flat, once, texts
from podium.report.views import Numbers, Tables, Text, View
from podium.sampled import SampledComparison, SampledEvaluation

R = TypeVar("R", SampledEvaluation, SampledComparison)

BOUNDS = "all values that the observed ranks allow"
_DIFFERENCES = "all differences that the observed ranks allow"
_ENDS = ("low", "high", "lowest", "highest")
_FLAT = (
    *("mean", "std_error", "low", "high", "level", "n_groups", "n_undefined", "method", "biased"),
    *("interval_of", "error_from", "lowest", "highest", "prior_decides", "order_assumed"),
)
_OF_RUN = [name for name in _FLAT if name not in (*_ENDS, "n_undefined")]
_TEST = ("difference", "std_error", "sign_probability", "either_sign", *_ENDS)
_OF_MEAN = ("std_error", "n_groups", *_ENDS)


class _EstimatesRenderer(Renderer[R]):
    """What estimates of one and of several models have in common.

    Parameters
    ----------
    result : SampledEvaluation or SampledComparison
    given : dict, optional
        The options of the command, which the conventions of the result do not all contain.
    """

    def __init__(self, result: R, given: Mapping[str, Any] | None = None) -> None:
        super().__init__(result)
        self.given = given or {}

    def view_of(self, tables: tuple[Table, ...], sentences: Iterable[str]) -> View:
        """Return tables, how to read them, and the options that reproduce them."""
        design = self.conventions()
        text = " ".join([*sentences, *notes.about_sizes(design, self.given)])
        return View((Tables(tables), Text((f"{text}\n{notes.options(design, self.given)}",))))

    @abstractmethod
    def conventions(self) -> dict[str, Any]:
        """Return the method and the design of the samples."""


class SampledEvaluationRenderer(_EstimatesRenderer[SampledEvaluation]):
    """The estimates of a SampledEvaluation, and how to read them."""

    def conventions(self) -> dict[str, Any]:
        """Return the method and the design of the samples."""
        return self.json["conventions"]

    def parts(self) -> View:
        """Return the estimates and their conventions."""
        return self.view_of((_estimate_table(self.json),), notes.of_estimate(self.json))

    def table(self) -> Table:
        """Return one row per measure."""
        return flat(["measure", *_FLAT], _by_measure(self.json))

    def numbers(self) -> Numbers:
        """Return the numbers of each estimate, by its measure."""
        return measured.evaluation_numbers(self.json, _OF_MEAN)

    def pictures(self, measure: Any) -> Pictures:
        """Return the estimates, and the curve over k."""
        _, only, names = chosen_measures(self.json["measures"], measure)
        means = {name: {"": estimate} for name, estimate in self.json["measures"].items()}
        curve = _cutoffs(means, names)
        return {"estimates": _estimates(self.json, only), **curve}

    def page(self, titles: Any) -> Report:
        """Return the page of the estimates."""
        result = self.json
        first = next(iter(result["measures"].values()))
        status = "open" if headlines.is_determined(first) is False else ""
        section: Section = {
            "title": "Estimates",
            "figures": [_estimates(result)],
            "tables": [pages.complete(_estimate_table(result))],
            "notes": [*notes.of_estimate(result)],
        }
        title, summary = "Estimates for the ranking of all items", headlines.of_estimate(result)
        return pages.of_section(result, title, status, summary, section)


class SampledComparisonRenderer(_EstimatesRenderer[SampledComparison]):
    """The estimates and differences of a SampledComparison, and how to read them."""

    def conventions(self) -> dict[str, Any]:
        """Return the options of all files; sizes that differ become [minimum, maximum]."""
        conventions = [*self.json["conventions"].values()]
        merged = dict(conventions[0])
        for name in ("n_items", "n_negatives"):
            sizes = {*np.hstack([design[name] for design in conventions]).tolist()}
            merged[name] = min(sizes) if len(sizes) == 1 else [min(sizes), max(sizes)]
        return merged

    def _notes(self) -> Iterable[str]:
        return notes.of_comparison(self.json, self.result.by_row)

    def parts(self) -> View:
        """Return the estimates, the differences and the conventions."""
        tables = (_means_table(self.json), _differences_table(self.json))
        return self.view_of(tables, self._notes())

    def table(self) -> Table:
        """Return a row per measure and model: its mean, then its difference from the first."""
        result = self.json
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

    def numbers(self) -> Numbers:
        """Return the numbers of each estimate and difference, by runs and measure."""
        of_test = ("std_error", "sign_probability", *_ENDS)
        return measured.comparison_numbers(self.json, _OF_MEAN, of_test)

    def pictures(self, measure: Any) -> Pictures:
        """Return the differences, the estimates, and the curve over k."""
        result = self.json
        name, only, names = chosen_measures(result["measures"], measure)
        means = {name: estimates["means"] for name, estimates in result["measures"].items()}
        return {
            "differences": _run_differences(result, name),
            "estimates": _run_estimates(result, only),
            **_cutoffs(means, names),
        }

    def page(self, titles: Any) -> Report:
        """Return the page of the estimates and differences."""
        result = self.json
        first = next(iter(result["measures"].values()))
        status = "open" if notes.is_open(first["differences"]) else ""
        of_measures = (_run_differences(result, name) for name in result["measures"])
        section: Section = {
            "title": "Estimates",
            "figures": [_run_estimates(result), *of_measures],
            "tables": [
                pages.complete(_means_table(result), "Means"),
                pages.complete(_differences_table(result), "Differences"),
            ],
            "notes": [*self._notes()],
        }
        title = f"Estimates of {len(result['runs'])} models for the ranking of all items"
        merged, summary = {"conventions": self.conventions()}, headlines.of_estimates(result)
        return pages.of_section(merged, title, status, summary, section)


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


def _estimates(result: Mapping[str, Any], measure: str = "") -> Figure:
    """Return the estimates of a SampledEvaluation's JSON form."""
    rows = {name: e for name, e in result["measures"].items() if measure in ("", name)}
    level = next(iter(result["measures"].values()))["level"]
    drawn = (interval_row(name, estimate) for name, estimate in rows.items())
    return intervals(f"Estimates, with {percentage(level)} intervals", drawn, bounds_label=BOUNDS)


def _run_estimates(result: Mapping[str, Any], measure: str = "") -> Figure:
    """Return the estimates of a SampledComparison's JSON form: one panel per measure."""
    measures = {n: m["means"] for n, m in result["measures"].items() if measure in ("", n)}
    panels = [panel(name, means, means) for name, means in measures.items()]
    first = next(iter(next(iter(result["measures"].values()))["means"].values()))
    title = f"Estimates, with {percentage(first['level'])} intervals"
    return grouped(title, panels, BOUNDS)


def _run_differences(result: Mapping[str, Any], measure: str) -> Figure:
    """Return the differences in one measure of a SampledComparison's JSON form."""
    tests = result["measures"][measure]["differences"]
    sides = result["baseline"], "the run" if len(tests) > 1 else tests[0]["run"]
    title = f"{measure}: difference from {sides[0]}, with {percentage(tests[0]['level'])} intervals"
    return differences(title, sides, [(t["run"], t, t["run"]) for t in tests], _DIFFERENCES)


def _cutoffs(
    means: Mapping[str, Mapping[str, Mapping[str, Any]]], measures: Iterable[str]
) -> dict[str, Figure]:
    """Return the picture of the first metric that was estimated at several cutoffs, if any is.

    Parameters
    ----------
    means : dict of measure to dict of run to estimate
    measures : iterable of str
        The measures whose metrics are tried in turn.
    """
    figures = (measured_figures.cutoffs(means, name, BOUNDS) for name in measures)
    figure = next(filter(None, figures), None)
    return {} if figure is None else {"cutoffs": figure}
