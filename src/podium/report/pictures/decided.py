"""Figures of a Gate, an Audit and an Explanation, from their JSON forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from podium._grammar import word
from podium._numbers import MINUS
from podium.report._types import Figure
from podium.report.figures import differences, intervals
from podium.report.pictures.measured import UNJUDGED

_VALUE = "value of "


def claims(result: Mapping[str, Any], measure: str) -> Figure:
    """Return the differences in a measure of a Gate's JSON form, for all users and segments."""
    drawn = [claim for claim in result["claims"] if claim["measure"] == measure]
    sides = (result["base"], result["candidate"])
    limit = drawn[0]["limit"]
    figure = differences(
        f"{measure}: {result['candidate']} − {result['base']}",
        sides if drawn[0]["higher_is_better"] else sides[::-1],
        [(claim["place"], claim, "") for claim in drawn],
        UNJUDGED.replace("means", "differences"),
    )
    if limit:
        figure["reference"] = {"value": limit, "label": f"limit {limit:+.4g}".replace("-", MINUS)}
    return figure


def audit_context(result: Mapping[str, Any]) -> Figure:
    """Return the values of runs and of lists without a model in an Audit's JSON form."""
    values = {n: v for n, v in result["context"].items() if n.startswith(_VALUE)}
    rows = [_row(name.removeprefix(_VALUE), value) for name, value in values.items()]
    title = f"{result['measure']} of runs and of lists without a model"
    return intervals(title, rows, axis_label=f"mean {result['measure']}")


def audit_effects(result: Mapping[str, Any]) -> Figure | None:
    """Return how much each finding changes the measure; None if no change is known."""
    rows = [
        _row(f"{finding['check']} ({effect['run']})", effect["with"] - effect["without"])
        for finding in result["findings"]
        for effect in finding["effects"]
        if None not in (effect["with"], effect["without"])
    ]
    if not rows:
        return None
    title = f"{result['measure']} with each fault − without it"
    return intervals(title, rows, reference={"value": 0.0, "label": "no effect"})


def packages(result: Mapping[str, Any]) -> Figure:
    """Return the values of packages in an Explanation's JSON form, beside podium's.

    This figure and that of `steps` have no rows without a value.
    """
    steps = result["packages"]
    title = f"{result['measure']} by the conventions of other packages"
    return _beside_podium(title, map(_package_row, steps), steps[0]["start"])


def steps(package: Mapping[str, Any]) -> Figure:
    """Return the value after each step from podium's value to that of a package."""
    title = f"{package['measure']} from podium to {package['like']}"
    return _beside_podium(title, _steps(package), package["start"])


def _beside_podium(title: str, rows: Iterable[dict[str, Any]], value: float | None) -> Figure:
    """Return the rows that have a value, with a line at podium's value if it has one."""
    open_order = "all values over the orders of equal scores, which the package leaves open"
    drawn = (row for row in rows if row["value"] is not None)
    figure = intervals(title, drawn, bounds_label=open_order)
    if value is not None:
        figure["reference"] = {"value": value, "label": "podium"}
    return figure


def _steps(package: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield _row("podium", package["start"])
    for step, value in zip(package["steps"], step_values(package), strict=True):
        yield _row(f"{step['convention']}={word(step['value'])}", value)
    yield _package_row(package)


def _package_row(package: Mapping[str, Any]) -> dict[str, Any]:
    lowest, highest = package["open_ties"] or (None, None)
    return {**_row(package["like"], package["end"]), "lowest": lowest, "highest": highest}


def _row(label: str, value: float | None) -> dict[str, Any]:
    return {"label": label, "value": value, "low": None, "high": None}


def step_values(steps: Mapping[str, Any]) -> list[float | None]:
    """Return the value after each step to a package; None if it is undefined.

    Examples
    --------
    >>> steps = [{"change": None}, {"change": None}, {"change": 0.5}]
    >>> step_values({"start": None, "end": 0.75, "steps": steps})
    [None, 0.25, 0.75]
    """
    changes = [step["change"] for step in steps["steps"]]
    negated = [None if change is None else -change for change in changes]
    from_end = _sums(steps["end"], negated[::-1])[::-1]
    pairs = zip(_sums(steps["start"], changes), from_end, strict=True)
    return [later if earlier is None else earlier for earlier, later in pairs][1:]


def _sums(start: float | None, changes: Sequence[float | None]) -> list[float | None]:
    """Return a number and its sums with the first changes; None from the first None on."""
    return [*accumulate([start, *changes], _sum)]


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b
