"""The conventions under which measures are computed: the given ones, or those of a package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from podium import presets
from podium.errors import ArgumentError, arg
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_rankings import MeanRules
from podium.evaluation.stats import IntervalMethod
from podium.evaluation.unjudged import check_supported
from podium.metrics import Measure
from podium.types import Undefined

_REFUSAL = "error"


@dataclass(frozen=True)
class Task:
    """Measures that are computed from the same lists.

    Attributes
    ----------
    measures : list of Measure
    rules : MeanRules
        The rules for means, with that for undefined groups.
    options : dict
        The keyword arguments of `podium.data.ranking`.
    open_ties : bool
        Whether neither the caller nor the package defines the order of equal scores.
    """

    measures: list[Measure]
    rules: MeanRules
    options: dict[str, Any]
    open_ties: bool = False


def tasks(
    measures: Sequence[Measure],
    options: Mapping[str, Any],
    *,
    undefined: Undefined | None,
    level: float,
    interval: IntervalMethod,
    like: str | None,
) -> list[Task]:
    """Return the tasks whose results are the measures; at least one.

    Parameters
    ----------
    measures : sequence of Measure
        Measures of relevance.
    options : mapping
        The conventions and column names that the caller passes, as in `podium.data.ranking`.
    undefined : {"skip", "zero", "one", "error"}, optional
        The rule for undefined groups; "skip" by default.
    level, interval
        The level and the method of the intervals, as in `evaluate`.
    like : str, optional
        The package whose conventions apply; see `podium.presets`.

    Raises
    ------
    ArgumentError
        If the package is unknown, lacks a measure, or sets a convention that is passed too.
    """
    rules = MeanRules(undefined or "skip", level, interval, options.get("seed", 0))
    if like is None:
        is_open = options.get("ties") is None
        return [Task(list(measures), rules, dict(options), open_ties=is_open)]
    preset = presets.get(like)
    passed = {**options, "undefined": undefined}
    no_limit = {"score_above": None}  # every package sets it: most of them retrieve all items
    by_preset: dict[tuple[tuple[str, Any], ...], list[Measure]] = {}
    for measure in measures:
        of_measure = preset.rules(measure)
        _refuse_given(like, {**no_limit, **of_measure}, passed)
        by_preset.setdefault(tuple(of_measure.items()), []).append(preset.measure(measure))
    if not measures:  # measures of the items shown need the users all the same
        _refuse_given(like, {**no_limit, **preset.fields}, passed)
        by_preset[tuple(preset.fields.items())] = []
    return [_task(group, dict(of_them), rules, options) for of_them, group in by_preset.items()]


def _task(
    measures: list[Measure], preset: dict[str, Any], rules: MeanRules, options: Mapping[str, Any]
) -> Task:
    """Return the task of measures for which a package has the same conventions, `preset`."""
    rules = replace(rules, undefined=preset.pop("undefined"))
    is_open = "ties" not in preset and options.get("ties") is None
    chosen = {n: v for n, v in options.items() if v is not None and preset.get(n) == _REFUSAL}
    return Task(measures, rules, {**options, **preset, **chosen}, open_ties=is_open)


def _refuse_given(like: str, rules: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Raise if a convention is passed that the package sets; what it refuses may be passed."""
    for name, rule in rules.items():
        if options.get(name) is not None and rule != _REFUSAL:
            raise ArgumentError(
                f"{arg[name](options[name])} and {arg.like(like)} both set a convention. Leave one "
                "of them out."
            )


def joined(like: str | None, done: Sequence[tuple[Task, Evaluation]]) -> Evaluation:
    """Join the evaluations of tasks on the same groups into one."""
    if like is None:
        return done[0][1]
    first = done[0][1]
    rules = {str(m): evaluation.conventions for task, evaluation in done for m in task.measures}
    common = {
        name: value
        for name, value in first.conventions.items()
        if all(evaluation.conventions[name] == value for _, evaluation in done)
    }
    computed = {
        str(m): {
            "measure": m.canonical,
            **{name: value for name, value in rules[str(m)].items() if name not in common},
        }
        for task, _ in done
        for m in task.measures
    }
    return replace(
        first,
        values={name: values for _, part in done for name, values in part.values.items()},
        best={name: values for _, part in done for name, values in part.best.items()},
        weights={name: values for _, part in done for name, values in part.weights.items()},
        undefined={str(m): task.rules.undefined for task, _ in done for m in task.measures},
        conventions={**common, "like": like, "computed": computed},
    )


def ranking_options(measures: Sequence[Measure], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `podium.data.ranking` that measures need.

    Raises
    ------
    ArgumentError
        If unjudged="bounds" is passed with a measure that has no bounds.
    """
    if options.get("unjudged") == "bounds":
        check_supported(measures)
    if any(m.metric.judgements for m in measures):
        return {**options, "mark_judged": True}
    return dict(options)


def conventions_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conventions of lists that an Evaluation states, with their defaults."""
    return {
        "missing": options.get("missing", "error"),
        "unjudged": options.get("unjudged", "negative"),
        "unretrieved": options.get("unretrieved", "count"),
        "single_precision": options.get("single_precision", False),
        "score_above": options.get("score_above"),
        "n_items": options.get("n_items"),
    }
