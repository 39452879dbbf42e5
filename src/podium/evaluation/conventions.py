"""The conventions that an evaluation states, and evaluations of several tasks as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from podium.evaluation.evaluation import Evaluation
from podium.protocol import Conventions, Protocol
from podium.protocol.conventions import Task


def conventions_of(conventions: Conventions) -> dict[str, Any]:
    """Return the conventions of lists that an Evaluation states, beside those of its rankings."""
    rules = {
        "missing": conventions.missing,
        "unjudged": conventions.unjudged,
        "unretrieved": conventions.unretrieved,
        "single_precision": conventions.single_precision,
        "score_above": conventions.score_above,
        "n_items": conventions.n_items,
    }
    return {**rules, "ties_seed": conventions.ties_seed} if conventions.ties == "random" else rules


def joined(protocol: Protocol, done: Sequence[tuple[Task, Evaluation]]) -> Evaluation:
    """Join the evaluations of tasks on the same groups into one."""
    first = replace(done[0][1], protocol=protocol)
    if protocol.package is None:
        return first
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
        conventions={
            **common,
            "like": protocol.package,
            "changed": protocol.changed(),
            "computed": computed,
        },
    )
