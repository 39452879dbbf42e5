"""What shows an Evaluation and a Comparison: their tables, pictures and pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from podium._text import counted
from podium.evaluation import Comparison, Evaluation
from podium.metrics import parse
from podium.report import details, headlines, measured
from podium.report import measured_figures as pictures
from podium.report._types import Figure, Report, Section, Table
from podium.report.audit import remarks
from podium.report.conventions import conventions_line
from podium.report.details import worst_served
from podium.report.headlines import best_first
from podium.report.measured import of_unjudged
from podium.report.renderer import Pictures, Renderer, chosen_measures
from podium.report.tables import flat
from podium.report.views import Numbers, Tables, Text, View

_MOST_RUNS = 6  # in curves
_ENDS = ("std_error", "low", "high", "level")
_SUMMARY = ("mean", *_ENDS, "n_groups", "n_undefined")
_TEST = ("difference", *_ENDS, *measured.TESTS, "n_undefined")
_UNJUDGED = ("low", "high", "can_reverse", "n_labels")


class EvaluationRenderer(Renderer[Evaluation]):
    """The means of an Evaluation, with its conventions."""

    def parts(self) -> View:
        """Return the means and the conventions."""
        result = self.json
        means = [summary for _, _, _, summary in measured.summaries(result)]
        ties = measured.ties_notes(result["measures"].items())
        legend = (*measured.undefined_note(result, means), *ties)
        note = measured.without_segments(result)
        parts = (
            Tables((measured.means_table(result),), "Measures"),
            *([Text((note,))] if note else []),
        )
        return View(parts, legend, options=conventions_line(result["conventions"]))

    def table(self) -> Table:
        """Return one row per segment and measure."""
        names = ["by", "segment", "measure", *_SUMMARY]
        names += ["unjudged_low", "unjudged_high"] if measured.has_bounds(self.json) else []
        records = (
            {"by": by, "segment": name, "measure": measure, **summary, **of_unjudged(summary)}
            for by, name, measure, summary in measured.summaries(self.json)
        )
        return flat(names, records)

    def numbers(self) -> Numbers:
        """Yield the numbers of each mean: ``ndcg@10``, in a segment ``n_pos 1/ndcg@10``."""
        return measured.evaluation_numbers(self.json)

    def pictures(self, measure: Any) -> Pictures:
        """Return the means, the distribution over users, the segments and the curve over k."""
        evaluation, result = self.result, self.json
        _, only, names = chosen_measures(result["measures"], measure)
        shown: dict[str, Any] = {"means": pictures.means(result, only)}
        per_user = next((name for name in names if parse(name).metric.is_mean), None)
        if per_user:
            shown["distribution"] = partial(pictures.distribution, evaluation, per_user)
            shown |= {f"by {by}": figure for by, figure in pictures.segments(result, per_user)}
        summaries = {name: {"": summary} for name, summary in result["measures"].items()}
        return {**shown, **pictures.cutoffs(summaries, names)}

    def page(self, titles: Any) -> Report:
        """Return the page: means, segments, curves and the worst-served users."""
        everyone, base = {"": self.result}, super().page(titles)
        sections = (
            *base.get("sections", ()),
            *_segments(self.json, self.result.measures),
            *_curves(everyone, self.result.measures),
            *_users(everyone, "", titles),
        )
        summary = headlines.of_evaluation(self.json)
        title = "Quality at the top of the list"
        return {**base, "title": title, "summary": summary, "sections": sections}


class ComparisonRenderer(Renderer[Comparison]):
    """The means and tests of a Comparison, with how to read them."""

    def parts(self) -> View:
        """Return the means, the tests, who gains, and the conventions."""
        result = self.json
        tables = (
            measured.run_means_table(result),
            measured.differences_table(result),
            measured.wins_table(result),
        )
        last = " ".join(measured.tests_notes(result))
        means = [*measured.means(result)]
        ties = measured.ties_notes((f"{m['measure']} of {m['run']}", m) for m in means)
        legend = (measured.BOLD, *measured.undefined_note(result, means), *ties)
        options = conventions_line(result["conventions"])
        return View((Tables(tables), Text((last,))), legend, tuple(remarks(result)), options)

    def table(self) -> Table:
        """Return one row per segment, measure, run and test.

        A row has the run's mean, its letters, and its test against a baseline. A run without a test
        has one row.
        """
        records: list[Mapping[str, Any]] = []
        for by, name, measure, results in measured.comparisons(self.json):
            for run, summary in results["means"].items():
                start = {"by": by, "segment": name, "measure": measure, "run": run}
                start |= {"mean": summary["mean"], "letters": results.get("letters", {}).get(run)}
                tests = [test for test in results["differences"] if test["run"] == run]
                records += [{**test, **of_unjudged(test), **start} for test in tests or [start]]
        names = ["by", "segment", "measure", "run", "mean", "letters", "baseline", *_TEST]
        unjudged = _UNJUDGED if measured.has_unjudged(self.json) else ()
        return flat([*names, *(f"unjudged_{name}" for name in unjudged)], records)

    def numbers(self) -> Numbers:
        """Yield the numbers of each mean, ``run/ndcg@10``, and test, ``run - baseline/ndcg@10``."""
        return measured.comparison_numbers(self.json)

    def pictures(self, measure: Any) -> Pictures:
        """Return the differences, means, gains, segments and curves over k."""
        result = self.json
        name, _, names = chosen_measures(result["measures"], measure)
        shown: dict[str, Any] = self._pictures_of(name)
        if parse(name).metric.is_mean:
            other = self._best_other(name)
            shown["gains"] = partial(pictures.gains, self.result, name, other)
            shown |= {f"by {by}": figure for by, figure in pictures.segments(result, name)}
        means = {name: tested["means"] for name, tested in result["measures"].items()}
        return {**shown, **pictures.cutoffs(means, names)}

    def _pictures_of(self, measure: str) -> dict[str, Figure]:
        return {
            "differences": pictures.differences(self.json, measure),
            "means": pictures.run_means(self.json, measure),
        }

    def figures(self) -> list[Figure]:
        """Return the means of each measure, then their differences."""
        every = [self._pictures_of(measure) for measure in self.json["measures"]]
        return [of_measure[kind] for kind in ("means", "differences") for of_measure in every]

    def page(self, titles: Any) -> Report:
        """Return the page: means, tests, gains, curves, and those whom the best run serves worst.

        Each run has the same colour in all figures.
        """
        result = self.json
        against = "" if result["pairs"] == "all" else f", compared with {result['baseline']}"
        best = headlines.lead(next(iter(result["measures"].values())))
        base = super().page(titles)
        return {
            **base,
            "title": f"{len(result['runs'])} runs{against}",
            "status": "good" if best and best.is_proven else "open",
            "summary": [*headlines.of_comparison(result), *base.get("summary", ())],
            "sections": [*base.get("sections", ()), *self._details(titles)],
        }

    def _details(self, titles: Any) -> Iterator[Section]:
        """Yield the sections on users, by the first measure that is a mean over users."""
        evaluations, baseline = self.result.evaluations, self.result.baseline
        measure = next(iter(evaluations[baseline].per_group()), None)
        best = [] if measure is None else [*best_first(self.json["measures"][measure])]
        if measure is None or not best:
            return
        other = self._best_other(measure)
        yield self._gains(measure, other)
        yield from _segments(self.json, [measure])
        leaders = {baseline, *best[: _MOST_RUNS - 1]}
        drawn = {run: e for run, e in evaluations.items() if run in leaders}
        n_more = len(evaluations) - len(drawn)
        yield from _curves(drawn, evaluations[baseline].measures, n_more)
        pair = {run: evaluations[run] for run in (baseline, other)}
        yield from _users(pair, best[0], titles)

    def _gains(self, measure: str, run: str) -> Section:
        """Return the section on who gains and who loses with a run instead of the baseline."""
        test = self.result.difference(measure, run).test
        counts = (test.wins, test.losses, test.equal)
        n = max(sum(counts), 1)
        better, worse, equal = (f"{counted(c, 'users')} ({100 * c / n:.0f} %)" for c in counts)
        text = (
            f"With {run} instead of {self.result.baseline}, {measure} is better for {better}, "
            f"worse for {worse}, and equal for {equal}."
        )
        figures = [pictures.gains(self.result, measure, run)]
        return {"title": "Who gains, who loses", "text": text, "figures": figures}

    def _best_other(self, measure: str) -> str:
        """Return the best run that is not the baseline; the first one if all are undefined."""
        best = best_first(self.json["measures"][measure])
        runs = (*best, *self.result.evaluations)
        return next(run for run in runs if run != self.result.baseline)


def _segments(result: Mapping[str, Any], measures: Iterable[str]) -> Iterator[Section]:
    """Yield a section for each division of the users, with a figure for each measure."""
    by_division: dict[str, list[Figure]] = {}
    for measure in measures:
        for by, figure in pictures.segments(result, measure):
            by_division.setdefault(by, []).append(figure)
    for by, figures in by_division.items():
        yield {"title": f"By {by}", "figures": figures}


def _curves(
    evaluations: Mapping[str, Evaluation], measures: Sequence[str], n_more: int = 0
) -> Iterator[Section]:
    """Yield a section with the mean of each measure at several cutoffs."""
    curves = details.curves(evaluations, measures)
    if curves:
        text = "The mean of each measure, if the list is cut after k items."
        if n_more:
            text += f" The best runs and the baseline are shown; {n_more} others are not."
        n_users = next(iter(curves.values())).get("n_users")
        if n_users is not None:
            text += (
                f" The tables are on disk: these are the means of {n_users:,} users, at equal "
                "distances in the order of ids."
            )
        figures = [pictures.curve(name, curve) for name, curve in curves.items()]
        yield {"title": "Measures at other cutoffs", "text": text, "figures": figures}


def _users(evaluations: Mapping[str, Evaluation], run: str, titles: Any) -> Iterator[Section]:
    """Yield a section with the users whom a run serves worst, and their lists."""
    served = worst_served(evaluations, run, titles)
    if not served or not served["users"]:
        return
    measure = served["measure"]
    of_run = f" by {run}" if run else ""
    worst = "lowest" if served["higher_is_better"] else "highest"
    text = (
        f"The users with the {worst} {measure}{of_run}; among equal ones, those with the most "
        "relevant items. Users without a list are left out. Relevant items are marked."
    )
    yield {"title": "Worst-served users", "text": text, "lists": served["users"]}
