"""What the numbers of a published result can support, without its tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium import _check
from podium.decide.audit.finding import Audit
from podium.decide.finding import Facts, finding
from podium.errors import ArgumentError, arg
from podium.evaluation.stats import summarize

_FORM = "n=500,hits=41,baseline=35"
_CONVENTIONS = {"min_relevance": 1.0, "candidates": None, "n_negatives": None}
_SIZE = 0.05  # of the test


def read_published(published: Any) -> Audit:
    """Audit a published share of hits against that of a baseline on the same queries.

    Parameters
    ----------
    published : str or mapping
        The number of queries n, and those with a hit of the result and of the baseline, such as
        "n=500,hits=41,baseline=35".

    Notes
    -----
    The exact sign test needs the queries in which only one of both has a hit. Their difference is
    known, and their number lies between this difference and the smallest of all hits and 2n - all
    hits. The p values of both ends are shown.

    References
    ----------
    mcnemar1947.
    """
    n, hits, baseline = _numbers(published)
    gain = hits - baseline
    most = min(hits + baseline, 2 * n - hits - baseline)
    low, high = (_sign_test(m, gain) for m in (abs(gain), most))
    shares = {"result": hits, "baseline": baseline}
    rates = {
        name: summarize(np.arange(n) < m, method="wilson", bounds=(0, 1))
        for name, m in shares.items()
    }
    texts = [
        f"{name} {100 * s.mean:.1f} % [{100 * s.interval.low:.1f}, {100 * s.interval.high:.1f}]"
        for name, s in rates.items()
    ]
    kind = "never" if low > _SIZE else "always" if high <= _SIZE else ""
    facts: Facts = {"shares": ", ".join(texts), "low": low, "high": high}
    difference = finding("published-difference", (abs(gain), n), kind=kind, **facts)
    values = {f"value of {name}": s.mean for name, s in rates.items()}
    p_values = {"smallest p value": low, "largest p value": high}
    return Audit((difference,), {"queries": n, **values, **p_values}, "hit_rate", _CONVENTIONS)


def _sign_test(n: int, gain: int) -> float:
    """Return the two-sided p value of n queries that differ, by `gain` more in one direction."""
    start = math.lgamma(n + 1) - n * math.log(2)
    least = range((n - abs(gain)) // 2 + 1)
    tail = sum(math.exp(start - math.lgamma(k + 1) - math.lgamma(n - k + 1)) for k in least)
    return min(1.0, 2 * tail)


def _numbers(published: Any) -> tuple[int, int, int]:
    """Return n, hits and baseline, or raise."""
    numbers: Any = published
    if isinstance(published, str):
        pairs = (part.partition("=") for part in published.split(","))
        numbers = {name.strip(): int(v) if v.strip().isdigit() else v for name, _, v in pairs}
    if not isinstance(numbers, Mapping) or {*numbers} != {"n", "hits", "baseline"}:
        raise ArgumentError(
            f"{arg.published} must be numbers such as {_FORM!r}, got {published!r}."
        )
    n = _check.cutoff(numbers["n"], name="n")
    hits, baseline = (
        int(_check.number(numbers[name], name, low=0, high=n)) for name in ("hits", "baseline")
    )
    return n, hits, baseline
