"""Claims: the verdict of every position of an interval, users needed, and sentences."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from podium.decide.claims import Claim, Role
from podium.evaluation.stats import Interval, clustered_mean

NAN = float("nan")


def claim(
    low: float,
    high: float,
    limit: float = -1.0,
    *,
    higher_is_better: bool = True,
    std_error: float = 1.0,
    role: Role = "primary",
) -> Claim:
    """Return a claim of 100 users whose difference is the middle of the interval."""
    return Claim(
        role=role,
        measure="ndcg@10",
        by="country" if role == "segment" else "",
        segment="FR" if role == "segment" else "",
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
    ("one", "reason"),
    [
        (claim(1, 2), "the verdict is known"),
        (claim(-2, 0), "the difference is the limit"),
        (claim(-2 + 1e-15, 1e-15), "it is the limit but for rounding"),
        (claim(NAN, NAN), "there is no interval"),
        (claim(-2, 2, std_error=NAN), "there is no error"),
        (claim(0.5, -0.5, 0), "looks contradict each other"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_number_of_users_is_given_if(one: Claim, reason: str) -> None:
    del reason
    assert one.users_needed is None
    assert "would probably suffice" not in one.sentence()


def test_users_needed_is_that_of_the_normal_distribution() -> None:
    # half width 2, gap of the difference 0 to the limit 1, power quantile of 80 % 0.8416
    assert claim(-2, 2, std_error=1.0).users_needed == math.ceil(100 * (2 + 0.8416) ** 2)
    # On the other side of the limit, the same distance is necessary to show that it is inferior.
    assert claim(-4, 0, std_error=1.0).users_needed == math.ceil(100 * (2 + 0.8416) ** 2)


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


def test_sentence_says_the_verdict_with_the_interval() -> None:
    assert claim(0.25, 0.75).sentence("als", "two-tower") == (
        "ndcg@10: two-tower is superior to als (+0.5000, 0.95 gate interval [+0.2500, +0.7500], "
        "limit -1)."
    )
    assert claim(-3, -2, role="guard").sentence().startswith("guard ndcg@10 is broken (")
    assert claim(0, 1, role="guard").sentence().startswith("guard ndcg@10 holds (")
    assert claim(-3, -2, role="segment").sentence().startswith("ndcg@10 in country FR: candidate")


def test_sentence_that_cannot_tell_says_what_would() -> None:
    assert claim(-2, 2).sentence() == (
        "ndcg@10: can't tell (+0.0000, 0.95 gate interval [-2.0000, +2.0000], limit -1). About 810 "
        "users (now 100) would probably suffice, if the true difference is the observed one."
    )


@pytest.mark.parametrize(
    ("n_users", "n_undefined", "reason"),
    [
        (1, 0, "an interval requires two users, got 1."),
        (0, 7, "an interval requires two users, got 0 (7 undefined)."),
        (5, 0, "the 5 users are in too few clusters for an interval."),
    ],
)
def test_sentence_without_an_interval_says_why(n_users: int, n_undefined: int, reason: str) -> None:
    one = replace(claim(NAN, NAN), n_users=n_users, n_undefined=n_undefined)
    assert one.sentence() == f"ndcg@10: can't tell, because {reason}"


def test_json_has_no_nan_or_infinity() -> None:
    for one in (claim(NAN, NAN, std_error=NAN), claim(-math.inf, math.inf), claim(-2, 2)):
        plain = json.loads(json.dumps(one.as_json("a", "b"), allow_nan=False))
        assert plain["verdict"] == one.verdict
        assert plain["users_needed"] == one.users_needed
        assert plain["sentence"] == one.sentence("a", "b")
        assert len(plain["interval"]) == 2
    assert claim(NAN, NAN, std_error=NAN).as_json()["std_error"] is None
    assert claim(-math.inf, 3).as_json()["interval"] == [None, 3]
