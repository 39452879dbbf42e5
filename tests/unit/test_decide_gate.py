"""The gate: verdicts, equal and unjudged lists, users needed, refusals; not its numbers (pairs)."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t as t_distribution
from tests.raised import raises
from tests.unit.gate_tables import (
    BASE,
    CANDIDATE,
    GUARDS,
    PAST,
    TRUTH,
    USERS,
    N,
    Table,
    with_text_ids,
)

from podium import measure
from podium.data import pool_unjudged
from podium.decide import Gate, gate
from podium.decide.claims import Claim
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.evaluation import labels_to_settle
from podium.evaluation.stats import Interval
from podium.protocol import Protocol

NAN = float("nan")


@cache
def template() -> Claim:
    return gate(TRUTH, BASE, CANDIDATE).primary


def claim(low: float, high: float, limit: float = -1.0, **parts: Any) -> Claim:
    """Return a claim of 100 users whose difference is the middle of the interval."""
    numbers = {"difference": (low + high) / 2, "std_error": 1.0, "limit": limit, "n_users": 100}
    return replace(template(), **{**numbers, "interval": Interval(low, high), **parts})


def decided(**verdicts: str) -> Gate:
    """Return a gate whose claims have these verdicts."""
    ends = dict(zip(VERDICTS, ((1, 2), (-0.5, 0.5), (-2, 2), (-3, -2)), strict=True))
    return Gate(tuple(claim(*ends[verdict], role=role) for role, verdict in verdicts.items()))


VERDICTS = ("superior", "non-inferior", "cannot tell", "inferior")


@pytest.mark.parametrize(("primary", "guard", "segment"), [*itertools.product(VERDICTS, repeat=3)])
@pytest.mark.parametrize("role", ["guard", "floor"])
def test_decision_follows_from_the_verdicts(
    primary: str, guard: str, segment: str, role: str
) -> None:
    guard = {"non-inferior": "superior"}.get(guard, guard) if role == "floor" else guard
    result = decided(**{"primary": primary, role: guard, "segment": segment})
    if "inferior" in (primary, guard, segment):
        expected, n_reasons = "fail", (primary, guard, segment).count("inferior")
    elif "cannot tell" in (primary, guard):
        expected, n_reasons = "cannot tell", (primary, guard).count("cannot tell")
    else:
        expected, n_reasons = "pass", 0
    assert (result.decision, len(result.reasons)) == (expected, n_reasons)
    assert result.verdict == primary
    heading = {"pass": "Pass: ", "fail": "Fail: ", "cannot tell": "Can't tell: "}[expected]
    assert str(result).startswith(heading)
    assert json.loads(json.dumps(result.as_json(), allow_nan=False))["decision"] == expected


@pytest.mark.parametrize("is_text", [*itertools.product([False, True], repeat=3)])
def test_ids_of_tables_may_be_numbers_or_text(is_text: tuple[bool, ...]) -> None:
    """As text, user 10 is before user 9; the order of users must follow the labels."""
    base, candidate, users = (
        with_text_ids(table) if text else table
        for table, text in zip((BASE, CANDIDATE, USERS), is_text, strict=True)
    )
    options: dict[str, Any] = {"by": "country", "weight": "visits"}
    result = gate(TRUTH, base, candidate, "ndcg@5", users=users, **options)
    expected = gate(TRUTH, BASE, CANDIDATE, "ndcg@5", users=USERS, **options)
    for one, other in zip(result.claims, expected.claims, strict=True):
        assert (one.segment, one.difference, one.std_error) == pytest.approx(
            (other.segment, other.difference, other.std_error)
        )


SHOWN = {"coverage@2": -1.0, "novelty@2": -5.0}
SEQUENTIAL = {"state": "s"}
BOUNDS = {"unjudged": "bounds"}


def weights(*first: float, rest: float = 1.0) -> dict[str, Any]:
    """Return the options of a column of weights, the first of them given."""
    column = [*first, *[rest] * (N - len(first))]
    return {"users": {"user": list(range(N)), "w": column}, "weight": "w"}


REFUSED: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"protocol": "ndgc@5"}, ()),
    ({"protocol": "coverage@5"}, ("measures",)),
    ({"guards": {"novelty": 0}}, ()),
    ({"margin": -0.1}, ("margin",)),
    ({"guards": {"rr": None}}, ("guards",)),
    ({"guards": {"rr": math.nan}}, ("guards",)),
    ({"guards": {"map@5": 0, "ap@5": 0}}, ("measures", "guards")),
    ({"guards": {"ndcg@5": 0}}, ("measures", "guards")),
    ({"at_least": "rr"}, ("at_least",)),
    ({"at_least": {"rr": 80}}, ("at_least",)),
    ({"at_least": {"map@5": 0.5, "ap@5": 0.5}}, ("at_least",)),
    ({"names": ("a",)}, ()),
    ({"cluster": "home"}, ("cluster", "users")),
    ({"weight": "w"}, ("weight", "users")),
    ({"users": USERS}, ("users", "by", "cluster", "weight")),
    ({"catalogue": PAST}, ("catalogue",)),
    ({"guards": SHOWN}, ("catalogue",)),
    ({"users": {"user": [1, 2], "w": [1, 2]}, "cluster": "w"}, ("users", "cluster")),
    ({"users": USERS, "weight": "country"}, ("weight",)),
    (weights(-1.0), ("weight",)),
    (weights(1.0, np.inf), ("weight",)),
    (weights(rest=0.0), ("weight",)),
    ({"sequential": "false"}, ("sequential",)),
    ({"horizon": 9}, ("horizon", "state")),
    ({**SEQUENTIAL, "horizon": 0}, ("horizon",)),
    ({**SEQUENTIAL, "by": "n_pos"}, ("by", "state")),
    ({**SEQUENTIAL, "guards": SHOWN, "catalogue": PAST, "horizon": 99}, ("state",)),
    ({**SEQUENTIAL, "guards": {"dcg@5": 0}}, ("state", "horizon")),
    ({**SEQUENTIAL, "state": "."}, ("state",)),
    ({**SEQUENTIAL, **BOUNDS, "horizon": 9}, ("unjudged", "state")),
    ({**BOUNDS, "protocol": "pap@3"}, ("unjudged",)),
    ({**BOUNDS, "guards": {"hit_rate@1": -0.1}}, ("unjudged",)),
]


@pytest.mark.parametrize(("options", "parameters"), REFUSED)
def test_wrong_arguments_are_refused(options: dict[str, Any], parameters: tuple[str, ...]) -> None:
    with raises(ArgumentError, *parameters):
        gate(TRUTH, BASE, CANDIDATE, **{"protocol": "ndcg@5", **options})


def test_users_that_do_not_fit_are_refused() -> None:
    for users, by in ((USERS, "contry"), ({"user": [900], "country": ["FR"]}, "country")):
        with pytest.raises(DataError):
            gate(TRUTH, BASE, CANDIDATE, "ndcg@5", users=users, by=by)


def test_a_cluster_can_have_any_name() -> None:
    means = []
    for name in ("unknown", "home"):
        users = {"user": list(range(N)), "home": [name, *(f"h{i % 20}" for i in range(1, N))]}
        means.append(gate(TRUTH, BASE, CANDIDATE, "ndcg@5", users=users, cluster="home").as_json())
    assert means[0] == means[1]


def test_guards_may_be_texts_and_rules_of_a_protocol() -> None:
    texts = ["ap(norm=min)@10:-0.5", "rr:0", "topk_loss@3:1e-3"]
    limits = {"ap(norm=min)@10": -0.5, "rr": 0.0, "topk_loss@3": 0.001}
    protocol = Protocol.of("ndcg@5", guards=texts, margin=0.1)
    assert protocol == Protocol.of("ndcg@5", guards=limits, margin=0.1)
    assert protocol.replace(guards=()) == Protocol.of("ndcg@5", margin=0.1)
    result = gate(TRUTH, BASE, CANDIDATE, protocol)
    assert result.protocol["gate"] == {"margin": 0.1, "guards": limits}
    assert [claim.limit for claim in result.claims] == [-0.1, *limits.values()]
    with pytest.warns(PodiumWarning, match="margin"):
        measure(TRUTH, BASE, protocol, margin=0.2)


@pytest.mark.parametrize("text", ["ndcg@5", "topk_loss@3"])
def test_a_floor_is_decided_by_the_interval_of_the_mean_of_the_candidate(text: str) -> None:
    values = measure(TRUTH, CANDIDATE, text).values[text]
    error = math.sqrt(values.var(ddof=1) / N + 1 / N**2)  # widened by the bounds, which are 0 and 1
    low, high = values.mean() + t_distribution.ppf([0.025, 0.975], N - 1) * error
    floors = {low - 1e-9: "superior", values.mean(): "cannot tell", high + 1e-9: "inferior"}
    if text == "topk_loss@3":
        floors = {high + 1e-9: "superior", values.mean(): "cannot tell", low - 1e-9: "inferior"}
    bound = 0.0 if text == "ndcg@5" else 1.0  # a floor that any run reaches
    without = gate(TRUTH, BASE, CANDIDATE, "rr", guards=GUARDS)
    for value, verdict in {**floors, bound: "superior"}.items():
        result = gate(TRUTH, BASE, CANDIDATE, "rr", guards=GUARDS, at_least={text: value})
        *others, floor = result.claims
        assert tuple(others) == without.claims
        assert (floor.role, floor.verdict) == ("floor", verdict)
        assert (floor.base, floor.candidate) == pytest.approx((value, values.mean()))
        assert [end + value for end in floor.interval] == pytest.approx([low, high])
        assert result.passed <= (verdict == "superior")
        assert len({*result.to_dict()}) == 2 + 9 * len(result.claims)


@pytest.mark.parametrize(
    "texts", [["recall@50"], ["recall@50:"], [":-0.1"], ["rr:x"], ["rr:nan"], ["rr:inf"], 1]
)
def test_guards_of_another_form_are_refused(texts: Any) -> None:
    with raises(ArgumentError, "guards"):
        Protocol.of(guards=texts)


# Gains of an interval, the limit of the gain, and the verdict.
VERDICTS_CLAIMS = [
    (1, 2, -1, "superior"),
    (0, 2, -1, "non-inferior"),
    (-0.5, -0.1, -1, "non-inferior"),
    (-1, 2, -1, "cannot tell"),
    (-2, -1, -1, "cannot tell"),
    (-3, -2, -1, "inferior"),
    (0, 0, 0, "cannot tell"),
    (1, 2, 0, "superior"),
    (-1, 0, 0, "cannot tell"),
    (2, 3, 1, "superior"),
    (0.5, 3, 1, "cannot tell"),
    (0.2, 0.5, 1, "inferior"),
    (NAN, NAN, -1, "cannot tell"),
    (-math.inf, math.inf, -1, "cannot tell"),
    (0.5, math.inf, -1, "superior"),
    (0.5, -0.5, 0, "cannot tell"),  # looks that contradict each other
]


@pytest.mark.parametrize(("low", "high", "limit", "verdict"), VERDICTS_CLAIMS)
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


def few_items(seed: int) -> tuple[NDArray[np.int64], Table]:
    """Return the two best items of each user, many of which no other user has, and their run."""
    rng = np.random.default_rng(seed)
    best = np.array(
        [rng.choice([*range(4), 4 + u % 9, 13 + u // 5], 2, replace=False) for u in range(N)]
    )
    user = np.repeat(range(N), 2)
    return best, {"user": user, "item": best.ravel(), "score": np.tile([2.0, 1.0], N)}


@pytest.mark.parametrize("cluster", [None, "home"])
@pytest.mark.parametrize("weight", [None, "visits"])
def test_error_of_coverage_is_that_of_deleting_each_cluster(
    cluster: str | None, weight: str | None
) -> None:
    (first, base), (second, candidate) = few_items(0), few_items(1)
    homes = np.array([u // 4 if cluster and u > 5 else 100 + u for u in range(N)])
    options: dict[str, Any] = {"cluster": cluster, "weight": weight}
    if cluster or weight:
        options["users"] = {**USERS, "home": homes}
    past = {"user": [1] * 25, "item": list(range(25))}
    truth = {"user": list(range(N)), "item": [u % 4 for u in range(N)]}
    guards = {"coverage@2": -1.0}
    claim = gate(truth, base, candidate, guards=guards, catalogue=past, **options).claims[1]

    def gain(rows: Any) -> float:
        """Return the difference of the coverage of some users."""
        return (np.unique(second[rows]).size - np.unique(first[rows]).size) / 25

    assert claim.base == pytest.approx(np.unique(first).size / 25)
    assert claim.difference == pytest.approx(gain(slice(None)))
    labels = np.unique(homes)
    deleted = np.array([gain(homes != label) for label in labels])
    moves = deleted - np.average(deleted, weights=[(homes != label).sum() for label in labels])
    variance = (labels.size - 1) / labels.size * (moves**2).sum()
    assert claim.std_error == pytest.approx(math.sqrt(variance))
    assert claim.std_error > 0


def with_scores(table: Table, scores: Any) -> Table:
    return {**table, "score": np.asarray(scores, float)}


def lists(*items: list[int]) -> Table:
    """Return the lists of users, the best item first."""
    rows = [(u, i, -r) for u, of in enumerate(items) for r, i in enumerate(of)]
    user, item, score = (list(column) for column in zip(*rows, strict=True))
    return {"user": user, "item": item, "score": score}


def equal(truth: Table, base: Table, candidate: Table, measure: str, **options: Any) -> bool:
    result = gate(truth, base, candidate, measure, **options)
    assert result.passed == (result.verdict != "cannot tell")
    return result.verdict == "equal"


@pytest.mark.parametrize(
    ("measure", "depth"),
    [("precision@2", 2), ("ndcg@2", 2), ("pap@2", 3), ("auc@2", 2), ("rr", 5), ("pauc@1", 5)],
)
def test_lists_are_compared_to_the_depth_that_a_measure_reads(measure: str, depth: int) -> None:
    truth = {"user": [0, 1], "item": [1, 1]}
    base = lists([1, 2, 3, 4, 5], [2, 1, 3, 4, 5])
    for place in range(2, 5):
        items = [1, 2, 3, 4, 5]
        items[place] = 9
        assert equal(truth, base, lists(items, [2, 1, 3, 4, 5]), measure) == (place >= depth)


@pytest.mark.filterwarnings("ignore:The order of equal scores")
def test_ties_must_be_the_same() -> None:
    truth = {"user": [0], "item": [3]}
    base = {"user": [0] * 3, "item": [1, 2, 3], "score": [2.0, 1.0, 1.0]}
    assert equal(truth, base, with_scores(base, [9, 5, 5]), "rr@2")
    assert not equal(truth, base, with_scores(base, [3, 2, 1]), "rr@2")
    # Item 3 is in the tie that crosses the cutoff, so that a tie rule could choose it.
    swapped = {"user": [0] * 3, "item": [1, 2, 4], "score": [2.0, 1.0, 1.0]}
    truth = {"user": [0, 0], "item": [1, 2]}
    assert not equal(truth, base, swapped, "rr@2")
    assert not equal(truth, with_scores(base, [2, 1 + 1e-12, 1]), base, "rr@3")
    options: Any = {"single_precision": True, "ties": "worst"}
    assert equal(truth, with_scores(base, [2, 1 + 1e-12, 1]), base, "rr@3", **options)


def test_lists_are_those_after_the_conventions() -> None:
    truth = {"user": [0, 0, 0], "item": [1, 2, 3], "relevance": [0, 1, 0]}
    base, other = lists([1, 8, 2, 3]), lists([9, 1, 2, 3])
    assert not equal(truth, base, other, "rr@3")
    assert equal(truth, base, other, "rr@3", unjudged="skip")
    base = {"user": [0, 0], "item": [2, 8], "score": [1.0, 0.0]}
    other = {"user": [0, 0], "item": [2, 9], "score": [1.0, 0.0]}
    assert not equal(truth, base, other, "rr@2")
    assert equal(truth, base, other, "rr@2", score_above=0)
    # With unretrieved="drop", the items below the score decide which relevant items count.
    assert not equal(truth, base, other, "rr@2", like="torchmetrics")


def test_a_guard_that_requires_a_gain_is_broken_and_users_without_a_value_give_no_pass() -> None:
    broken = gate(
        TRUTH, BASE, BASE, "ndcg@5", guards={"recall@5": 0.1, "coverage@2": -0.1}, catalogue=PAST
    )
    assert (broken.decision, [c.verdict for c in broken.claims]) == (
        "fail",
        ["equal", "inferior", "equal"],
    )
    assert "the runs are equal" in str(gate(TRUTH, BASE, BASE, "ndcg@5"))
    truth = {"user": [0, 1], "item": [1, 1], "relevance": [1, 1]}
    with pytest.warns(UserWarning, match="min_relevance"):
        none = gate(truth, lists([1], [1]), lists([1], [1]), "rr", min_relevance=2)
    assert (none.decision, none.primary.n_users) == ("cannot tell", 0)


# Item 0 is relevant to each user, and item 1 has been judged as not relevant.
PARTLY_JUDGED: Table = {"user": [0, 0, 1, 2], "item": [0, 1, 0, 0], "relevance": [1, 0, 1, 1]}
VISITORS: Table = {"user": [0, 1, 2], "visits": [2, 1, 0.5]}


FIRST = lists([7, 0, 1], [8, 0], [0, 9])
SECOND = lists([0, 7], [0, 5], [9, 0, 1])


@pytest.mark.parametrize("name", ["ndcg@2", "rr", "precision@1", "recall@1"])
@pytest.mark.parametrize("weight", [None, "visits"])
def test_labels_are_those_that_settle_the_weighted_order(name: str, weight: str | None) -> None:
    users: dict[str, Any] = {} if weight is None else {"users": VISITORS, "weight": weight}
    result = gate(PARTLY_JUDGED, FIRST, SECOND, name, unjudged="bounds", **users)
    pool = pool_unjudged(PARTLY_JUDGED, FIRST, SECOND)
    weights = None if weight is None else np.array(VISITORS["visits"])
    expected = labels_to_settle(pool, name, weights=weights)
    assert result.primary.unjudged is not None
    assert result.primary.unjudged.can_reverse
    assert result.labels_to_settle is not None
    for column, labels in expected.items():
        assert labels.size
        np.testing.assert_array_equal(result.labels_to_settle[column], labels)


def test_measures_of_the_items_shown_have_no_range() -> None:
    options: dict[str, Any] = {"guards": {"coverage@1": -1.0}, "catalogue": PAST}
    result = gate(PARTLY_JUDGED, FIRST, SECOND, "rr", unjudged="bounds", **options)
    assert [claim.unjudged is None for claim in result.claims] == [False, True]


def test_differences_of_rounding_are_no_gain() -> None:
    noise = Interval(1.5e-16, 1.5e-16)
    values = (True, 3.5, 3.5, 1.5e-16, 0.0, noise, 0.95)
    claim = Claim("guard", "novelty@2", "", "", *values, limit=-0.1, n_users=3, n_undefined=0)
    assert claim.verdict == "non-inferior"
    assert replace(claim, limit=0.0).verdict == "cannot tell"
