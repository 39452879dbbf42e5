"""What the gate refuses: each message names the argument and the remedy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.raised import raises
from tests.unit.gate_tables import (
    BASE,
    CANDIDATE,
    PAST,
    TRUTH,
    USERS,
    N,
)

from podium.decide import gate, read_guards
from podium.errors import ArgumentError

SHOWN = {"coverage@2": -1.0, "novelty@2": -5.0}
NUMBERS = {"user": list(range(N)), "w": [1.0] * N}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "measure": ({"measure": "ndgc@5"}, r"'ndgc' is not known\. Did you mean 'ndcg'\?"),
    "coverage": ({"measure": "coverage@5"}, r"^measure must be .*, got coverage@5\. .* a guard"),
    "no cutoff": ({"guards": {"novelty": 0}}, r"^novelty needs a cutoff: write novelty@10"),
    "margin": ({"margin": -0.1}, r"^margin must be a number >= 0, got -0\.1\.$"),
    "margin text": ({"margin": "x"}, r"^margin must be a number >= 0, got 'x'\.$"),
    "level": ({"level": 95}, r"^level must be a number > 0 and < 1, got 95\.$"),
    "guards list": ({"guards": ["rr"]}, r"^guards must be a mapping of .* such as .*, got \['rr'"),
    "no limit": ({"guards": {"rr": None}}, r"^guards must have a number as the limit of rr.* None"),
    "nan limit": ({"guards": {"rr": math.nan}}, r"^guards must have a number as the limit of rr"),
    "twice": ({"guards": {"map@5": 0, "ap@5": 0}}, r"^measure and guards name ap@5 twice\. Keep"),
    "as primary": ({"guards": {"ndcg@5": 0}}, r"^measure and guards name ndcg@5 twice\. Keep one"),
    "by": ({"by": 5}, r"^by must be 'engagement', 'n_pos' or columns of users, got 5\. Pass"),
    "by column": ({"by": "country"}, r"^by must be .*, got 'country'\. Pass users to use"),
    "misspelt": ({"by": "engagment"}, r"^by must be .*Did you mean 'engagement'\?"),
    "names": ({"names": ("a",)}, r"^names must be the two names of base and candidate, got \('a"),
    "undefined": ({"undefined": "x"}, r"^undefined must be one of 'skip', 'zero', 'one' or"),
    "cluster": ({"cluster": "home"}, r"^cluster requires users, a table with the column home\."),
    "weight": ({"weight": "w"}, r"^weight requires users, a table with the column w\."),
    "idle users": ({"users": USERS}, r"^users has no effect, because .* Leave it out, or name one"),
    "idle catalogue": (
        {"catalogue": PAST},
        r"^catalogue has no effect without .* Leave",
    ),
    "catalogue": ({"guards": SHOWN}, r"^coverage@2, novelty@2 requires catalogue, a table of"),
    "no column": ({"users": USERS, "by": "contry"}, r"no column 'contry'.*Did you mean 'country'"),
    "other users": (
        {"users": {"user": [900], "country": ["FR"]}, "by": "country"},
        r"^No user is in both tables: ",
    ),
    "no weight": (
        {"users": {"user": [1, 2], "w": [1, 2]}, "weight": "w"},
        r"^users has no w for 58 of 60 users, first 0\. weight needs a value for each user\.$",
    ),
    "no cluster": (
        {"users": {"user": [1, 2], "w": [1, 2]}, "cluster": "w"},
        r"^users has no w for 58 of 60 users, first 0\. cluster needs a value for each user\.$",
    ),
    "text weight": (
        {"users": USERS, "weight": "country"},
        r"^weight must be a column of numbers, but country has text\.$",
    ),
    "negative weight": (
        {"users": {**NUMBERS, "w": [-1.0, *[1.0] * (N - 1)]}, "weight": "w"},
        r"^weight must be >= 0 and finite for each user, but w is not for 1 of 60 users, first 0",
    ),
    "infinite weight": (
        {"users": {**NUMBERS, "w": [1.0, np.inf, *[1.0] * (N - 2)]}, "weight": "w"},
        r"but w is not for 1 of 60 users, first 1 \(inf\)\.$",
    ),
    "zero weight": (
        {"users": {**NUMBERS, "w": [0.0] * N}, "weight": "w"},
        r"^weight must be positive for some user, but w is 0 for all\.$",
    ),
    "sequential": ({"sequential": "false"}, r"^sequential must be True or False, got 'false'"),
    "no state": ({"sequential": True}, r"^sequential=True requires state, the file that keeps"),
    "state alone": ({"state": "s"}, r"^state requires sequential=True\. Leave it out to use"),
    "horizon alone": ({"horizon": 9}, r"^horizon requires sequential=True\. Leave it out"),
    "horizon": (
        {"horizon": 0, "sequential": True, "state": "s"},
        r"^horizon must be an integer >= 1, got 0\.$",
    ),
    "n_pos": (
        {"by": "n_pos", "sequential": True, "state": "s"},
        r"^by='n_pos' divides all users again .* Use 'engagement' or a column of users\.$",
    ),
    "sequential weight": (
        {"weight": "visits", "users": USERS, "sequential": True, "state": "s"},
        r"^weight has no valid interval with sequential=True alone\. Pass horizon too\.$",
    ),
    "sequential coverage": (
        {"guards": SHOWN, "catalogue": PAST, "sequential": True, "state": "s", "horizon": 99},
        r"^coverage@2 is not a mean .*sequential=True has no interval .* Leave it out",
    ),
    "unbounded": (
        {"guards": {"dcg@5": 0}, "sequential": True, "state": "s"},
        r"^dcg@5 has no bounds, which sequential=True requires\. Pass horizon, or leave",
    ),
    "folder": (
        {"sequential": True, "state": "none/s"},
        r"^state none/s is in a folder that does not exist\. Create the folder\.$",
    ),
    "state is a folder": (
        {"sequential": True, "state": "."},
        r"^state \. is a folder\. Give the path of a file\.$",
    ),
}


@pytest.mark.parametrize(("options", "pattern"), REFUSED.values(), ids=REFUSED)
def test_wrong_arguments_are_refused(options: dict[str, Any], pattern: str) -> None:
    arguments: dict[str, Any] = {"measure": "ndcg@5", **options}
    with pytest.raises(ArgumentError, match=pattern):
        gate(TRUTH, BASE, CANDIDATE, **arguments)


def test_a_cluster_can_have_any_name() -> None:
    means = []
    for name in ("unknown", "home"):
        users = {"user": list(range(N)), "home": [name, *(f"h{i % 20}" for i in range(1, N))]}
        means.append(gate(TRUTH, BASE, CANDIDATE, "ndcg@5", users=users, cluster="home").as_json())
    assert means[0] == means[1]


def test_guards_are_read_from_texts() -> None:
    assert read_guards(["ap(norm=min)@10:-0.5", "rr:0", "topk_loss@3:1e-3"]) == {
        "ap(norm=min)@10": -0.5,
        "rr": 0.0,
        "topk_loss@3": 0.001,
    }
    assert read_guards([]) == {}


@pytest.mark.parametrize(
    "text", ["recall@50", "recall@50:", ":-0.1", "rr:x", "rr:nan", "rr:inf", ""]
)
def test_guard_of_another_form_is_refused(text: str) -> None:
    with raises(ArgumentError, "guard"):
        read_guards([text])


def test_guard_given_twice_is_refused() -> None:
    with raises(ArgumentError, "guard"):
        read_guards(["rr:0", "rr:-0.1"])
