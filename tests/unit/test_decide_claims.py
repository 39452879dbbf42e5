"""Claims: the verdict of every position of an interval, users needed, and sentences."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from podium.decide.claims import Claim
from podium.evaluation.stats import Interval, clustered_mean

NAN = float("nan")


def claim(
    low: float,
    high: float,
    limit: float = -1.0,
    *,
    higher_is_better: bool = True,
    std_error: float = 1.0,
) -> Claim:
    """Return a claim of 100 users whose difference is the middle of the interval."""
    return Claim(
        role="primary",
        measure="ndcg@10",
        by="",
        segment="",
        higher_is_better=higher_is_better,
        base=0.25,
        candidate=0.25 + (low + high) / 2,
        difference=(low + high) / 2,
        std_error=std_error,
        interval=Interval(low, high),
        level=0.95,
        limit=limit,
        n_users=100,
        n_undefined=3,
    )


# Gains of an interval, the limit of the gain, and the verdict.
VERDICTS = [
    (1, 2, -1, "superior"),
    (0, 2, -1, "non-inferior"),
    (-0.5, 2, -1, "non-inferior"),
    (-0.5, -0.1, -1, "non-inferior"),
    (-1, 2, -1, "cannot tell"),
    (-2, 2, -1, "cannot tell"),
    (-2, -0.5, -1, "cannot tell"),
    (-2, -1, -1, "cannot tell"),
    (-3, -2, -1, "inferior"),
    (0, 0, -1, "non-inferior"),
    (0, 0, 0, "cannot tell"),
    (1, 2, 0, "superior"),
    (0, 1, 0, "cannot tell"),
    (-1, 1, 0, "cannot tell"),
    (-1, 0, 0, "cannot tell"),
    (-2, -1, 0, "inferior"),
    (2, 3, 1, "superior"),
    (0.5, 3, 1, "cannot tell"),
    (-1, 2, 1, "cannot tell"),
    (0.2, 0.5, 1, "inferior"),
    (-2, -1, 1, "inferior"),
    (NAN, NAN, -1, "cannot tell"),
    (-math.inf, math.inf, -1, "cannot tell"),
    (0.5, math.inf, -1, "superior"),
    (0.5, -0.5, 0, "cannot tell"),  # looks that contradict each other
    (-2, -3, -1, "cannot tell"),
]


@pytest.mark.parametrize(("low", "high", "limit", "verdict"), VERDICTS)
def test_verdict_follows_from_interval_and_limit(
    low: float, high: float, limit: float, verdict: str
) -> None:
    higher = claim(low, high, limit)
    lower = claim(-high, -low, -limit, higher_is_better=False)
    assert (higher.verdict, lower.verdict) == (verdict, verdict)
    assert higher.holds == (verdict in ("superior", "non-inferior"))
    assert lower.users_needed == higher.users_needed


@pytest.mark.parametrize(
    "one",
    [
        claim(1, 2),  # the verdict is known
        claim(-2, 0),  # the difference is the limit
        claim(-2 + 1e-15, 1e-15),  # it is the limit but for rounding
        claim(NAN, NAN),
        claim(-2, 2, std_error=NAN),
        claim(0.5, -0.5, 0),  # looks contradict each other
    ],
)
def test_no_number_of_users_is_given_without_use(one: Claim) -> None:
    assert one.users_needed is None
    assert "would probably suffice" not in one.sentence()


def test_users_needed_are_those_of_the_power_unless_beyond_any_number() -> None:
    assert claim(-1, 3, 0).users_needed == math.ceil(100 * 2.8416**2)
    for error in (1e7, 1e200):
        assert claim(1 - 2 * error, 1 + 2 * error, 0, std_error=error).users_needed is None


@pytest.mark.long
@pytest.mark.parametrize("gain", [0.0, -0.35])
def test_users_needed_have_about_80_percent_power(gain: float) -> None:
    """The limit is -0.2, so the first is shown to be non-inferior, the second to be inferior."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=60)
    values += gain - values.mean()
    estimate = clustered_mean(values)
    first = replace(
        claim(0, 0, -0.2),
        difference=estimate.mean,
        std_error=estimate.std_error,
        interval=estimate.interval(0.95),
        n_users=60,
    )
    assert first.verdict == "cannot tell"
    assert first.users_needed is not None
    verdicts = [
        replace(
            first,
            interval=clustered_mean(
                gain + values.std(ddof=1) * rng.normal(size=first.users_needed)
            ).interval(0.95),
        ).verdict
        for _ in range(2000)
    ]
    is_known = [verdict != "cannot tell" for verdict in verdicts]
    assert np.mean(is_known) == pytest.approx(0.8, abs=0.03)
