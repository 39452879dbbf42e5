"""What shows an Evaluation and a Comparison: their tables, pictures and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from podium._text import counted
from podium.evaluation import Comparison, Evaluation
from podium.metrics import parse
from podium.report import details, headlines, measured
from podium.report import measured_figures as pictures
from podium.report._types import Figure, Lists, Report, Section, Table
from podium.report.audit import remarks
from podium.report.cells import dashes, number
from podium.report.conventions import conventions_line
from podium.report.details import worst_served
from podium.report.headlines import best_first
from podium.report.measured import of_unjudged
from podium.report.pages import complete, conventions, without_empty_segments
from podium.report.renderer import Pictures, Renderer, chosen_measures
from podium.report.tables import flat
from podium.report.views import Numbers, Tables, Text, View

_MOST_FACTS = 6
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
        note = measured.without_segments(result) + conventions_line(result["conventions"])
        means = [summary for _, _, _, summary in measured.summaries(result)]
        tables = Tables((measured.means_table(result),))
        return View((tables, Text((note,))), measured.undefined_note(result, means))

    def table(self) -> Table:
        """Return one row per segment and measure."""
        names = ["by", "segment", "measure", *_SUMMARY]
        names += ["unjudged_low", "unjudged_high"] if measured.has_bounds(self.json) else []
        records = (
            {
                "by": by,
                "segment": name,
                "measure": measure,
                **summary,
                **of_unjudged(summary),
            }
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
        shown: dict[str, Any] = {"means": pictures.means(result, measure=only)}
        per_user = next((name for name in names if parse(name).metric.is_mean), None)
        if per_user:
            shown["distribution"] = partial(_distribution, evaluation, per_user)
            shown |= {f"by {by}": figure for by, figure in pictures.segments(result, only)}
        summaries = {name: {"": summary} for name, summary in result["measures"].items()}
        return {**shown, **_cutoffs(summaries, names, lambda _: {"": evaluation})}

    def page(self, titles: Any) -> Report:
        """Return the page: means, segments, curves and the worst-served users."""
        evaluation, everyone = self.result, {"": self.result}
        result, empty = without_empty_segments(self.json)
        measures = [*result["measures"].items()][:_MOST_FACTS]
        return {
            "title": "Quality at the top of the list",
            "summary": headlines.of_evaluation(result),
            "facts": {name: number(summary["mean"]) for name, summary in measures},
            "sections": [
                _evaluation_means(result, empty),
                *({"title": f"By {by}", "figures": [f]} for by, f in pictures.segments(result)),
                *_curves(everyone, evaluation.measures),
                *_users(everyone, "", titles),
            ],
            "conventions": conventions(result),
        }


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
        notes = " ".join(measured.tests_notes(result))
        last = (*remarks(result), f"{notes}\n{conventions_line(result['conventions'])}")
        legend = (measured.BOLD, *measured.undefined_note(result, [*measured.means(result)]))
        return View((Tables(tables), Text(last)), legend)

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
        has_ranges = self.json["conventions"].get("unjudged") == "bounds"
        return flat([*names, *(f"unjudged_{n}" for n in _UNJUDGED if has_ranges)], records)

    def numbers(self) -> Numbers:
        """Yield the numbers of each mean, ``run/ndcg@10``, and test, ``run - baseline/ndcg@10``."""
        return measured.comparison_numbers(self.json)

    def pictures(self, measure: Any) -> Pictures:
        """Return the differences, means, gains, segments and curves over k."""
        comparison, result = self.result, self.json
        name, only, names = chosen_measures(result["measures"], measure)
        shown: dict[str, Any] = {
            "differences": pictures.differences(result, name),
            "means": pictures.run_means(result, measure=only),
        }
        if parse(name).metric.is_mean:
            shown["gains"] = lambda: pictures.gains(
                details.gains(comparison, name, self._best_other(name))
            )
            shown |= {f"by {by}": figure for by, figure in pictures.run_segments(result, name)}
        means = {name: tested["means"] for name, tested in result["measures"].items()}
        return {**shown, **_cutoffs(means, names, self._leaders)}

    def page(self, titles: Any) -> Report:
        """Return the page: means, tests, gains, curves, and those whom the best run serves worst.

        Each run has the same colour in all figures.
        """
        result, empty = without_empty_segments(self.json)
        measures = result["measures"]
        against = "" if result["pairs"] == "all" else f", compared with {result['baseline']}"
        best = headlines.lead(*next(iter(measures.items())))
        return {
            "title": f"{len(result['runs'])} runs{against}",
            "status": "good" if best and best.is_proven else "open",
            "summary": headlines.of_comparison(result) + remarks(result),
            "sections": [
                _run_means(result, empty),
                *(_differences(result, name) for name in measures),
                *self._details(titles),
            ],
            "conventions": conventions(result),
        }

    def _details(self, titles: Any) -> Iterator[Section]:
        """Yield the sections on users, by the first measure that is a mean over users."""
        evaluations, baseline = self.result.evaluations, self.result.baseline
        measure = next(iter(evaluations[baseline].per_group()), None)
        best = [] if measure is None else [*best_first(self.json["measures"][measure])]
        other = next((run for run in best if run != baseline), None)
        if measure is None or other is None:
            return
        yield _gains(details.gains(self.result, measure, other))
        leaders = self._leaders(measure)
        n_left_out = len(evaluations) - len(leaders)
        yield from _curves(leaders, evaluations[baseline].measures, n_left_out)
        pair = {run: evaluations[run] for run in (baseline, other)}
        yield from _users(pair, best[0], titles)

    def _leaders(self, measure: str) -> dict[str, Evaluation]:
        """Return the baseline and the best runs by a measure, in their order."""
        best = [*best_first(self.json["measures"][measure])][: _MOST_RUNS - 1]
        runs = self.result.evaluations.items()
        return {run: e for run, e in runs if run in (self.result.baseline, *best)}

    def _best_other(self, measure: str) -> str:
        """Return the best run that is not the baseline; the first one if all are undefined."""
        best = best_first(self.json["measures"][measure])
        runs = (*best, *self.result.evaluations)
        return next(run for run in runs if run != self.result.baseline)


def _distribution(evaluation: Evaluation, measure: str) -> Figure:
    return pictures.distribution(measure, details.histogram(evaluation, measure))


def _cutoffs(
    means: Mapping[str, Mapping[str, Any]],
    names: Iterable[str],
    leaders: Callable[[str], Mapping[str, Evaluation]],
) -> Pictures:
    """Return the curve over cutoffs, if several were measured or the lists are known.

    `leaders` returns the evaluations that are drawn, from the name of a measure.
    """
    for name in names:
        figure = pictures.cutoffs(means, name, pictures.UNJUDGED)
        if figure is not None:
            return {"cutoffs": figure}
        drawn = leaders(name)
        if all(details.has_curve(parse(name), e) for e in drawn.values()):
            return {"cutoffs": partial(_curve, drawn, name)}
    return {}


def _curve(evaluations: Mapping[str, Evaluation], measure: str) -> Figure:
    curves = details.curves(evaluations, [measure])
    no_curve: dict[str, Any] = {"k": [], "means": {}}  # no cutoff that all lists reach
    return pictures.curve(*next(iter(curves.items()), (measure, no_curve)))


def _evaluation_means(result: Mapping[str, Any], empty: Sequence[str]) -> Section:
    table = complete(measured.means_table(result))
    figure = pictures.means(result)
    means = [summary for *_, summary in measured.summaries(result)]
    without = measured.without_segments(result).strip()
    ties = measured.ties_notes(result["measures"].items())
    notes = [without, *empty, *measured.undefined_note(result, means), *ties, *dashes([table])]
    figures = [figure] if figure["rows"] else []
    return {"title": "Measures", "figures": figures, "tables": [table], "notes": notes}


def _run_means(result: Mapping[str, Any], empty: Sequence[str]) -> Section:
    figure = pictures.run_means(result)
    table = complete(measured.run_means_table(result))
    means = [*measured.means({**result, "segments": []})]
    bold = [measured.BOLD] if table.get("highlight") else []
    ties = measured.ties_notes((f"{m['measure']} of {m['run']}", m) for m in means)
    notes = [*bold, *empty, *measured.undefined_note(result, means), *ties, *dashes([table])]
    return {"title": "Means", "figures": [figure], "tables": [table], "notes": notes}


def _differences(result: Mapping[str, Any], measure: str) -> Section:
    """Return the tests of one measure, over all users and in segments."""
    parts = [part for part in (result, *result["segments"]) if measure in part["measures"]]
    everyone, *segments = ({**p, "measures": {measure: p["measures"][measure]}} for p in parts)
    of_measure = {**everyone, "segments": segments}
    in_order = enumerate(measured.tests(of_measure))
    bold = [i for i, test in in_order if headlines.is_significant(test)]
    first = result["measures"][measure]["differences"][0]
    of_tests = {**measured.differences_table(of_measure), "highlight": [(i, 2) for i in bold]}
    leave_out = "" if segments else "measure"
    of_wins = measured.wins_table(of_measure)
    tables = [
        complete(of_tests, "Paired tests", leave_out),
        complete(of_wins, "Wins, losses and the size of effects", leave_out),
    ]
    notes = [f"Bold: p Holm is at most {headlines.alpha(first):g}."] if bold else []
    if measure == next(iter(result["measures"])):
        notes += measured.tests_notes(result)
    notes += dashes(tables)
    title, figures = f"Differences in {measure}", [pictures.differences(result, measure)]
    return {"title": title, "figures": figures, "tables": tables, "notes": notes}


def _curves(
    evaluations: Mapping[str, Evaluation], measures: Sequence[str], n_left_out: int = 0
) -> Iterator[Section]:
    """Yield a section with the mean of each measure at several cutoffs."""
    curves = details.curves(evaluations, measures)
    if curves:
        text = "The mean of each measure, if the list is cut after k items."
        n_users = next(iter(curves.values())).get("n_users")
        if n_users is not None:
            text += (
                f" The tables are on disk: these are the means of {n_users:,} users, at equal "
                "distances in the order of ids."
            )
        if n_left_out:
            text += f" The best runs and the baseline are shown; {n_left_out} others are not."
        figures = [pictures.curve(name, curve) for name, curve in curves.items()]
        yield {"title": "Measures at other cutoffs", "text": text, "figures": figures}


def _gains(gain: Mapping[str, Any]) -> Section:
    """Return the section on who gains and who loses with a run instead of the baseline."""
    drawn = [pictures.gains, *([pictures.gains_by_segment] if gain["segments"] else [])]
    figures = [picture(gain) for picture in drawn]
    return {"title": "Who gains, who loses", "text": _counts(gain), "figures": figures}


def _counts(gain: Mapping[str, Any]) -> str:
    counts = [gain[name] for name in ("wins", "losses", "equal")]
    n = max(sum(counts), 1)
    better, worse, equal = (f"{counted(c, 'users')} ({100 * c / n:.0f} %)" for c in counts)
    return (
        f"With {gain['run']} instead of {gain['baseline']}, {gain['measure']} is better for "
        f"{better}, worse for {worse}, and equal for {equal}."
    )


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
        "relevant items. Relevant items are marked."
    )
    if n := served["n_without_list"]:
        text += f" {counted(n, 'users')} without a list {'is' if n == 1 else 'are'} left out."
    cards = [_card(user, measure) for user in served["users"]]
    yield {"title": "Worst-served users", "text": text, "lists": cards}


def _card(user: Mapping[str, Any], measure: str) -> Lists:
    values = ", ".join(f"{run} {number(v)}" if run else number(v) for run, v in user["values"])
    n = int(user["n_pos"])
    return {
        "title": f"User {user['user']}",
        "note": f"{measure}: {values} · {counted(n, 'relevant items')}",
        "lists": dict(user["lists"]),
        "after": _missed(user["missed"], user["n_missed"]),
    }


def _missed(titles: Sequence[str], n: int) -> str:
    if not n:
        return ""
    more = f" and {n - len(titles):,} more" if n > len(titles) else ""
    return f"Relevant, not shown: {', '.join(titles)}{more}"
