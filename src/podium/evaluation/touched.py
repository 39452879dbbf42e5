"""The users whose values a convention touches."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from podium._fields import FIELDS
from podium.errors import PodiumError
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_runs import measure
from podium.evaluation.open_ties import differs
from podium.protocol import Protocol

_OTHERS: dict[str, tuple[Any, ...]] = {
    "min_relevance": (2.0,),
    "single_precision": (True, False),
    "score_above": (0.0,),
}
"""Other values of the fields that are no rules."""


def touched_users(truth: Any, run: Any, protocol: Protocol) -> dict[str, str]:
    """Return for how many users another rule would change a measure, as a sentence by field.

    Parameters
    ----------
    truth, run : path, frame, mapping of columns, or sparse matrix
    protocol : Protocol

    Notes
    -----
    Cost: one measurement for each value of each convention.
    """
    from podium.data.opened import Tables

    tables = Tables.open(protocol, truth, {"": run})  # once; measuring does not open them again
    truth, run = tables.truth, tables.runs[""]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = measure(truth, run, protocol)
        return {
            name: _sentence(truth, run, protocol, first, name, values)
            for name, values in {**_rules(), **_OTHERS}.items()
        }


def _rules() -> dict[str, tuple[Any, ...]]:
    """Return the rules that can change a value, by field."""
    return {
        name: tuple(rule for rule in field.rules if rule not in ("bounds", "error"))
        for name, field in FIELDS.items()
        if field.rules and field.stage != "means"
    }


def _sentence(
    truth: Any,
    run: Any,
    protocol: Protocol,
    first: Evaluation,
    name: str,
    values: tuple[Any, ...],
) -> str:
    counts: list[str] = []
    for value in values:
        try:
            changed = measure(truth, run, protocol.replace(**{name: value}))
        except PodiumError:
            continue
        n_users = _n_changed(first, changed)
        if n_users:
            counts.append(f"{value} {n_users:,}")
    if not counts:
        return f"Touches none of {first.n_groups:,} users."
    return f"Touches users: {', '.join(counts)} of {first.n_groups:,}."


def _n_changed(first: Evaluation, other: Evaluation) -> int:
    """Count the users with another value of a measure, or who are only in one evaluation."""
    common = np.intersect1d(first.labels, other.labels)
    is_changed = np.zeros(common.size, np.bool_)
    for name in first.measures:
        one, two = (e.filled(name)[np.isin(e.labels, common)] for e in (first, other))
        is_changed |= differs(one, two)
    return int(is_changed.sum()) + first.n_groups + other.n_groups - 2 * common.size
