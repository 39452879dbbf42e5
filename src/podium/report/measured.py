"""The JSON of measured or estimated means and tests as tables, notes and named numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from podium.report._types import Table
from podium.report.cells import (
    NOTHING,
    change,
    changes,
    count,
    judgements,
    number,
    p_value,
    percent,
    span,
)
from podium.report.conventions import GLUE
from podium.report.headlines import lead
from podium.report.tables import Columns, build, named, texts
from podium.report.views import Numbers

_RULES = {
    "skip": "They are left out of the mean.",
    "zero": "They count as 0.",
    "one": "They count as 1.",
}
BOLD = "Bold: the best mean, if its difference from every other run is significant (p Holm)."
_OF_MEAN = ("low", "high", "std_error", "n_groups", "n_undefined")
TESTS = (
    *("t_p_value", "randomisation_p_value", "holm_p_value", "effect_size"),
    *("relative_difference", "wins", "losses", "equal", "detectable", "n_groups"),
)


def evaluation_numbers(result: Mapping[str, Any], names: Iterable[str] = _OF_MEAN) -> Numbers:
    """Yield the numbers of each mean: ``ndcg@10``, in a segment ``n_pos 1/ndcg@10``."""
    for by, name, measure, summary in summaries(result):
        yield _key(by, name, measure), named(summary, "mean", names) | of_unjudged(summary)


def comparison_numbers(
    result: Mapping[str, Any],
    of_mean: Iterable[str] = _OF_MEAN,
    of_test: Iterable[str] = ("low", "high", "std_error", *TESTS),
) -> Numbers:
    """Yield the numbers of each mean, ``run/ndcg@10``, and test, ``run - baseline/ndcg@10``."""
    for by, name, measure, tested in comparisons(result):
        place = _key(by, name, measure)
        for run, mean in tested["means"].items():
            yield f"{run}/{place}", named(mean, "mean", of_mean)
        for test in tested["differences"]:
            pair = f"{test['run']} - {test['baseline']}/{place}"
            yield pair, named(test, "difference", of_test)


def _key(by: str, name: str, measure: str) -> str:
    return f"{_segment(by, name)}/{measure}" if by else measure


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


def means_table(result: Mapping[str, Any]) -> Table:
    """Return the means of an Evaluation's JSON form, by segment."""
    columns: Columns = {
        **texts(*(["segment"] if result["segments"] else []), "measure"),
        **_mean_columns(next(iter(result["measures"].values())), has_bounds(result)),
    }
    records = (
        {**summary, "segment": _segment(by, name), "measure": measure}
        for by, name, measure, summary in summaries(result)
    )
    return build(columns, records)


def _mean_columns(mean: Mapping[str, Any], is_bounded: bool = False) -> Columns:
    """Return the columns of means like this one; those from samples are never undefined."""
    is_sampled = "bounds" in mean
    return {
        "mean": ("mean", number),
        f"{mean['level']:.4g} interval": ("interval", span),
        **({"unjudged": ("unjudged", lambda u: span(u and u.values()))} if is_bounded else {}),
        "std error": ("std_error", number),
        **({"possible": ("bounds", span)} if mean.get("bounds") else {}),
        "users": ("n_groups", str),
        **({} if is_sampled else {"undefined": ("n_undefined", str)}),
    }


def _segment(by: str, name: str) -> str:
    """Return the name of a segment, with its column unless the name implies it."""
    return name if by in ("", "engagement", "n_pos") else f"{by} {name}"


def without_segments(result: Mapping[str, Any]) -> str:
    """Return a line on the measures that segments lack, empty if there are none."""
    first = result["segments"][:1]
    names = [n for part in first for n in result["measures"] if n not in part["measures"]]
    if not names:
        return ""
    is_or_are = "is not a mean" if len(names) == 1 else "are not means"
    return f"{' and '.join(names)} {is_or_are} over users and can't be divided into segments."


def run_means_table(result: Mapping[str, Any]) -> Table:
    """Return the means of a Comparison's JSON form; the best is bold if its lead is significant."""
    letters = ["letters"] if result.get("pairs") == "all" else []
    columns = {**texts("measure", "run", *letters), **_mean_columns(next(means(result)))}
    leads = ((lead(tested), tested["means"]) for _, _, _, tested in comparisons(result))
    bold = [best and best.is_proven and run == best.run for best, runs in leads for run in runs]
    places = (1, list(columns).index("mean"))
    cells = [(i, j) for i, is_bold in enumerate(bold) if is_bold for j in places]
    return {**build(columns, means(result)), "highlight": cells}


