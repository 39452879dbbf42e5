"""The most important sentence of a result, from its JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podium._text import counted
from podium.report import estimate_notes as notes
from podium.report.cells import change, changes, number, p_value, percentage

_MOST_NAMES = 3
_SCOPE = (
    "The interval is for the mean over similar users: it includes the variation between users, but "
    "not the variation between trainings of the model."
)


@dataclass(frozen=True)
class Lead:
    """The run with the best mean of a measure, and its tests against other runs.

    Attributes
    ----------
    run : str
    mean : float
    equal : tuple of str
        The other runs with exactly this mean.
    significant, others : dict of run to test
        The tests against other runs: those that show a lead, and all others.
    untested : tuple of str
        The runs that were not compared with this one.
    """

    run: str
    mean: float
    equal: tuple[str, ...]
    significant: dict[str, Mapping[str, Any]]
    others: dict[str, Mapping[str, Any]]
    untested: tuple[str, ...]

    @property
    def is_proven(self) -> bool:
        """Whether the lead over every other run is significant."""
        return not self.others and not self.untested


def lead(tested: Mapping[str, Any]) -> Lead | None:
    """Return the run with the best mean in one measure of a Comparison; None if all are undefined.

    A lead is significant if its p value after Holm's correction is at most 1 - level.
    """
    means = best_first(tested)
    if not means:
        return None
    best = next(iter(means))
    tests = {
        (set(pair) - {best}).pop(): test
        for test in tested["differences"]
        if best in (pair := (test["run"], test["baseline"]))
    }
    significant = {run: test for run, test in tests.items() if is_significant(test)}
    others = {run: test for run, test in tests.items() if run not in significant}
    untested = tuple(run for run in tested["means"] if run != best and run not in tests)
    return Lead(best, means[best], _equal(means), significant, others, untested)


def best_first(tested: Mapping[str, Any]) -> dict[str, float]:
    """Return the means of one measure by run, the best first; equal ones in their order.

    Runs without a mean are left out.
    """
    means = {run: m["mean"] for run, m in tested["means"].items() if m["mean"] is not None}
    pairs = sorted(means.items(), key=lambda pair: pair[1], reverse=tested["higher_is_better"])
    return dict(pairs)


def _equal(means: Mapping[str, float]) -> tuple[str, ...]:
    """Return the other runs with exactly the mean of the first one."""
    best, *others = means
    return tuple(run for run in others if means[run] == means[best])


def is_significant(test: Mapping[str, Any]) -> bool:
    """Return whether the p value after Holm's correction is at most 1 - level."""
    p = test.get("holm_p_value")
    return p is not None and p <= round(1 - test["level"], 12)


def of_comparison(result: Mapping[str, Any]) -> list[str]:
    """Return which run is best in each measure, and if it is significant."""
    return [_of(name, lead(tested)) for name, tested in result["measures"].items()]


def _of(measure: str, best: Lead | None) -> str:
    """Return the sentences on one measure."""
    if best is None:
        return f"No run has a value of {measure}."
    sentences = [_best(best.run, best.equal, f"mean {measure}", best.mean)]
    better, not_better = (_tests(best, tests) for tests in (best.significant, best.others))
    if better:
        but = f", but not significantly better than {not_better}" if not_better else ""
        sentences.append(f"It is significantly better than {better}{but}.")
    elif not_better:
        sentences.append(f"It is not significantly better than {not_better}.")
    if best.untested:
        sentences.append(f"It was not compared with {_names(best.untested)}.")
    return " ".join(sentences)


def _best(run: str, equal: Sequence[str], measure: str, mean: float) -> str:
    """Return the sentence on the runs with the best mean."""
    have = "have" if equal else "has"
    return f"{_names([run, *equal])} {have} the best {measure}, {number(mean)}."


def _tests(best: Lead, tests: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the runs; a single one with its difference, interval and p value."""
    names = _names(list(tests))
    if len(tests) != 1:
        return names
    (test,) = tests.values()
    sign = 1 if test["run"] == best.run else -1
    if test["difference"] is None:
        return names
    ends = [end if end is None else sign * end for end in test["interval"]][::sign]
    interval = f" {changes(ends)}" if None not in ends else ""
    p = f", p Holm {p_value(test['holm_p_value'])}"
    return f"{names} ({change(sign * test['difference'])}{interval}{p})"


def _names(names: Sequence[str]) -> str:
    """Return the names, or the first of many and the number of the others."""
    if len(names) > _MOST_NAMES + 1:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} others"
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])


def of_evaluation(result: Mapping[str, Any]) -> list[str]:
    """Return the mean of the first measure with its interval, and what the interval includes."""
    name, summary = next(iter(result["measures"].items()))
    n, n_undefined = summary["n_groups"], summary["n_undefined"]
    if summary["mean"] is None:
        of_users = counted(n + n_undefined, "users")
        return [f"Mean {name} is undefined: none of {of_users} has a value."]
    mean = f"Mean {name} is {number(summary['mean'])} over {counted(n, 'users')}"
    interval = _with_interval(summary)
    return [f"{mean}{interval}.", _SCOPE] if interval else [f"{mean}. There is no interval."]


def _with_interval(summary: Mapping[str, Any]) -> str:
    """Return the interval of a mean as the end of a sentence; empty without an interval."""
    low, high = summary["interval"]
    if low is None or high is None:
        return ""
    level = percentage(summary["level"])
    return f", with a {level} interval from {number(low)} to {number(high)}"


def of_estimate(result: Mapping[str, Any]) -> list[str]:
    """Return the first estimate with its interval, and whether the ranks determine it."""
    name, estimate = next(iter(result["measures"].items()))
    if estimate["mean"] is None:
        return [f"{name} of the whole ranking can't be estimated from these ranks."]
    by = f" by {estimate['method']}" if notes.is_of_expectation(estimate) else ""
    mean = f"{number(estimate['mean'])}{_with_interval(estimate)}"
    sentences = [f"{name} of the ranking of all items is estimated{by} at {mean}."]
    if by:
        sentences.append(notes.meaning(estimate))
    if is_determined(estimate) is False:
        sentences.append("Without assumptions, the sampled ranks do not determine it.")
    return sentences


def is_determined(estimate: Mapping[str, Any]) -> bool | None:
    """Return whether the ranks alone allow no values far outside the interval; None if unknown."""
    if estimate["prior_decides"]:
        return False
    low, high = estimate["interval"]
    if estimate["bounds"] is None or None in (low, high, *estimate["bounds"]):
        return None
    lowest, highest = estimate["bounds"]
    return highest - lowest <= 2 * (high - low)


def of_estimates(result: Mapping[str, Any]) -> list[str]:
    """Return the best estimate of several models, and its differences from the first one."""
    name, results = next(iter(result["measures"].items()))
    means = best_first(results)
    if not means:
        return [f"{name} of the whole ranking can't be estimated from these ranks."]
    best = next(iter(means))
    start = [_best(best, _equal(means), f"estimate of {name}", means[best])]
    if any(map(notes.is_of_expectation, results["means"].values())):
        start.append(notes.meaning_of_runs(results["means"]))
    tests = [t for t in results["differences"] if best in (t["run"], result["baseline"])]
    differences = (
        f"{test['run']} - {test['baseline']} is {change(test['difference'])} "
        f"{changes(test['interval'])}."
        for test in tests[:_MOST_NAMES]
    )
    return [*start, *differences]
