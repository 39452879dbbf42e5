"""Estimates from sampled ranks on stdout, and errors in the words of that command."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from podium.cli import _render
from podium.cli._fit import Table
from podium.errors import ArgumentError, PodiumError

if TYPE_CHECKING:
    from podium.cli._samples import Samples
    from podium.sampled import Estimator, SampledRanks

POSSIBLE = "Possible: all values that the observed ranks allow, whatever the method."
PRIOR = (
    "The ranks say next to nothing of {}: what {} assumes decides the mean, and the interval is "
    "all that the ranks allow."
)
ORDER = (
    "Samples hardly tell the first ranks apart, N / negatives of them: their order, on which {} "
    "depends, is assumed."
)
_NOTHING = "–"
_FLAT = (
    *("mean", "std_error", "low", "high", "level", "n_groups", "n_undefined", "method", "biased"),
    *("interval_of", "error_from", "lowest", "highest", "prior_decides"),
    "order_assumed",
)
_OPTIONS = {
    "n_items": "--items",
    "n_negatives": "--negatives",
    "n_bootstrap": "--resamples",
    "estimator": "--method",
    "Pass replacement=True": "Leave out --no-replacement",
    "replacement=False": "--no-replacement",
    "measures": "-m",
    "stages": "--stages",
    "stages=": "--stages",
    "target=": "--target-col",
    "ties=": "--ties",
    "kind=": "--scores",
    "mixed=True": "--mixed",
    "own_target='drop'": "--drop-own",
    "negatives=": "--negatives-file",
    "seen_candidates='drop'": "--drop-seen",
    "seen=": "--seen",
}
_GIVEN = "|".join(name for name in _OPTIONS if "=" in name)
_NAMES = re.compile(
    r"(?<![\w./'\"=-])(?:(?P<bare>n_items|n_negatives|n_bootstrap|stages)(?![\w/'\"=-]|\.\w)"
    r"|(?P<first>^(?:estimator|measures(?= names)))\b"
    rf"|(?P<given>{_GIVEN}))"
)
_COLUMN = re.compile(r"\bcolumns\['(\w+)'\]")


def as_options(text: str) -> str:
    """Write the library's arguments as options of `podium estimate`.

    Examples
    --------
    >>> as_options("n_negatives must be below n_items, got 9 of 9 items.")
    '--negatives must be below --items, got 9 of 9 items.'
    """
    text = _NAMES.sub(lambda match: _OPTIONS[match.group()], text)
    return _COLUMN.sub(r"--\1-col", text)


@contextmanager
def own_words(rewrite: Callable[[str], str] = as_options) -> Generator[None]:
    """Name a command's options in errors and warnings, as `rewrite` does: each has its own."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except PodiumError as error:
        raise type(error)(rewrite(str(error))) from error
    for each in caught:
        warnings.warn(rewrite(str(each.message)), each.category, stacklevel=3)


def refuse_resamples(method: Estimator, samples: Iterable[SampledRanks]) -> None:
    """Raise where no users will be drawn again: the option would do nothing."""
    from podium.sampled import error_from

    if all(error_from(method, each) != "bootstrap" for each in samples):
        raise ArgumentError(
            "--resamples is for methods that need users drawn again to know their error, and "
            f"{method.name} knows it here without. Leave it out."
        )


@dataclass(frozen=True)
class Given:
    """Options that were given, of which the record of a design has not all.

    Attributes
    ----------
    samples : Samples
    ties : str or None
    level : float or None
        None where it is the usual one.
    """

    samples: Samples
    ties: str | None
    level: float | None

    def again(self, conventions: Mapping[str, Any]) -> Iterator[str]:
        """Yield the options that give the same again."""
        method, resamples = conventions["method"], conventions["n_bootstrap"]
        yield f"--method {method!r}" if "(" in method else f"--method {method}"
        yield f"--items {self.samples.items}"
        if conventions["stages"]:
            yield f"--stages {','.join(map(str, conventions['stages']))}"
        else:
            yield f"--negatives {_extent(conventions['n_negatives'])}"
        flags = {
            "--no-replacement": not conventions["replacement"],
            "--mixed": self.samples.mixed,
            "--drop-own": self.samples.drop_own,
            "--drop-seen": self.samples.drop_seen,
        }
        yield from (name for name, on in flags.items() if on)
        drawn = resamples is not None or self.ties == "random"
        said = {
            "--negatives-file": self.samples.negatives_file,
            "--seen": self.samples.seen,
            "--ties": self.ties,
            "--level": self.level,
            "--resamples": resamples,
            "--seed": conventions["seed"] if drawn else None,
        }
        for name, value in said.items():
            if value is not None:
                yield f"{name} {shlex.quote(str(value))}"


