"""Conventions as the options that reproduce them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GLUE = "\N{NO-BREAK SPACE}"  # joins words that must stay on one line


def conventions_line(conventions: Mapping[str, Any]) -> str:
    """Return the conventions as options that reproduce them."""
    remaining = dict(conventions)
    interval = remaining.pop("interval", "t")
    like, computed = remaining.pop("like", None), remaining.pop("computed", {})
    if interval != "bootstrap" and remaining.get("ties") != "random":
        remaining.pop("seed", None)  # no random numbers were used
    options = _options(remaining) + ([f"--interval{GLUE}{interval}"] if interval != "t" else [])
    if like is None:
        return " ".join(options)
    measures = [
        f"{text} is {' '.join([rules['measure'], *_options(rules, but='measure')])}"
        for text, rules in computed.items()
        if rules != {"measure": text}
    ]
    return "\n".join([f"--like{GLUE}{like} stands for {' '.join(options)}.", *measures])


def _options(conventions: Mapping[str, Any], but: str = "") -> list[str]:
    """Return conventions as options, without those that are usual and need none."""
    usual = {"unretrieved": "count", "single_precision": False, but: conventions.get(but)}
    usual |= _usual_relevance(conventions)
    unusual = {
        name: value
        for name, value in conventions.items()
        if value is not None and (name not in usual or usual[name] != value)
    }
    return [
        f"--{name.replace('_', '-')}{'' if value is True else f'{GLUE}{_text(value)}'}"
        for name, value in unusual.items()
    ]


def _usual_relevance(conventions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the threshold and the treatment of low grades where no option is needed for them.

    By default, low grades count as 0 if a threshold is passed, and keep their gains if none is.
    """
    low_grades, threshold = conventions.get("low_grades"), conventions.get("min_relevance")
    if low_grades == "keep" and threshold == 1:
        return {"low_grades": "keep", "min_relevance": threshold}
    return {"low_grades": "zero"}


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