def means(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the means of all runs, with their measure, run and letters."""
    for by, name, measure, tested in comparisons(result):
        for run, mean in tested["means"].items():
            place = {"measure": _measure_in(by, name, measure), "run": run}
            yield {**mean, **place, "letters": tested.get("letters", {}).get(run)}


def differences_table(result: Mapping[str, Any]) -> Table:
    """Return the differences of a Comparison's JSON form, with their tests."""
    p = ("t_p_value", "p t") if result["splits"] > 1 else ("randomisation_p_value", "p rand.")
    columns: Columns = {
        **texts("measure", "run"),
        "diff.": ("difference", change),
        f"{next(means(result))['level']:.4g} t interval": ("interval", changes),
        p[1]: (p[0], p_value),
        "p Holm": ("holm_p_value", p_value),
    }
    if has_unjudged(result):
        columns |= {
            "unjudged": ("unjudged", lambda unjudged: judgements(unjudged) or NOTHING),
            "labels": ("unjudged", lambda unjudged: count(unjudged and unjudged["n_labels"])),
        }
    return build(columns, tests(result))


def has_unjudged(result: Mapping[str, Any]) -> bool:
    """Return whether a Comparison's JSON form has ranges over unjudged items."""
    return any("unjudged" in test for test in tests(result))


def wins_table(result: Mapping[str, Any]) -> Table:
    """Return the users who gain and lose, and the sizes of effects, of a Comparison's JSON form."""
    columns: Columns = {
        **texts("measure", "run"),
        **{name: (name, count) for name in ("wins", "losses", "equal")},
        "detectable": ("detectable", number),
        "effect": ("effect_size", _effect),
        "relative": ("relative_difference", percent),
    }
    if result["splits"] == 1:
        columns |= {"p t": ("t_p_value", p_value)}
    return build(columns, tests(result))


def _effect(size: float | None) -> str:
    return NOTHING if size is None else f"{size:+.2f}"


def tests(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the tests of all measures, with the name of both runs if all pairs were tested."""
    is_all = result.get("pairs") == "all"
    for by, name, measure, results in comparisons(result):
        for test in results["differences"]:
            run = f"{test['run']} - {test['baseline']}" if is_all else test["run"]
            yield {**test, "measure": _measure_in(by, name, measure), "run": run}


def _measure_in(by: str, name: str, measure: str) -> str:
    """Return the name of a measure, followed by that of its segment."""
    return f"{measure}, {_segment(by, name)}" if by else measure


def tests_notes(result: Mapping[str, Any]) -> list[str]:
    """Return how to read the differences and tests of a comparison."""
    is_first = result["pairs"] == "first"
    notes = [f"Differences are from {result['baseline']}."] if is_first else []
    if result["splits"] == 1:
        notes.append(
            "p rand., p Holm: paired randomisation test, before and after Holm's correction for "
            "all tests here. p t: paired t test."
        )
        if any(test["randomisation_p_value"] is None for test in tests(result)):
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
    if has_unjudged(result):
        notes.append(
            "Unjudged: the range of the difference over all ways to judge the items that the "
            "truth lacks. Labels: if this range contains both signs, the number of items to judge "
            "(--labels writes them). If none of them is relevant, the sign cannot change."
        )
    if not is_first:
        notes.append("Runs with a letter in common do not differ significantly (p Holm).")
    return [re.sub(r"\bp (?=t\b|Holm|rand\.)", f"p{GLUE}", note) for note in notes]


def of_unjudged(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the range over judgements in a record as numbers by name; empty if it has none."""
    return {f"unjudged_{name}": value for name, value in record.get("unjudged", {}).items()}


def has_bounds(result: Mapping[str, Any]) -> bool:
    """Return whether an Evaluation's JSON form has the bounds over unjudged items."""
    return any("unjudged" in summary for summary in result["measures"].values())


def comparisons(result: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield (by, name, measure, results) of a Comparison's JSON form."""
    yield from (("", "all", *item) for item in result["measures"].items())
    for segment in result.get("segments", ()):
        yield from ((segment["by"], segment["name"], *item) for item in segment["measures"].items())


def summaries(result: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield (by, name, measure, summary); pooled forms are separate measures."""
    for by, name, measure, summary in comparisons(result):
        yield by, name, measure, summary
        if "pooled" in summary:
            yield by, name, f"{measure} (pooled)", summary["pooled"]
