"""Conversion of the JSON of an evaluation or a comparison to a report's dictionary.

The details are a plain dictionary with curves, gains and losses, and users; see
`podium.evaluation.details`. All keys are optional.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium._text import counted
from podium.report import headlines, measured
from podium.report._types import Lists, Report, Section
from podium.report.cells import dashes, number
from podium.report.pages import complete, conventions, without_empty_segments
from podium.report.pictures import measured as pictures

_MOST_FACTS = 6


def evaluation_report(
    evaluation: Mapping[str, Any], details: Mapping[str, Any] | None = None
) -> Report:
    """Return the report of the JSON object of ``podium measure``.

    Parameters
    ----------
    evaluation : mapping
        A mapping with "measures", "segments" and optionally "conventions"
        (docs/schemas/evaluation.json).
    details : mapping, optional
        Distributions, curves and users, in the form of `podium.evaluation.details`.

    Returns
    -------
    Report
        A dictionary for `podium.report.render`.

    Examples
    --------
    >>> summary = {"mean": 0.5, "std_error": 0.1, "interval": [0.3, 0.7], "level": 0.95}
    >>> measures = {"pap@10": {**summary, "n_groups": 9, "n_undefined": 1}}
    >>> report = evaluation_report({"measures": measures, "segments": []})
    >>> report["summary"][0].partition(", with")[0]
    'Mean pap@10 is 0.5000 over 9 users'
    """
    result, empty = without_empty_segments({"segments": [], "conventions": {}, **evaluation})
    measures, more = result["measures"], details or {}
    distributions = [pictures.distribution(*item) for item in more.get("histograms", {}).items()]
    return {
        "title": "Quality at the top of the list",
        "summary": headlines.of_evaluation(result),
        "facts": {name: number(s["mean"]) for name, s in [*measures.items()][:_MOST_FACTS]},
        "sections": [
            *_evaluation_means(result, empty),
            *({"title": f"By {by}", "figures": [f]} for by, f in pictures.segments(result)),
            *([{"title": "Distributions", "figures": distributions}] if distributions else []),
            *_curves(more),
            *_users(more),
        ],
        "conventions": conventions(result),
    }


def _evaluation_means(result: Mapping[str, Any], empty: Sequence[str]) -> Iterator[Section]:
    if not result["measures"]:
        return
    table = complete(measured.means_table(result))
    figure = pictures.means(result)
    means = [summary for *_, summary in measured.summaries(result)]
    without = measured.without_segments(result).strip()
    ties = measured.ties_notes(result["measures"].items())
    notes = [without, *empty, *measured.undefined_note(result, means), *ties, *dashes([table])]
    figures = [figure] if figure["rows"] else []
    yield {"title": "Measures", "figures": figures, "tables": [table], "notes": notes}


def comparison_report(
    comparison: Mapping[str, Any], details: Mapping[str, Any] | None = None
) -> Report:
    """Return the report of the JSON object of ``podium compare``.

    Parameters
    ----------
    comparison : mapping
        A mapping with "runs", "baseline", "measures" and optionally "conventions"
        (docs/schemas/comparison.json).
    details : mapping, optional
        Gains and losses, curves and users, in the form of `podium.evaluation.details`.

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
    defaults: dict[str, Any] = {"segments": [], "conventions": {}, "pairs": "first", "splits": 1}
    result, empty = without_empty_segments({**defaults, **comparison})
    more, measures = details or {}, result["measures"]
    against = "" if result["pairs"] == "all" else f", compared with {result['baseline']}"
    leads = [headlines.lead(name, tested) for name, tested in measures.items()][:1]
    return {
        "title": f"{len(result['runs'])} runs{against}",
        "status": "good" if all(best and best.is_proven for best in leads) and leads else "open",
        "summary": headlines.of_comparison(result),
        "sections": [
            *_run_means(result, empty),
            *(section for name in measures for section in _differences(result, name)),
            *_gains(more),
            *_curves(more),
            *_users(more),
        ],
        "conventions": conventions(result),
    }


