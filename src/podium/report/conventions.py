"""Conventions as the options that reproduce them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium._fields import FIELDS
from podium._grammar import word

GLUE = "\N{NO-BREAK SPACE}"  # joins words that must stay on one line


def conventions_line(conventions: Mapping[str, Any]) -> str:
    """Return the conventions as options that reproduce them."""
    remaining = dict(conventions)
    interval = remaining.pop("interval", "t")
    seeds = [remaining.pop("ties_seed", None), remaining.pop("bootstrap_seed", None)]
    like, computed = remaining.pop("like", None), remaining.pop("computed", {})
    changed = remaining.pop("changed", {})
    used = dict.fromkeys(seeds if interval == "bootstrap" else seeds[:1])  # random numbers
    options = [
        *_options(remaining),
        *(f"--seed{GLUE}{seed}" for seed in used if seed is not None),
        *([f"--interval{GLUE}{interval}"] if interval != "t" else []),
    ]
    if like is None:
        return " ".join(options)
    measures = [
        f"{text} is {' '.join([rules['measure'], *_options(rules, but='measure')])}"
        for text, rules in computed.items()
        if rules != {"measure": text}
    ]
    changes = " ".join(
        [f"--like{GLUE}{like}", *(GLUE.join(as_option(*rule)) for rule in changed.items())]
    )
    return "\n".join([f"{changes} stands for {' '.join(options)}.", *measures])


def _options(conventions: Mapping[str, Any], but: str = "") -> list[str]:
    """Return conventions as options, without those that are usual and need none."""
    usual = {"unretrieved": "count", "single_precision": False, but: conventions.get(but)}
    usual |= _usual_relevance(conventions)
    return [
        GLUE.join(as_option(name, value))
        for name, value in conventions.items()
        if value is not None and (name not in usual or usual[name] != value)
    ]


def as_option(name: str, value: Any) -> list[str]:
    """Return the words that set a convention on the command line.

    Examples
    --------
    >>> as_option("min_relevance", 2.0), as_option("single_precision", True)
    (['--min-relevance', '2'], ['--set', 'single_precision=true'])
    """
    if name in FIELDS and FIELDS[name].is_entry:
        return ["--set", f"{name}={word(value)}"]
    return [f"--{name.replace('_', '-')}", *([] if value is True else [word(value)])]


def _usual_relevance(conventions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the threshold and the treatment of low grades where no option is needed for them.

    By default, low grades count as 0 if a threshold is passed, and keep their gains if none is.
    """
    kept = {"low_grades": "keep", "min_relevance": 1}
    return kept if kept.items() <= conventions.items() else {"low_grades": "zero"}


def listed(conventions: Mapping[str, Any]) -> str:
    """Return conventions by name in one line.

    Examples
    --------
    >>> listed({"gain": "exp2", "single_precision": True})
    'gain=exp2, single_precision=true'
    """
    return ", ".join(f"{name}={word(value)}" for name, value in conventions.items())
