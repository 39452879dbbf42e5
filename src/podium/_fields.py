"""The fields of a protocol, each declared once: its check, the stage that reads it, its words."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.types import (
    IntervalMethod,
    LowGrades,
    Missing,
    Package,
    Ties,
    Undefined,
    Unjudged,
    Unretrieved,
)

_PACKAGES: tuple[str, ...] = typing.get_args(Package)

Stage: TypeAlias = Literal["tables", "lists", "values", "means", "gate"]


@dataclass(frozen=True)
class Field:
    """The declaration of a field, in its annotation.

    Attributes
    ----------
    stage : {"tables", "lists", "values", "means", "gate"}
        The stage that reads it. A file has the rules of the gate in its table [gate].
    text : str
        The description, for the help, the documents and the comments of a file.
    metavar : str
        Its value in the help.
    default : str
        The text of the rule in force if it is not stated.
    check : callable
        ``check(value, name)`` returns the value in its type, or raises.
    is_entry : bool
        Whether the command line sets it by --set alone, because few calls need it.
    is_list : bool
        Whether there may be several values.
    rules : tuple of str
        Its values, if it has only a few.
    """

    stage: Stage
    text: str
    metavar: str
    default: str
    check: Callable[[Any, str], Any]
    is_entry: bool = False
    is_list: bool = False
    rules: tuple[str, ...] = ()

    @property
    def help(self) -> str:
        """What its option does."""
        repeated = " May be repeated." if self.is_list else ""
        return f"{self.text}{repeated} Default: {self.default}."

    def read(self, text: str) -> Any:
        """Return a value from a text, such as that of ``--set ties=best``."""
        return text if self.check is _text else _check.plain_value(text)


def _rule(stage: Stage, text: str, values: Any, default: str, *, is_entry: bool = False) -> Field:
    """Return the declaration of a field with a few values."""
    rules: tuple[str, ...] = typing.get_args(values)
    check = partial(_check.choice, options=rules)
    return Field(stage, text, "RULE", default, check, is_entry, rules=rules)


def _flag(stage: Stage, text: str, default: str, *, is_entry: bool = False) -> Field:
    """Return the declaration of a field that is true or false."""
    return Field(stage, text, "true|false", default, _check.flag, is_entry)


def _column(text: str, default: str) -> Field:
    """Return the declaration of the name of a column."""
    return Field("tables", text, "NAME", default, _text)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f"{arg[name]} must be the name of a column, got {value!r}.")
    return value


def _any(value: Any, _: str) -> Any:
    return value  # a protocol parses its measures


def _names(value: Any, name: str) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    names: tuple[Any, ...] = (
        (value,) if isinstance(value, str) else tuple(value) if np.iterable(value) else (value,)
    )
    if not all(isinstance(text, str) for text in names):
        raise ArgumentError(
            f"{arg[name]} must be 'engagement', 'n_pos' or columns of users, got {value!r}. Pass "
            "their names."
        )
    return names


def _limits(value: Any, name: str, sign: str = ":") -> tuple[tuple[Any, float], ...]:
    """Return measures with their limits, given a mapping, or texts such as "rr:-0.1"."""
    entries = cast("Any", [value] if isinstance(value, str) else value)
    parts: Any = entries.items() if isinstance(value, Mapping) else entries
    try:
        pairs = [part.rpartition(sign)[::2] if isinstance(part, str) else part for part in parts]
        limits = [(measure, float(limit) + 0.0) for measure, limit in pairs]  # -0.0 becomes 0.0
    except (TypeError, ValueError):
        limits = [(None, math.nan)]
    if not all(measure and math.isfinite(limit) for measure, limit in limits):
        example = "-0.005" if sign == ":" else "0.8"
        raise ArgumentError(
            f"{arg[name]} must have measures with finite limits, such as "
            f"{{'recall@50': {example}}} or 'recall@50{sign}{example}', got {value!r}."
        )
    return tuple(limits)


FIELDS: dict[str, Field] = {
    "measures": Field(
        "values",
        "Measures, such as ndcg@10 or ap(norm=min)@10.",
        "MEASURE",
        "none",
        _any,
        is_list=True,
    ),
    "like": Field(
        "lists",
        "Package whose conventions apply where no other is stated: "
        f"{', '.join(_PACKAGES[:-1])} or {_PACKAGES[-1]}.",
        "PACKAGE",
        "podium's conventions",
        partial(_check.choice, options=_PACKAGES),
    ),
    "min_relevance": Field(
        "lists",
        "Lowest relevance of a positive item. Required if the column is named rating.",
        "X",
        "1",
        _check.positive,
    ),
    "low_grades": _rule(
        "lists",
        "Rule for relevances below --min-relevance in graded measures such as ndcg: zero or keep.",
        LowGrades,
        "zero if --min-relevance is given, else keep",
    ),
    "ties": _rule(
        "lists",
        "Rule for items with equal scores: worst, best, average, id, random or threshold.",
        Ties,
        "worst",
    ),
    "missing": _rule(
        "lists",
        "Rule for users that the run lacks: error, zero (the worst value) or skip.",
        Missing,
        "error",
    ),
    "unjudged": _rule(
        "lists",
        "Rule for items of the run that the truth lacks: negative, skip, error or bounds (the "
        "range over all their judgements).",
        Unjudged,
        "negative",
    ),
    "unretrieved": _rule(
        "lists",
        "Rule for relevant items that a list lacks: count, or drop (they do not count).",
        Unretrieved,
        "count",
        is_entry=True,
    ),
    "single_precision": _flag(
        "lists",
        "Whether scores are compared in single precision, so that nearly equal ones are ties.",
        "false",
        is_entry=True,
    ),
    "score_above": Field(
        "lists",
        "Items with this score or less are not retrieved.",
        "X",
        "all items are",
        partial(_check.number, low=-np.inf),
        is_entry=True,
    ),
    "n_items": Field(
        "lists",
        "Number of items that could have been shown to each user.",
        "N",
        "known only if the truth contains negatives and the run lists exactly its items",
        _check.cutoff,
    ),
    "ties_seed": Field("lists", "Seed of random ties.", "N", "0", _check.seed),
    "undefined": _rule(
        "values",
        "Rule for users for whom a measure is undefined: skip, zero, one or error.",
        Undefined,
        "skip",
    ),
    "by": Field(
        "values",
        "Segments of users: engagement (users with at most k positives and users with more), n_pos "
        "(quarters of users by number of positives), or a column of --users.",
        "SEGMENTS",
        "none",
        _names,
        is_list=True,
    ),
    "weight": Field(
        "values",
        "Column of --users with the weight of each user, which the gate reads.",
        "NAME",
        "all users weigh the same",
        _text,
    ),
    "cluster": Field(
        "values",
        "Column of --users with the cluster of each user, for lists that depend on each other, "
        "which the gate reads.",
        "NAME",
        "each user is a cluster",
        _text,
    ),
    "level": Field("means", "Level of the intervals.", "P", "0.95", _check.open_fraction),
    "interval": _rule(
        "means",
        "Method of the intervals of means: t, wilson (for measures with bounds; stays inside them) "
        "or bootstrap (BCa).",
        IntervalMethod,
        "t",
    ),
    "bootstrap_seed": Field(
        "means",
        "Seed of the bootstrap and of the randomisation test.",
        "N",
        "0",
        _check.seed,
    ),
    "n_permutations": Field(
        "means",
        "Number of sign patterns that the randomisation test draws.",
        "N",
        "10000",
        _check.cutoff,
        is_entry=True,
    ),
    "user": _column("Column of users.", "user, user_id, qid, query_id or q_id"),
    "item": _column("Column of items.", "item, item_id or doc_id"),
    "relevance": _column("Column of relevances in the truth.", "relevance, rating or label"),
    "score": _column("Column of scores in the run.", "score or prediction"),
    "rank": _column("Column of ranks in the run, 1 for the best.", "rank"),
    "parent": _column(
        "Column of the document of each item, if items are parts of documents. Documents are then "
        "judged, each by its best part.",
        "items are judged themselves",
    ),
    "rows_ranked": _flag(
        "tables", "Whether the rows of a run without ranks are in the order shown.", "false"
    ),
    "margin": Field(
        "gate",
        "Largest acceptable loss in the primary measure, in its units.",
        "X",
        "0",
        partial(_check.number, low=0.0),
    ),
    "guards": Field(
        "gate",
        "Other measures, and the difference that each must stay above (below, if lower values are "
        "better), such as recall@50:-0.005.",
        "MEASURE:LIMIT",
        "none",
        _limits,
        is_list=True,
    ),
    "at_least": Field(
        "gate",
        "Measures, and the value that the candidate must reach (at most, if lower values are "
        "better), such as recall@5=0.8.",
        "MEASURE=VALUE",
        "none",
        partial(_limits, sign="="),
        is_list=True,
    ),
    "sequential": _flag(
        "gate", "Whether the gate is used again as more users arrive.", "true if there is a state"
    ),
    "horizon": Field("gate", "Number of users at which the test ends.", "N", "none", _check.cutoff),
}
"""The fields of a protocol, by name."""

OF_GATE = "gate"
"""The table of a file, and the key of a JSON form, with the rules of the gate."""

RULES_OF_GATE = tuple(name for name, field in FIELDS.items() if field.stage == "gate")