def _run_means(result: Mapping[str, Any], empty: Sequence[str]) -> Iterator[Section]:
    measures = result["measures"]
    if not measures or not result["runs"]:
        return
    figure = pictures.run_means(result)
    table = complete(measured.run_means_table(result))
    means = [*measured.means({**result, "segments": []})]
    bold = [measured.BOLD] if table.get("highlight") else []
    ties = measured.ties_notes((f"{m['measure']} of {m['run']}", m) for m in means)
    notes = [*bold, *empty, *measured.undefined_note(result, means), *ties, *dashes([table])]
    yield {"title": "Means", "figures": [figure], "tables": [table], "notes": notes}


def _differences(result: Mapping[str, Any], measure: str) -> Iterator[Section]:
    """Yield the tests of one measure, over all users and in segments."""
    tests: Sequence[Mapping[str, Any]] = result["measures"][measure]["differences"]
    if not tests:
        return
    parts = [part for part in (result, *result["segments"]) if measure in part["measures"]]
    everyone, *segments = ({**p, "measures": {measure: p["measures"][measure]}} for p in parts)
    of_measure = {**everyone, "segments": segments}
    in_order = enumerate(measured.tests(of_measure))
    bold = [i for i, test in in_order if headlines.is_significant(test)]
    of_tests = {**measured.differences_table(of_measure), "highlight": [(i, 2) for i in bold]}
    leave_out = "" if segments else "measure"
    of_wins = measured.wins_table(of_measure)
    tables = [
        complete(of_tests, "Paired tests", leave_out),
        complete(of_wins, "Wins, losses and the size of effects", leave_out),
    ]
    notes = [f"Bold: p Holm is at most {headlines.alpha(tests[0]):g}."] if bold else []
    if measure == next(iter(result["measures"])):
        notes += measured.tests_notes(result)
    notes += dashes(tables)
    title, figures = f"Differences in {measure}", [pictures.differences(result, measure)]
    yield {"title": title, "figures": figures, "tables": tables, "notes": notes}


def _curves(details: Mapping[str, Any]) -> Iterator[Section]:
    """Yield a section with the mean of each measure at several cutoffs."""
    figures = [pictures.curve(name, curve) for name, curve in details.get("curves", {}).items()]
    if figures:
        text = "The mean of each measure, if the list is cut after k items."
        n_users = next(iter(details["curves"].values())).get("n_users")
        if n_users is not None:
            text += (
                f" The tables are on disk: these are the means of {n_users:,} users, at equal "
                "distances in the order of ids."
            )
        if left_out := details.get("runs_left_out", 0):
            text += f" The best runs and the baseline are shown; {left_out} others are not."
        yield {"title": "Measures at other cutoffs", "text": text, "figures": figures}


def _gains(details: Mapping[str, Any]) -> Iterator[Section]:
    """Yield a section on who gains and who loses with a run instead of the baseline."""
    gain = details.get("gains")
    if gain is None:
        return
    drawn = [pictures.gains, *([pictures.gains_by_segment] if gain["segments"] else [])]
    figures = [picture(gain) for picture in drawn]
    yield {"title": "Who gains, who loses", "text": _counts(gain), "figures": figures}


def _counts(gain: Mapping[str, Any]) -> str:
    counts = [gain[name] for name in ("wins", "losses", "equal")]
    n = max(sum(counts), 1)
    better, worse, equal = (f"{counted(c, 'users')} ({100 * c / n:.0f} %)" for c in counts)
    return (
        f"With {gain['run']} instead of {gain['baseline']}, {gain['measure']} is better for "
        f"{better}, worse for {worse}, and equal for {equal}."
    )


def _users(details: Mapping[str, Any]) -> Iterator[Section]:
    """Yield a section with the worst-served users and their lists."""
    served = details.get("users")
    if not served or not served["users"]:
        return
    measure, run = served["measure"], served["run"]
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
