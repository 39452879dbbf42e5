"""Estimates from sampled ranks on stdout: of one model, or of several with differences."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from podium.cli import _render
from podium.cli._fit import Table
from podium.cli._render import number, span
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.cli._samples import Samples
    from podium.sampled import Estimator, SampledRanks

_POSSIBLE = "Possible: all values that the observed ranks allow, whatever the method."
_PRIOR = (
    "The ranks say next to nothing of {}: what {} assumes decides the mean, and the interval is "
    "all that the ranks allow."
)
_ORDER = (
    "Samples hardly tell the first ranks apart, N / negatives of them: their order, on which {} "
    "depends, is assumed."
)
_FLAT = (
    *("mean", "std_error", "low", "high", "level", "n_groups", "n_undefined", "method", "biased"),
    *("interval_of", "error_from", "lowest", "highest", "prior_decides"),
    "order_assumed",
)

_MEAN = (
    *("mean", "std_error", "level", "n_groups", "method", "biased", "interval_of", "error_from"),
    *("prior_decides", "order_assumed"),
)
_TEST = ("difference", "std_error", "sign_probability", "either_sign")
_CERTAIN = 0.9995  # what three decimals would show as 1


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
    rows = [[name, *_cells(found)] for name, found in result["measures"].items()]
    return {"columns": ["measure", *_columns(first)], "rows": rows}


def _columns(found: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns that an estimate fills."""
    possible = ["possible"] if found["bounds"] is not None else []
    return ["mean", f"{found['level']:.4g} interval", "std error", *possible, "users"]


