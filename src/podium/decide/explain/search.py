"""The conventions under which a measure has a given value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from podium import presets
from podium.decide.explain.grid import separated_by
from podium.decide.explain.table import ValueTable, as_choice, changes
from podium.errors import ArgumentError, arg
from podium.protocol import Protocol

_FEWEST_DIGITS = 3
_SIMPLE = 2  # combinations of more conventions are named only if no simpler one fits
_SAME = 1e-12  # relative difference of equal values


@dataclass(frozen=True)
class Match:
    """Conventions that give a value.

    Attributes
    ----------
    value : float
        The mean over users.
    changes : tuple of dict
        Conventions that differ from the defaults, as few as possible. If several combinations
        have this value, to 12 digits, each is a dictionary.
    packages : tuple of str
        The packages with these conventions.
    toml : tuple of str
        The lines of podium.toml to change, for each combination. No line stands for pooled.
    protocol : dict
        The stated fields of a protocol with the first combination.
    """

    value: float
    changes: tuple[dict[str, Any], ...]
    packages: tuple[str, ...] = ()
    toml: tuple[str, ...] = ()
    protocol: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def n_changes(self) -> int:
        return len(self.changes[0])

    def in_protocol(self, given: Protocol, table: ValueTable) -> Match:
        """Return the match with the changes as those of a protocol."""
        protocols = [table.protocol(given, changed) for changed in self.changes]
        lines = tuple(given.changes_to(protocol) for protocol in protocols)
        return replace(self, toml=lines, protocol=protocols[0].as_json())


@dataclass(frozen=True)
class Search:
    """The conventions that give a value of a measure on these data.

    Attributes
    ----------
    measure : str
    value : str
        The value as it was given.
    default : float
        The value under podium's conventions.
    matches : tuple of Match
        The conventions that give the value to its digits: of packages, and of at most two
        changes, or else of the fewest.
    n_others : int
        The number of further matches, which need more changes.
    nearest : Match
        The match with the nearest value.
    n_combinations : int
        The number of combinations of conventions.
    without_effect : dict of str to str
        The conventions that have no effect on these data, and data that would show one.
    """

    measure: str
    value: str
    default: float
    matches: tuple[Match, ...]
    n_others: int
    nearest: Match
    n_combinations: int
    without_effect: dict[str, str]


def search(
    table: ValueTable, value: str, given: Protocol, matches: list[Match] | None = None
) -> Search:
    """Search the conventions that give a value.

    Parameters
    ----------
    table : ValueTable
    value : str
        The value with the digits that were printed.
    given : Protocol
        The protocol of podium's value.
    matches : list of Match, optional
        The result of `distinct`, if several values are searched.

    Raises
    ------
    ArgumentError
        If the value is not a number, has fewer than three digits after the point, or cannot be a
        value of the measure.
    """
    target, n_digits = _read(value, table)
    matches = distinct(table) if matches is None else matches
    fits = [match for match in matches if abs(match.value - target) <= 0.5001 * 10.0**-n_digits]
    named = {match.value for match in fits if match.packages}
    fewest = min((match.n_changes for match in fits), default=0)
    reported = [m for m in fits if m.value in named or m.n_changes <= max(_SIMPLE, fewest)]
    reported.sort(key=lambda match: (match.n_changes, not match.packages))
    nearest = min(matches, key=lambda match: abs(match.value - target))
    return Search(
        str(table.measure),
        value,
        table.mean(table.defaults),
        tuple(match.in_protocol(given, table) for match in reported),
        len(fits) - len(reported),
        nearest.in_protocol(given, table),
        table.size(),
        {name: separated_by(name) for name in sorted(table.never_effective)},
    )


def _read(value: str, table: ValueTable) -> tuple[float, int]:
    try:
        target = float(value)
    except ValueError:
        raise ArgumentError(
            f"{arg.value} must be a number such as 0.3121, got {value!r}."
        ) from None
    mantissa, _, exponent = value.strip().lower().partition("e")
    n_digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    low, high = table.measure.metric.bounds
    if not low <= target <= high:
        percent = f" Write a percentage as {target / 100:g}." if high < target <= 100 * high else ""
        raise ArgumentError(
            f"{arg.value} must be from {low:g} to {high:g} for {table.measure}, got "
            f"{value}.{percent}"
        )
    if n_digits < _FEWEST_DIGITS:
        raise ArgumentError(
            f"{arg.value} must have at least {_FEWEST_DIGITS} digits after the point, because many "
            f"conventions give {value}. Pass more digits, such as 0.3121."
        )
    return target, n_digits


def distinct(table: ValueTable) -> list[Match]:
    """Return the distinct values, each with the fewest changes and the packages."""
    defaults = table.defaults
    by_value: dict[float, list[dict[str, Any]]] = {}
    for choice, value in table.means():
        if not np.isnan(value):
            by_value.setdefault(_rounded(value), []).append(changes(choice, defaults))
    packages = _of_packages(table)
    return [
        Match(value, _fewest(choices), tuple(packages.get(value, ())))
        for value, choices in by_value.items()
    ]


def _rounded(value: float) -> float:
    """Return the value to 12 digits, by which values are compared."""
    return float(f"{value:.12g}")


def _fewest(choices: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    fewest = min(map(len, choices))
    return tuple(choice for choice in choices if len(choice) == fewest)


def _of_packages(table: ValueTable) -> dict[float, list[str]]:
    """Return the packages by the value that they give on these lists."""
    packages: dict[float, list[str]] = {}
    for name in presets.PACKAGES:
        for choice in package_choices(table, name):
            try:
                value = table.mean(choice)
            except ArgumentError:  # the lists do not have what the package needs
                continue
            if not np.isnan(value) and name not in packages.setdefault(_rounded(value), []):
                packages[_rounded(value)].append(name)
    return packages


def package_choices(table: ValueTable, like: str) -> list[dict[str, Any]]:
    """Return the conventions of a package, with both extreme orders of ties if it leaves them open.

    The list is empty if the package lacks the measure.
    """
    preset = presets.get(like)
    try:
        rules = preset.rules(table.measure)
        options = dict(preset.measure(table.measure).options)
    except ArgumentError:
        return []
    orders = [rules["ties"]] if "ties" in rules else ["worst", "best"]
    rules = {**rules, "missing": "zero" if rules["missing"] == "error" else rules["missing"]}
    if table.defaults["min_relevance"] is None and rules["low_grades"] == "keep":
        del rules["low_grades"]  # the default
    return [as_choice({**rules, **options, "ties": ties}, table.defaults) for ties in orders]