def show(result: Mapping[str, Any], format: str, given: Given) -> None:
    """Print the JSON form of a SampledEvaluation."""
    note = _note(result, given)
    _render.either(result, format, shown=[_shown(result)], flat=_flat(result), note=note)


def _shown(result: Mapping[str, Any]) -> Table:
    first = next(iter(result["measures"].values()))
    rows = [[name, *cells(found)] for name, found in result["measures"].items()]
    return {"columns": ["measure", *columns(first)], "rows": rows}


def columns(found: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns that an estimate fills."""
    possible = ["possible"] if found["bounds"] is not None else []
    return ["mean", f"{found['level']:.4g} interval", "std error", *possible, "users"]


def cells(found: Mapping[str, Any]) -> list[str]:
    """Return the JSON form of an Estimate as a row of a table."""
    possible = [span(found["bounds"])] if found["bounds"] is not None else []
    error = number(found["std_error"])
    return [
        number(found["mean"]),
        span(found["interval"]),
        error,
        *possible,
        str(found["n_groups"]),
    ]


def _flat(result: Mapping[str, Any]) -> Table:
    rows: list[list[Any]] = []
    for name, found in result["measures"].items():
        low, high = found["interval"]
        lowest, highest = found["bounds"] or (None, None)
        ends = {"low": low, "high": high, "lowest": lowest, "highest": highest}
        rows.append([name, *({**found, **ends}[column] for column in _FLAT)])
    return {"columns": ["measure", *_FLAT], "rows": rows}


def _note(result: Mapping[str, Any], given: Given) -> str:
    """Say what intervals and bounds are of, and the options that give the same again."""
    first = next(iter(result["measures"].values()))
    said = [meaning(first), *about_history(result["conventions"])]
    if first["bounds"] is not None:
        said.append(POSSIBLE)
        outside = [name for name, found in result["measures"].items() if is_impossible(found)]
        if outside:
            said.append(f"{first['method']} gives an impossible value of {', '.join(outside)}.")
    said += [*about_prior(result["measures"]), *about_order(result["measures"])]
    return f"{' '.join(said)}\n{' '.join(given.again(result['conventions']))}"


def meaning(found: Mapping[str, Any]) -> str:
    """Say what the interval of an estimate is of."""
    if found["interval_of"] == "exact":
        return "Means over users, as ranking all items would give them."
    return (
        f"{found['method']} is biased: its intervals are of what it gives on average over users "
        "and samples, not of the measure of the whole ranking."
    )


def about_history(conventions: Mapping[str, Any]) -> Iterator[str]:
    """Say whether the method made use of a column of what users had before, if there is one."""
    used, method = conventions["history"], conventions["method"]
    if used is not None:
        yield f"The column of users' history was {used} by {method}."


def about_prior(found: Mapping[str, Any]) -> Iterator[str]:
    """Say of which estimates, by name, the method's prior decides more than the ranks."""
    names = [name for name, each in found.items() if each["prior_decides"]]
    if names:
        yield PRIOR.format(", ".join(names), found[names[0]]["method"])


def about_order(found: Mapping[str, Any]) -> Iterator[str]:
    """Say which estimates of the exact mean, by name, depend on an order that no sample shows."""
    names = [name for name, each in found.items() if each["order_assumed"]]
    if names and found[names[0]]["interval_of"] == "exact":
        yield ORDER.format(", ".join(names))


def is_impossible(found: Mapping[str, Any]) -> bool:
    """Whether the observed ranks do not allow an estimate; not where either is unknown."""
    low, high = found["bounds"] or (None, None)
    mean = found["mean"]
    return None not in (low, mean, high) and not low <= mean <= high


def _extent(size: Any) -> str:
    return f"{size[0]}..{size[1]}" if isinstance(size, list) else str(size)


def number(value: float | None, sign: str = "") -> str:
    """Write a number of a table."""
    return _NOTHING if value is None else f"{value:{sign}.4f}"


def span(ends: list[float | None], sign: str = "") -> str:
    """Write two ends of an interval."""
    low, high = ends
    if low is None or high is None:
        return _NOTHING
    return f"[{number(low, sign)}, {number(high, sign)}]"
