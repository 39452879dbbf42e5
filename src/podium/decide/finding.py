"""Findings from their words, which `findings.toml` has for each check, and the facts of a check."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from numbers import Integral, Real
from string import Formatter
from typing import Any, TypeAlias

import numpy as np

from podium._numbers import measured
from podium._text import counted
from podium.evaluation.finding import Effect, Finding
from podium.types import Mask

Facts: TypeAlias = dict[str, Any]
"""The names in the words of a finding."""

# A fault that concerns fewer than one in a thousand rows and moves the measure by at most a tenth
# of its standard error cannot change a conclusion: a change of 0.1 standard errors moves a p value
# of 0.05 to 0.06 at most. Such a fault is a note.
_SMALL_SHARE = 0.001
_SMALL_CHANGE = 0.1


def finding(
    check: str,
    of: int | tuple[int, int],
    examples: tuple[str, ...] = (),
    effects: tuple[Effect, ...] = (),
    *,
    kind: str = "",
    run: str = "",
    **facts: Any,
) -> Finding:
    """Return the finding of a check in its words.

    Parameters
    ----------
    check : str
        A table of `findings.toml`.
    of : (int, int), or int
        The number of faulty things, and of those that were checked; one number is both.
    kind : str
        The table of the check that has other words; "" or one that is not there has none. The
        default is "all" if everything that was checked is faulty.
    run : str
        The name of the run, or "" if the fault is in the training or test part.
    **facts
        The names in the texts.

    Examples
    --------
    >>> finding("extra-users", (1, 9), run="a").text
    'Run a lists items for 1 user outside TEST. The measure ignores these lists.'
    """
    count, total = of if isinstance(of, tuple) else (of, of)
    kind = kind or ("all" if count == total else "")
    words = {"noun": "pairs", "small": False} | table()[check] | table()[check].get(kind, {})
    facts |= {"count": count, "total": total, "run": run}
    severity = words["severity"]
    if words["small"] and is_small(count, total, effects):
        severity = "note"
    text, remedy = (_WORDS.format(words[name], **facts) for name in ("text", "remedy"))
    numbers = run, count, total, words["noun"]
    return Finding(check, severity, text, remedy, *numbers, examples, effects)


def fault(
    check: str,
    of: tuple[int, int] | Mask,
    examples: tuple[str, ...] = (),
    effects: Callable[[], tuple[Effect, ...]] = tuple,
    **facts: Any,
) -> Finding | None:
    """Return the finding of a check, or None if nothing is faulty.

    Parameters
    ----------
    check, examples, **facts
        The arguments of `finding`.
    of : (int, int), or bool array
        The number of faulty things, and of those that were checked, or which of them are faulty.
    effects : callable
        The function that measures the effects. It is called only if there is a fault.
    """
    count, total = (int(of.sum()), of.size) if isinstance(of, np.ndarray) else of
    return finding(check, (count, total), examples, effects(), **facts) if count else None


@cache
def table() -> dict[str, Any]:
    """Return the words of all checks."""
    return tomllib.loads(files("podium.decide").joinpath("findings.toml").read_text("utf-8"))


def is_small(count: int, total: int, effects: Sequence[Effect]) -> bool:
    """Return whether a fault is far too small to matter."""
    is_known = bool(effects) and all(effect.change == effect.change for effect in effects)
    is_rare = count < _SMALL_SHARE * total
    changes_little = all(abs(e.change) <= _SMALL_CHANGE * e.std_error for e in effects)
    return is_rare and is_known and changes_little


class _Words(Formatter):
    """Texts with numbers: integers with commas, means with four digits, "{n:users}", "{x:%}"."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        """Return a value as text."""
        if len(format_spec) > 1 and format_spec.isalpha():
            return counted(value, format_spec)
        if format_spec == "%":
            return f"{100 * value:.0f} %"
        if not format_spec and isinstance(value, Real):
            return f"{value:,}" if isinstance(value, Integral) else measured(float(value))
        return super().format_field(value, format_spec)


_WORDS = _Words()
