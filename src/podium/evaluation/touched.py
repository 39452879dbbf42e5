"""The users whose values a convention touches."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from podium._fields import FIELDS
from podium.errors import PodiumError
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_runs import measure
from podium.evaluation.open_ties import differs
from podium.protocol import Protocol

_VALUES: dict[str, tuple[Any, ...]] = {
    name: tuple(rule for rule in field.rules if rule not in ("bounds", "error"))
    for name, field in FIELDS.items()
    if field.rules and field.stage != "means"
} | {"min_relevance": (2.0,), "single_precision": (True, False), "score_above": (0.0,)}
"""The rules and other values that can change a measure, by field."""


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

    def measured(**rule: Any) -> Evaluation:
        return measure(tables.truth, tables.runs[""], protocol.replace(**rule))

    sentences: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = measured()
        for name, values in _VALUES.items():
            counts: dict[Any, int] = {}
            for value in values:
                with suppress(PodiumError):
                    counts[value] = _n_changed(first, measured(**{name: value}))
            touched = ", ".join(f"{value} {n:,}" for value, n in counts.items() if n)
            n_users = f"{first.n_groups:,}"
            sentences[name] = f"Touches none of {n_users} users."
            if touched:
                sentences[name] = f"Touches users: {touched} of {n_users}."
    return sentences


def _n_changed(first: Evaluation, other: Evaluation) -> int:
    """Count the users with another value of a measure, or who are only in one evaluation."""
    common = np.intersect1d(first.labels, other.labels)
    is_changed = np.zeros(common.size, np.bool_)
    for name in first.measures:
        one, two = (e.filled(name)[np.isin(e.labels, common)] for e in (first, other))
        is_changed |= differs(one, two)
    return int(is_changed.sum()) + first.n_groups + other.n_groups - 2 * common.size