def _cells(found: Mapping[str, Any]) -> list[str]:
    """Return the JSON form of an Estimate as a row of a table."""
    possible = [span(found["bounds"])] if found["bounds"] is not None else []
    return [
        number(found["mean"]),
        span(found["interval"]),
        number(found["std_error"]),
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
    said = [_meaning(first), *_about_history(result["conventions"])]
    said += [
        *_about_bounds(result["measures"]),
        *_about_prior(result["measures"]),
        *_about_order(result["measures"]),
    ]
    return f"{' '.join(said)}\n{' '.join(given.again(result['conventions']))}"


def _meaning(found: Mapping[str, Any]) -> str:
    """Say what the interval of an estimate is of."""
    if found["interval_of"] == "exact":
        return "Means over users, as ranking all items would give them."
    return (
        f"{found['method']} is biased: its intervals are of what it gives on average over users "
        "and samples, not of the measure of the whole ranking."
    )


def _about_history(conventions: Mapping[str, Any]) -> Iterator[str]:
    """Say whether the method made use of a column of what users had before, if there is one."""
    used, method = conventions["history"], conventions["method"]
    if used is not None:
        yield f"The column of users' history was {used} by {method}."


def _about_prior(found: Mapping[str, Any]) -> Iterator[str]:
    """Say of which estimates, by name, the method's prior decides more than the ranks."""
    names = [name for name, each in found.items() if each["prior_decides"]]
    if names:
        yield _PRIOR.format(", ".join(names), found[names[0]]["method"])


def _about_order(found: Mapping[str, Any]) -> Iterator[str]:
    """Say which estimates of the exact mean, by name, depend on an order that no sample shows."""
    names = [name for name, each in found.items() if each["order_assumed"]]
    if names and found[names[0]]["interval_of"] == "exact":
        yield _ORDER.format(", ".join(names))


def _about_bounds(found: Mapping[str, Any]) -> Iterator[str]:
    """Say what the bounds are of, and which estimates, by name, lie outside theirs."""
    first = next(iter(found.values()))
    if first["bounds"] is not None:
        yield _POSSIBLE
        outside = [name for name, each in found.items() if is_impossible(each)]
        if outside:
            yield f"{first['method']} gives an impossible value of {', '.join(outside)}."


def is_impossible(found: Mapping[str, Any]) -> bool:
    """Whether the observed ranks do not allow an estimate; not where either is unknown."""
    low, high = found["bounds"] or (None, None)
    mean = found["mean"]
    return None not in (low, mean, high) and not low <= mean <= high


def _extent(size: Any) -> str:
    return f"{size[0]}..{size[1]}" if isinstance(size, list) else str(size)


def show_several(result: Mapping[str, Any], format: str, given: Given, *, by_row: bool) -> None:
    """Print the JSON form of SampledComparisons; `by_row` says that files have no users."""
    tables, note = [_means(result), _differences(result)], _several_note(result, given, by_row)
    _render.either(result, format, shown=tables, flat=_several_flat(result), note=note)


def _means(result: Mapping[str, Any]) -> Table:
    rows: list[list[str]] = []
    for measure, found in result["measures"].items():
        for i, (run, mean) in enumerate(found["means"].items()):
            rows.append([measure if i == 0 else "", run, *_cells(mean)])
    return {"columns": ["measure", "run", *_columns(_first(result))], "rows": rows}


def _differences(result: Mapping[str, Any]) -> Table:
    first = next(iter(result["measures"].values()))["differences"][0]
    bounded = first["bounds"] is not None
    rows = [
        [
            *(measure if i == 0 else "", test["run"], number(test["difference"], "+")),
            *(span(test["interval"], "+"), _probability(test["sign_probability"])),
            *([span(test["bounds"], "+")] if bounded else []),
        ]
        for measure, found in result["measures"].items()
        for i, test in enumerate(found["differences"])
    ]
    columns = ["measure", "run", "diff.", f"{first['level']:.4g} interval", "sign right"]
    return {"columns": [*columns, *(["possible"] if bounded else [])], "rows": rows}


def _several_flat(result: Mapping[str, Any]) -> Table:
    """Return a row for each measure and model: its mean, then its difference from the first."""
    ends = ("low", "high", "lowest", "highest")
    rows: list[list[Any]] = []
    for measure, found in result["measures"].items():
        tests = {test["run"]: test for test in found["differences"]}
        for run, mean in found["means"].items():
            test = tests.get(run)
            rows.append([measure, run, *(mean[name] for name in _MEAN), *_ends(mean)])
            rows[-1] += [result["baseline"], *(test[name] if test else None for name in _TEST)]
            rows[-1] += _ends(test) if test else [None] * len(ends)
    of_test = ("difference", "difference_std_error", *_TEST[2:])
    columns = ["measure", "run", *_MEAN, *ends, "baseline", *of_test]
    return {"columns": [*columns, *(f"difference_{end}" for end in ends)], "rows": rows}


def _ends(found: Mapping[str, Any]) -> list[Any]:
    return [*found["interval"], *(found["bounds"] or (None, None))]


def _several_note(result: Mapping[str, Any], given: Given, by_row: bool) -> str:
    conventions = _together(list(result["conventions"].values()))
    return f"{' '.join(_said(result, by_row))}\n{' '.join(given.again(conventions))}"


def _said(result: Mapping[str, Any], by_row: bool) -> Iterator[str]:
    """Say what the numbers are of, sentence by sentence."""
    first = _first(result)
    yield _meaning(first)
    yield from _about_history(_history(result))
    users = "row by row: the files have no users" if by_row else "on the same users"
    yield f"Differences are from {result['baseline']}, {users}."
    exact = first["interval_of"] == "exact"
    true = "exact one" if exact else f"one that {first['method']} gives on average"
    yield f"Sign right: the probability that the difference has the sign of the {true}."
    means = result["measures"].items()
    found = {f"{name} of {run}": one for name, each in means for run, one in each["means"].items()}
    yield from _about_prior(found)
    yield from _about_order({name: next(iter(each["means"].values())) for name, each in means})
    yield from _about_bounds(found)
    tests = [test for _, each in means for test in each["differences"]]
    if first["bounds"] is not None and any(test["either_sign"] for test in tests):
        yield "Where either sign is possible, the ranks alone do not tell which model is better."


def _history(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conventions of the first model that has a history, or of the first."""
    designs: list[dict[str, Any]] = list(result["conventions"].values())
    return next((each for each in designs if each["history"] is not None), designs[0])


def _together(conventions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the options that all files were read with; sizes that differ as [least, most]."""
    sizes = {
        name: sorted({n for each in conventions for n in _listed(each[name])})
        for name in ("n_items", "n_negatives")
    }
    extents = {name: found[:: len(found) - 1 or 1] for name, found in sizes.items()}
    return conventions[0] | {k: v[0] if len(v) == 1 else v for k, v in extents.items()}


def _listed(size: Any) -> list[int]:
    return cast("list[int]", size) if isinstance(size, list) else [size]


def _first(result: Mapping[str, Any]) -> dict[str, Any]:
    return next(iter(result["measures"].values()))["means"][result["baseline"]]


def _probability(value: float | None) -> str:
    if value is None:
        return number(None)
    return f">{_CERTAIN - 0.0005:.3f}" if value > _CERTAIN else f"{value:.3f}"
