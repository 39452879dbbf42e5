"""What shows estimates from sampled ranks: tables, how to read them, pictures and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from podium.report import estimate_notes as notes
from podium.report import headlines, measured
from podium.report import measured_figures as pictures
from podium.report._types import Figure, Report, Table
from podium.report.cells import change, changes, probability
from podium.report.conventions import listed
from podium.report.renderer import Pictures, Renderer, chosen_measures
from podium.report.tables import Columns, build, ends, flat, texts
from podium.report.views import Numbers, Tables, Text, View
from podium.sampled import SampledComparison, SampledEvaluation

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


class SampledEvaluationRenderer(Renderer[SampledEvaluation]):
    """The estimates of a SampledEvaluation, and how to read them."""

    def parts(self) -> View:
        """Return the estimates, how to read them, and the conventions."""
        result = self.json
        tables = (measured.means_table({**result, "segments": ()}),)
        return _view(tables, notes.of_estimate(result), result["conventions"])

    def table(self) -> Table:
        """Return one row per measure."""
        measures = self.json["measures"].items()
        return flat(["measure", *_FLAT], ({**of, "measure": name} for name, of in measures))

    def numbers(self) -> Numbers:
        """Return the numbers of each estimate, by its measure."""
        return measured.evaluation_numbers(self.json, _OF_MEAN)

    def pictures(self, measure: Any) -> Pictures:
        """Return the estimates, and the curve over k."""
        _, only, names = chosen_measures(self.json["measures"], measure)
        means = {name: {"": estimate} for name, estimate in self.json["measures"].items()}
        curve = pictures.cutoffs(means, names, BOUNDS)
        return {"estimates": pictures.means(self.json, only, BOUNDS), **curve}

    def page(self, titles: Any) -> Report:
        """Return the page of the estimates."""
        first = next(iter(self.json["measures"].values()))
        return {
            **super().page(titles),
            "title": "Estimates for the ranking of all items",
            "status": "open" if headlines.is_determined(first) is False else "",
            "summary": headlines.of_estimate(self.json),
        }


class SampledComparisonRenderer(Renderer[SampledComparison]):
    """The estimates and differences of a SampledComparison, and how to read them."""

    def parts(self) -> View:
        """Return the estimates, the differences and the conventions."""
        tables = (measured.run_means_table(self.json), _differences_table(self.json))
        sentences = notes.of_comparison(self.json, self.result.by_row)
        return _view(tables, sentences, *self.json["conventions"].values())

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
        name, _, names = chosen_measures(self.json["measures"], measure)
        means = {name: estimates["means"] for name, estimates in self.json["measures"].items()}
        return {**self._pictures_of(name), **pictures.cutoffs(means, names, BOUNDS)}

    def _pictures_of(self, measure: str) -> dict[str, Figure]:
        return {
            "differences": pictures.differences(self.json, measure, _DIFFERENCES),
            "estimates": pictures.run_means(self.json, measure, BOUNDS),
        }

    def figures(self) -> list[Figure]:
        """Return the estimates and differences of each measure."""
        every = [self._pictures_of(measure) for measure in self.json["measures"]]
        return [of_measure[kind] for of_measure in every for kind in ("estimates", "differences")]

    def page(self, titles: Any) -> Report:
        """Return the page of the estimates and differences."""
        first = next(iter(self.json["measures"].values()))
        return {
            **super().page(titles),
            "title": f"Estimates of {len(self.json['runs'])} models for the ranking of all items",
            "status": "open" if notes.is_open(first["differences"]) else "",
            "summary": headlines.of_estimates(self.json),
        }


def _view(
    tables: tuple[Table, ...], sentences: Iterable[str], *conventions: Mapping[str, Any]
) -> View:
    """Return tables, how to read them, and the conventions of all models in one line.

    Sizes that differ become [minimum, maximum].
    """
    merged = {name: value for name, value in conventions[0].items() if value is not None}
    for name in ("n_items", "n_negatives"):
        sizes = np.hstack([design[name] for design in conventions])
        ends = [int(sizes.min()), int(sizes.max())]
        merged[name] = ends[0] if ends[0] == ends[1] else ends
    return View((Tables(tables, "Estimates"), Text((" ".join(sentences),))), options=listed(merged))


def _differences_table(result: Mapping[str, Any]) -> Table:
    first = next(measured.tests(result))
    columns: Columns = {
        **texts("measure", "run"),
        "diff.": ("difference", change),
        f"{first['level']:.4g} interval": ("interval", changes),
        "sign right": ("sign_probability", probability),
        **({} if first["bounds"] is None else {"possible": ("bounds", changes)}),
    }
    return build(columns, measured.tests(result))
