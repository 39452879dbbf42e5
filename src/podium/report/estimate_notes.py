"""What the numbers of estimates mean, in sentences, and the options that reproduce them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from podium._text import counted

_POSSIBLE = "Possible: all values that the observed ranks allow, whatever the method."
_PRIOR = (
    "The ranks contain almost no information on {}. The mean follows from the assumptions of {}, "
    "and the interval covers all values that the ranks allow."
)
_ORDER = (
    "The order of the first N / negatives ranks is assumed, because samples hardly distinguish "
    "them. It affects {}."
)
_NO_SIGN = (
    "Where assumptions decide on a mean, the interval of its difference covers all differences "
    "that the ranks allow, and the probability of the sign is unknown (–)."
)
_FLAGS = ("--shared", "--no-replacement", "--drop-seen")
_SHARED = "Measures are those of whole rankings, with all targets of a user."
_VALUES = ("--seen", "--ties", "--level", "--seed")


def of_estimate(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the meaning of intervals and bounds."""
    yield meaning(next(iter(result["measures"].values())))
    yield from _about_design(result["conventions"], result["conventions"])
    yield from _about_bounds(result["measures"])
    yield from _about_prior(result["measures"])
    yield from _about_order(result["measures"].items())


def of_comparison(result: Mapping[str, Any], by_row: bool) -> Iterator[str]:
    """Yield sentences on the meaning of the numbers."""
    measures = result["measures"].items()
    tests = [test for _, results in measures for test in results["differences"]]
    yield meaning_of_runs(next(iter(result["measures"].values()))["means"])
    designs = [*result["conventions"].values()]
    history = (design for design in designs if design["history"] is not None)
    yield from _about_design(designs[0], next(history, designs[0]))
    users = "row by row: there are no users" if by_row else "on the same users"
    yield f"Differences are from {result['baseline']}, {users}."
    biased = next((test["method"] for test in tests if is_of_expectation(test)), None)
    true_difference = "expected difference of " + biased if biased else "exact difference"
    yield f"Sign right: the probability that the difference has the sign of the {true_difference}."
    runs = [(name, *item) for name, results in measures for item in results["means"].items()]
    estimates = {f"{name} of {run}": estimate for name, run, estimate in runs}
    yield from _about_prior(estimates)
    if any(test["prior_decides"] and test["sign_probability"] is None for test in tests):
        yield _NO_SIGN
    yield from _about_order((name, estimate) for name, _, estimate in runs)
    yield from _about_bounds(estimates)
    if is_open(tests):
        yield "Where either sign is possible, the ranks alone do not show which model is better."


def meaning(estimate: Mapping[str, Any], of: str = "") -> str:
    """Return a sentence on the meaning of an estimate's interval; `of` names biased models."""
    if not is_of_expectation(estimate):
        return "Means over users, estimated for a ranking of all items."
    return (
        f"{estimate['method']} is biased{of}: its intervals are for its expectation over users and "
        "samples, not for the measure of a ranking of all items."
    )


def meaning_of_runs(means: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the sentence for the means of several models, of which some may be exact."""
    biased = [run for run, estimate in means.items() if is_of_expectation(estimate)]
    if len(biased) in (0, len(means)):
        return meaning(next(iter(means.values())))
    return meaning(means[biased[0]], f" for {', '.join(biased)}")


def is_of_expectation(estimate: Mapping[str, Any]) -> bool:
    """Return whether an interval is for the expectation of a biased method."""
    return estimate["interval_of"] == "expectation"


def is_open(tests: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether the ranks allow either sign of a difference."""
    return any(test["either_sign"] for test in tests)


def is_impossible(estimate: Mapping[str, Any]) -> bool:
    """Return whether the observed ranks exclude an estimate; False if either is unknown."""
    low, high = estimate["bounds"] or (None, None)
    mean = estimate["mean"]
    return None not in (low, mean, high) and not low <= mean <= high


def about_sizes(conventions: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sizes of samples, if no option in `options` states them."""
    if not _is_scan(conventions) and not _size(conventions, given):
        size = conventions["n_negatives"]
        text = f"{size[0]} to {size[1]} items" if isinstance(size, list) else counted(size, "items")
        yield f"Samples have {text} beside the target."


def options(conventions: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Return the options that reproduce a result; values None and False are left out."""
    return " ".join(_each_option(conventions, given))


def _about_design(design: Mapping[str, Any], history: Mapping[str, Any]) -> Iterator[str]:
    """Yield that users have all their targets, and whether the method used their history."""
    if design.get("shared"):
        yield _SHARED
    if history["history"] is not None:
        yield f"The column of users' history was {history['history']} by {history['method']}."


def _about_prior(estimates: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on estimates that depend more on the method's prior than on ranks."""
    names = [name for name, estimate in estimates.items() if estimate["prior_decides"]]
    if names:
        yield _PRIOR.format(", ".join(names), estimates[names[0]]["method"])


def _about_order(estimates: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield a sentence on the measures whose estimates depend on an order that no sample shows."""
    open_ones = [(n, e) for n, e in estimates if e["order_assumed"] and not is_of_expectation(e)]
    if open_ones:
        yield _ORDER.format(", ".join(dict.fromkeys(name for name, _ in open_ones)))


def _about_bounds(estimates: Mapping[str, Any]) -> Iterator[str]:
    """Yield the meaning of the bounds, and the estimates outside their bounds."""
    first = next(iter(estimates.values()))
    if first["bounds"] is not None:
        yield _POSSIBLE
        outside = [name for name, estimate in estimates.items() if is_impossible(estimate)]
        if outside:
            yield f"{first['method']} gives an impossible value of {', '.join(outside)}."


def _each_option(conventions: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    method = conventions["method"]
    is_scan = _is_scan(conventions)
    if not is_scan or method == "naive":
        yield f"--method {method!r}" if "(" in method else f"--method {method}"
    yield f"--items {given.get('--items') or _size_text(conventions['n_items'])}"
    if is_scan:
        conventions = {**conventions, "replacement": True}  # the strata say how items were drawn
    elif size := _size(conventions, given):
        yield f"--negatives {size}"
    flags = {"--no-replacement": not conventions["replacement"], **given}
    flags["--shared"] = conventions.get("shared", False)
    yield from (name for name in _FLAGS if flags.get(name))
    uses_seed = conventions["n_bootstrap"] is not None or given.get("--ties") == "random"
    values = {**given, "--seed": conventions["seed"] if uses_seed else None}
    pairs = [("--column", name) for name in given.get("--column") or ()]
    pairs += [(name, values[name]) for name in _VALUES if values.get(name) is not None]
    yield from (f"{name} {shlex.quote(str(value))}" for name, value in pairs)


def _is_scan(conventions: Mapping[str, Any]) -> bool:
    return conventions["method"].startswith("scan(") or "n_listed" in conventions


def _size(conventions: Mapping[str, Any], given: Mapping[str, Any]) -> int | None:
    """Return the size of all samples as an option; None if sizes differ, or were read."""
    size = given.get("--negatives", conventions["n_negatives"])
    return size if isinstance(size, int) else None


def _size_text(size: Any) -> str:
    return f"{size[0]}..{size[1]}" if isinstance(size, list) else str(size)
