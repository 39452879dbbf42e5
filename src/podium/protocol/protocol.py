"""A protocol: everything that defines a number or a decision, as one value."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack, cast

from podium import _check, presets
from podium._fields import FIELDS, OF_GATE, RULES_OF_GATE
from podium.errors import ArgumentError, DataError, arg
from podium.metrics import Measure, parse, parse_all
from podium.protocol import toml
from podium.protocol.conventions import Conventions, Task, refuse_excluded
from podium.types import (
    IntervalMethod,
    LowGrades,
    Missing,
    Ties,
    Undefined,
    Unjudged,
    Unretrieved,
)

Measures: TypeAlias = str | Measure | Iterable[str | Measure]


class ProtocolFields(TypedDict, total=False):
    """The fields of `Protocol` as keyword arguments."""

    measures: Measures
    like: str | None
    min_relevance: float | None
    low_grades: LowGrades | None
    ties: Ties | None
    missing: Missing | None
    unjudged: Unjudged | None
    unretrieved: Unretrieved | None
    single_precision: bool | None
    score_above: float | None
    n_items: int | None
    ties_seed: int
    undefined: Undefined | None
    by: str | Iterable[str]
    weight: str | None
    cluster: str | None
    level: float
    interval: IntervalMethod
    bootstrap_seed: int
    n_permutations: int
    user: str | None
    item: str | None
    relevance: str | None
    score: str | None
    rank: str | None
    parent: str | None
    rows_ranked: bool
    margin: float
    guards: Mapping[Any, float] | Iterable[str]
    at_least: Mapping[Any, float] | Iterable[str]
    sequential: bool | None
    horizon: int | None


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Everything that defines a number: measures, conventions, columns, users and intervals.

    It also has the rules of a gate, which decides whether a model may replace another one.

    Made by `of` from keywords, by `like` from the conventions of a package, by `read` from a file,
    and by `replace` from another protocol.

    A field that is None is not stated: the package sets it, or else podium's default holds.
    docs/protocol.md has the default of each field, and the stage that reads it.

    Attributes
    ----------
    measures : tuple of Measure
        The measures. A text or a list of texts is parsed.
    package : str, optional
        The package whose conventions apply where no other is stated: the field ``like``.
    min_relevance, low_grades, ties, missing, unjudged, unretrieved, single_precision, score_above
        The conventions of lists, see `podium.data.ranking`.
    n_items : int, optional
        The number of items that each user could have been shown.
    ties_seed : int
        The seed of ties="random".
    undefined : {"skip", "zero", "one", "error"}, optional
        The rule for groups for which a measure is undefined.
    by : tuple of str
        The segments of users.
    weight, cluster : str, optional
        The columns of users with their weights and clusters, which the gate reads.
    level, interval, bootstrap_seed, n_permutations
        The level and the method of the intervals, the seed of resampling, and the number of sign
        patterns that a randomisation test draws.
    user, item, relevance, score, rank, parent : str, optional
        The names of columns without a usual name. A parent is the document of an item.
    rows_ranked : bool
        Whether the rows of a run without ranks are in the order shown.
    margin, guards, at_least, sequential, horizon
        The rules of a gate, see `podium.gate`.

    Raises
    ------
    ArgumentError
        If a value is wrong, two fields exclude each other (`EXCLUSIONS`), the package is unknown or
        lacks a measure, or a measure sets an option otherwise than the package.

    Examples
    --------
    >>> protocol = Protocol.of(["ndcg@10"], ties="best")
    >>> protocol.replace(min_relevance=4)
    Protocol.of(['ndcg@10'], min_relevance=4.0, ties='best')
    >>> Protocol.like("recbole").replace(measures="ap@10").tasks()[0].measures[0].options
    (('norm', 'min'),)
    """

    measures: tuple[Measure, ...] = ()
    package: str | None = None
    min_relevance: float | None = None
    low_grades: LowGrades | None = None
    ties: Ties | None = None
    missing: Missing | None = None
    unjudged: Unjudged | None = None
    unretrieved: Unretrieved | None = None
    single_precision: bool | None = None
    score_above: float | None = None
    n_items: int | None = None
    ties_seed: int = 0
    undefined: Undefined | None = None
    by: tuple[str, ...] = ()
    weight: str | None = None
    cluster: str | None = None
    level: float = 0.95
    interval: IntervalMethod = "t"
    bootstrap_seed: int = 0
    n_permutations: int = 10_000
    user: str | None = None
    item: str | None = None
    relevance: str | None = None
    score: str | None = None
    rank: str | None = None
    parent: str | None = None
    rows_ranked: bool = False
    margin: float = 0.0
    guards: tuple[tuple[Measure, float], ...] = ()
    at_least: tuple[tuple[Measure, float], ...] = ()
    sequential: bool | None = None
    horizon: int | None = None

    def __post_init__(self) -> None:
        for name, field in FIELDS.items():
            value = self._value(name)
            checked = _DEFAULTS[name] if value is None else field.check(value, name)
            object.__setattr__(self, _attribute(name), checked)
        if not _is_empty(self.measures):
            object.__setattr__(self, "measures", tuple(parse_all(self.measures)))
        for name in ("guards", "at_least"):
            limits = tuple((parse(measure), limit) for measure, limit in vars(self)[name])
            object.__setattr__(self, name, limits)
        further = {"interval": self.interval, "like": self.package}
        for measures, conventions in self.tasks():
            refuse_excluded({**vars(conventions), **further}, measures)

    @classmethod
    def of(cls, given: Protocol | Measures = (), **fields: Unpack[ProtocolFields]) -> Protocol:
        """Return a protocol, given another one or the measures, with these fields.

        Raises
        ------
        ArgumentError
            If a field is unknown or wrong, or two of them exclude each other.
        """
        stated = _known(fields, "protocol")
        if isinstance(given, Protocol):
            return given.replace(**fields)
        if not _is_empty(given):
            stated["measures"] = given
        return cls(**{_attribute(name): value for name, value in stated.items()})

    @classmethod
    def like(cls, package: str) -> Protocol:
        """Return the protocol of a package: trec_eval, ir_measures, sklearn, ranx and so on."""
        return cls(package=package)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Protocol:
        """Read a protocol from a TOML file, or from the JSON form of a result.

        Raises
        ------
        DataError
            If the file can't be read, or a field is unknown or wrong.
        """
        try:
            return cls.of_json(toml.read(Path(path)))
        except ArgumentError as error:
            raise DataError(f"{path}: {error}") from None

    @classmethod
    def of_json(cls, stated: Mapping[str, Any]) -> Protocol:
        """Return the protocol of `as_json`, which a file in TOML has too.

        Raises
        ------
        ArgumentError
            If a field is unknown, wrong or in the wrong table.
        """
        others = dict(stated)
        of_gate: Any = others.pop(OF_GATE, {})
        if not isinstance(of_gate, dict):
            raise ArgumentError(f"{OF_GATE} must be a table, [{OF_GATE}], got {of_gate!r}.")
        rules = cast("dict[str, Any]", of_gate)
        _check.known_parameters(f"[{OF_GATE}]", RULES_OF_GATE, rules)
        for name in others.keys() & {*RULES_OF_GATE}:
            raise ArgumentError(f"{name} is a rule of the gate. Put it into the table [{OF_GATE}].")
        fields: Any = {**others, **rules}
        return cls.of(**fields)

    def replace(self, **fields: Unpack[ProtocolFields]) -> Protocol:
        """Return a protocol with other values of these fields.

        A package takes the place of all conventions that are not among these fields.
        """
        values = with_changes(self.stated(), _known(fields, "protocol"))
        return Protocol(**{_attribute(name): value for name, value in values.items()})

    def stated(self) -> dict[str, Any]:
        """Return the fields that are not defaults, by name."""
        values = {name: self._value(name) for name in FIELDS}
        return {name: value for name, value in values.items() if value != _DEFAULTS[name]}

    def changed(self) -> dict[str, Any]:
        """Return the stated conventions that take the place of the package's."""
        return {name: value for name, value in self.stated().items() if name in _OF_PACKAGES}

    def conventions(self, measure: Measure | None = None) -> Conventions:
        """Return the conventions of a measure, or those of lists without any, with nothing open."""
        rules: dict[str, Any] = {}
        if self.package is not None:
            preset = presets.get(self.package)
            rules = dict(preset.fields) if measure is None else preset.rules(measure)
        values = {name: self._value(name) for name in _OF_LISTS}
        return Conventions.of(
            rules | {n: value for n, value in values.items() if value is not None}
        )

    @property
    def has_bounds(self) -> bool:
        """Whether values have bounds over all judgements of unjudged items."""
        return self.unjudged == "bounds"

    def measure(self, measure: Measure) -> Measure:
        """Return a measure as the package computes it; its text remains."""
        return measure if self.package is None else presets.get(self.package).measure(measure)

    def tasks(self, measures: Iterable[Measure] | None = None) -> list[Task]:
        """Return the measures in groups with the same conventions; at least one group."""
        groups: dict[Conventions, list[Measure]] = {}
        common = self.conventions() if self.package is None else None
        for measure in self.measures if measures is None else measures:
            conventions = common or self.conventions(measure)
            groups.setdefault(conventions, []).append(self.measure(measure))
        if not groups:  # measures of the items shown need the users all the same
            groups[self.conventions()] = []
        return [Task(group, conventions) for conventions, group in groups.items()]

    def task(self) -> Task:
        """Return the measures with their conventions, or raise if these differ by measure."""
        task, *others = self.tasks()
        if others:
            raise ArgumentError(
                f"{arg.like(self.package)} has other lists for {others[0].measures[0]} than for "
                f"{task.measures[0]}. Pass one of these measures."
            )
        return task

    def required_measures(self) -> tuple[Measure, ...]:
        """Return the measures, or raise if there are none."""
        if not self.measures:
            raise ArgumentError(f"{arg.measures} must name at least one measure, such as 'pap@10'.")
        return self.measures

    def of_values(self) -> dict[str, dict[str, Any]]:
        """Return what decides the values of users, by the canonical text of each measure."""
        every = {measure.canonical: self._rules(measure) for measure in self.measures}
        for rules in every.values():
            del rules["missing"]  # it decides which users have values
        return every

    def differing(
        self, other: Protocol, *, but: Collection[str] = ()
    ) -> tuple[str, Any, Any] | None:
        """Return a field that decides values of a common measure and differs, with both values."""
        for measure in self.measures:
            if self is other or measure not in other.measures:
                continue
            rules, others = self._rules(measure), other._rules(measure)
            for name, value in rules.items():
                if name not in but and others.get(name) != value:
                    return name, value, others.get(name)
        return None

    def _rules(self, measure: Measure) -> dict[str, Any]:
        """Return the measure as it is computed, and the conventions that decide its values."""
        used = self.conventions(measure).by_name()
        if not measure.graded:
            del used["low_grades"]
        return {"measure": self.measure(measure).canonical, **used}

    def in_force(self) -> dict[str, Any]:
        """Return the conventions that hold for all measures and, by measure, those of a package."""
        tasks = self.tasks(m for m in self.measures if m.metric.reads == "relevance")
        means = {"interval": self.interval, "bootstrap_seed": self.bootstrap_seed}
        held = [task.conventions.by_name() | means for task in tasks]
        common = {
            name: held[0][name]
            for name in _IN_FORCE
            if name in held[0] and all(rules.get(name) == held[0][name] for rules in held)
        }
        if self.package is None:
            return common
        computed = {
            str(m): {"measure": m.canonical}
            | {name: rules[name] for name in _IN_FORCE if name in rules and name not in common}
            for task, rules in zip(tasks, held, strict=True)
            for m in task.measures
        }
        return {**common, "like": self.package, "changed": self.changed(), "computed": computed}

    def digest(self) -> str:
        """Return 16 characters that are the same for protocols with the same values of users."""
        text = json.dumps(self.of_values(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are not defaults in the form of JSON, which `of_json` reads."""
        stated = {name: _plain(value) for name, value in self.stated().items()}
        of_gate = {name: stated.pop(name) for name in RULES_OF_GATE if name in stated}
        return {**stated, OF_GATE: of_gate} if of_gate else stated

    def to_toml(self, notes: Mapping[str, str] | None = None) -> str:
        """Return a file that `read` reads again, with a comment, and a note, for each field."""
        used: Mapping[str, Any] = {} if self.package is None else presets.get(self.package).fields
        return toml.write(self.as_json(), used, notes or {})

    def changes_to(self, other: Protocol) -> str:
        """Return the lines of a file that differ in another protocol, the rules of a gate left out.

        Examples
        --------
        >>> given = Protocol.of("ndcg@10", missing="zero")
        >>> print(given.changes_to(Protocol.of("ndcg@10", ties="best")))
        ties = "best"
        # missing =
        """
        before, after = self.as_json(), other.as_json()
        differing = (name for name in FIELDS if before.get(name) != after.get(name))
        return "\n".join(toml.line(name, after.get(name)) for name in differing)

    def column_names(self, *roles: str) -> dict[str, str | None]:
        """Return the given names of columns, by role."""
        return {role: self._value(role) for role in roles}

    def __repr__(self) -> str:
        """Return the call that makes this protocol."""
        stated = {name: _plain(value) for name, value in self.stated().items()}
        parts = [f"{name}={value!r}" for name, value in stated.items() if name != "measures"]
        measures = [str(stated["measures"])] if "measures" in stated else []
        return f"Protocol.of({', '.join([*measures, *parts])})"

    def _value(self, name: str) -> Any:
        return vars(self)[_attribute(name)]


def with_changes(stated: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with changes; a package takes the place of the stated conventions."""
    replaced = () if changes.get("like") is None else _OF_PACKAGES
    return {n: value for n, value in stated.items() if n not in replaced} | {**changes}


def _attribute(name: str) -> str:
    """Return the attribute of a field; that of like has another name than the method."""
    return "package" if name == "like" else name


def _known(fields: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return fields if all are known."""
    for name in fields:
        if name not in FIELDS:
            advice = _check.nearest(name, _KNOWN)
            if name in _MOVED:
                advice = f" It is now {_MOVED[name]}."
            raise ArgumentError(
                f"{source} has no field {name!r}.{advice} Its fields are {', '.join(FIELDS)}."
            )
    return dict(fields)


def _plain(value: Any) -> Any:
    """Return a value of a field as JSON and TOML have it."""
    if not isinstance(value, tuple):
        return value
    parts = cast("tuple[Any, ...]", value)
    if isinstance(parts[0], tuple):
        return {str(measure): limit for measure, limit in parts}
    return [str(part) for part in parts]


def _is_empty(measures: Any) -> bool:
    return isinstance(measures, tuple) and not measures


_KNOWN = (*FIELDS, "users", "catalogue", "items", "storage")
"""The fields, and other parameters with which a field may be confused."""

_MOVED = {
    "seed": "ties_seed and bootstrap_seed",
    **dict.fromkeys(("memory", "executor", "progress"), "in storage=Storage(...)"),
}
"""Former parameters, and what took their place."""

_DEFAULTS = {
    "like" if field.name == "package" else field.name: field.default
    for field in dataclasses.fields(Protocol)
}
_OF_PACKAGES = {
    *("ties", "low_grades", "missing", "unjudged", "unretrieved"),
    *("single_precision", "score_above", "undefined"),
}
"""The fields that packages set."""

_OF_RANKINGS = ("ties", "min_relevance", "low_grades", "undefined", "interval", "bootstrap_seed")
OF_TABLES = (
    *("missing", "unjudged", "unretrieved", "single_precision", "score_above", "n_items"),
    "ties_seed",
)
"""The conventions of tables, which a result of rankings does not know."""

_IN_FORCE = (*_OF_RANKINGS, *OF_TABLES)
"""The fields that results state."""

_OF_LISTS = (
    *(name for name, field in FIELDS.items() if field.stage == "lists" and name != "like"),
    "undefined",
)

NO_PROTOCOL = Protocol()
"""The protocol that states nothing."""
