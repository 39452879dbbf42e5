"""The pairs of options that the documents refuse, as data, and the packages' own refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.testing.pairs.cases import Case
from podium.testing.pairs.formulas import Measure, parse
from podium.testing.pairs.lists import DEFAULTS, Refused
from podium.testing.pairs.packages import PACKAGES

WITH_BOUNDS = ("precision", "recall", "rr", "ndcg")

REFUSED: dict[tuple[str, str], str] = {
    ("unjudged=bounds", "unretrieved=drop"): "a judgement would change which items count",
    ("unjudged=bounds", "score_above"): "a judgement would change which items count",
    ("unjudged=bounds", "ties=threshold"): "the order of tied items would depend on judgements",
    ("unjudged=bounds", "like"): "packages have one value for each list",
    ("unjudged=bounds", "measure without bounds"): "its bounds are not known",
    ("unretrieved=drop", "n_items"): "each list is whole already",
    ("score_above", "scores are an order"): "ranks have no scores",
    ("ties=average", "measure without average"): "the mean over orders is not computed",
    ("ties=threshold", "measure other than ap"): "only ap has a value per threshold",
    ("interval=wilson", "measure without finite bounds"): "a share needs bounds",
    ("by=engagement", "no cutoff"): "n_pos is compared with a cutoff",
    ("gate", "primary of items shown"): "it can be a guard",
    ("weight", "users without a value"): "each user needs a weight",
    ("cluster", "users without a value"): "each user needs a cluster",
}
"""The refused pairs, with the reason. All other pairs have an effect, or none."""


def resolved(text: str, options: Mapping[str, Any]) -> tuple[Measure, dict[str, Any]]:
    """Return a measure with the options of the package, and the conventions of its lists.

    Raises
    ------
    Refused
        If the package lacks the measure, or it sets an option of the measure otherwise.
    """
    measure = parse(text)
    passed = {n: options[n] for n in DEFAULTS if options.get(n) is not None}
    if options.get("like") is None:
        return measure, {**DEFAULTS, **passed}
    name = options["like"]
    package = PACKAGES[name]
    if measure.form not in package.metrics:
        raise Refused(f"like={name} has no {measure.form}")
    fixed, conventions = package.metrics[measure.form]
    rules = {**package.conventions, **conventions}
    rules["low_grades"] = "keep"
    for option, value in fixed.items():
        if measure.stated().get(option, value) != value:
            raise Refused(f"like={name} sets {option}={value}")
    measure = Measure(measure.text, measure.name, measure.k, {**measure.options, **fixed})
    rules = {n: v for n, v in rules.items() if v is not None}
    if measure.metric.reads != "relevance":  # like sets the users, not the scores of these
        rules = {n: v for n, v in rules.items() if n in ("missing", "undefined")}
    return measure, {**DEFAULTS, **rules, **passed}


def refuse_pairs(case: Case, door: str) -> None:
    """Raise if a pair of a case's options is refused by a door."""
    for text in case.measures:
        measure, rules = resolved(text, case.options)
        present = {*_features(case, door, measure, rules)}
        for pair, reason in REFUSED.items():
            if present.issuperset(pair):
                raise Refused(f"{' x '.join(pair)}: {reason}")


def _features(case: Case, door: str, measure: Measure, rules: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is true of a case, in the words of `REFUSED`."""
    yield door
    metric, is_shown = measure.metric, measure.metric.reads != "relevance"
    interval = case["interval"] if door in ("measure", "compare") else None
    rules = {**rules, "interval": interval, "like": case["like"]}
    for name, value in rules.items():
        if value is not None:
            yield f"{name}={value}"
            yield name
    facts = {
        "measure without bounds": not is_shown and not has_bounds(measure),
        "measure without average": not is_shown and not metric.average,
        "measure other than ap": not is_shown and measure.name != "ap",
        "measure without finite bounds": metric.bounds[1] == float("inf"),
        "scores are an order": case.tables.is_order,
        "no cutoff": all(parse(text).k is None for text in case.measures),
        "primary of items shown": is_shown and measure.text == case.measures[0],
        "by=engagement": "engagement" in (case["by"] or ()),
        "users without a value": lacks_users(case, skips=rules["missing"] == "skip"),
        **{name: door == "gate" and case[name] is not None for name in ("weight", "cluster")},
    }
    yield from (name for name, holds in facts.items() if holds)


def has_bounds(measure: Measure) -> bool:
    """Return whether a measure has a range over judgements."""
    stated = {measure.options.get("norm"), measure.options.get("ideal")}
    return measure.name in WITH_BOUNDS and not stated & {"list", "full"}


def lacks_users(case: Case, *, skips: bool) -> bool:
    """Return whether the table of users lacks one that counts: with `skips`, one of both runs."""
    known, counted = {str(user) for user in case.tables.users}, {*case.tables.judged()}
    if skips:
        counted.intersection_update(*({str(u) for u, *_ in case.tables.runs[run]} for run in "ab"))
    return not known.issuperset(counted)


def refuse_undefined(values: Sequence[float], undefined: str) -> None:
    """Raise if undefined=error and a value is."""
    if undefined == "error" and any(v != v for v in values):
        raise Refused("undefined=error: a user has no value")
