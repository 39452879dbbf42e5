"""Sections from the details of an evaluation or comparison: curves, gains and losses, users.

The details are a plain dictionary, see `podium.evaluation.details`. All keys are optional.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium._text import counted
from podium.report._types import Lists, Section
from podium.report.cells import number
from podium.report.pictures import measured


def distributions(details: Mapping[str, Any]) -> Iterator[Section]:
    """Yield a section with the distribution of each measure over users."""
    figures = [
        measured.distribution(name, bins) for name, bins in details.get("histograms", {}).items()
    ]
    if figures:
        yield {"title": "Distributions", "figures": figures}


def curves(details: Mapping[str, Any]) -> Iterator[Section]:
    """Yield a section with the mean of each measure at several cutoffs."""
    figures = [measured.curve(name, curve) for name, curve in details.get("curves", {}).items()]
    if figures:
        text = "The mean of each measure, if the list is cut after k items."
        n_users = next(iter(details["curves"].values())).get("n_users")
        if n_users is not None:
            text += (
                f" The tables are on disk: these are the means of {n_users:,} users, at equal "
                "distances in the order of ids."
            )
        if left_out := details.get("runs_left_out", 0):
            text += f" The best runs and the baseline are shown; {left_out} others are not."
        yield {"title": "Measures at other cutoffs", "text": text, "figures": figures}


def gains(details: Mapping[str, Any]) -> Iterator[Section]:
    """Yield a section on who gains and who loses with a run instead of the baseline."""
    gain = details.get("gains")
    if gain is None:
        return
    figures = [measured.gains(gain)]
    if gain["segments"]:
        figures.append(measured.gains_by_segment(gain))
    yield {"title": "Who gains, who loses", "text": _counts(gain), "figures": figures}


def _counts(gain: Mapping[str, Any]) -> str:
    n = max(gain["wins"] + gain["losses"] + gain["equal"], 1)
    better, worse, equal = (
        f"{counted(gain[name], 'users')} ({100 * gain[name] / n:.0f} %)"
        for name in ("wins", "losses", "equal")
    )
    return (
        f"With {gain['run']} instead of {gain['baseline']}, {gain['measure']} is better for "
        f"{better}, worse for {worse}, and equal for {equal}."
    )


def users(details: Mapping[str, Any]) -> Iterator[Section]:
    """Yield a section with the worst-served users and their lists."""
    served = details.get("users")
    if not served or not served["users"]:
        return
    measure, run = served["measure"], served["run"]
    of_run = f" by {run}" if run else ""
    text = (
        f"The users with the lowest {measure}{of_run}; among equal ones, those with the most "
        "relevant items. Relevant items are marked."
    )
    if not served["higher_is_better"]:
        text = text.replace("lowest", "highest")
    if n := served["n_without_list"]:
        text += f" {counted(n, 'users')} without a list {'is' if n == 1 else 'are'} left out."
    yield {
        "title": "Worst-served users",
        "text": text,
        "lists": [_card(user, measure) for user in served["users"]],
    }


def _card(user: Mapping[str, Any], measure: str) -> Lists:
    values = ", ".join(f"{run} {number(v)}" if run else number(v) for run, v in user["values"])
    n = int(user["n_pos"])
    return {
        "title": f"User {user['user']}",
        "note": f"{measure}: {values} · {counted(n, 'relevant items')}",
        "lists": dict(user["lists"]),
        "after": _missed(user["missed"], user["n_missed"]),
    }


def _missed(titles: Sequence[str], n: int) -> str:
    if not n:
        return ""
    more = f" and {n - len(titles):,} more" if n > len(titles) else ""
    return f"Relevant, not shown: {', '.join(titles)}{more}"
