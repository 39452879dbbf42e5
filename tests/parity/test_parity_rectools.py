"""RecTools 0.19.0: `PAP(k)` and `PartialAUC(k)`, per user.

podium's convention mapped to the peer's: the truth holds only positives, the run only the top of
a list whose length is not known (`unretrieved=`), no ties.

Known differences
-----------------
==================  ==============================================  =============================
convention          RecTools                                        podium
==================  ==============================================  =============================
unsettled lists     "ignore" (its default): what is not shown is    an error that counts them
                    taken to be negative, which understates
settled by hits     "exclude" drops a list of min(k, n_pos)         settled: the value is 1
                    positives if it misses others
ties                cannot occur: it reads ranks                    `ties=`; "worst" by default
==================  ==============================================  =============================

Its values are in rectools_values.json, by rectools_values.py; test_like.py computes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.errors import UnsettledError
from podium.metrics import parse
from podium.ranking import Ranking

HERE = Path(__file__).parent
STORED = json.loads((HERE / "rectools_values.json").read_text())
USERS = STORED["users"]
MEASURES = ("pap@1", "pap@2", "pap@3", "pap@5", "pauc@1", "pauc@2", "pauc@3", "pauc@5")


def one(user: dict[str, Any], *, endless_negatives: int = 0) -> Ranking:
    """podium's ranking of one user, with further negatives shown where RecTools supposes them."""
    flags = [item in user["liked"] for item in user["shown"]] + [False] * endless_negatives
    missed = len(set(user["liked"]) - set(user["shown"]))
    return Ranking.from_scores(
        -np.arange(len(flags)),
        flags,
        np.full(len(flags), user["user"]),
        unretrieved=(np.ones(missed), np.full(missed, user["user"])),
    )


def settled(text: str, user: dict[str, Any]) -> bool:
    try:
        parse(text)(one(user))
    except UnsettledError:
        return False
    return True


@pytest.mark.parametrize("text", MEASURES)
def test_settled_users_have_the_same_value(text: str) -> None:
    users = [u for u in USERS if settled(text, u)]
    assert len(users) >= 5
    got = [parse(text)(one(u))[0] for u in users]
    peer = [STORED["values"][f"{text} ignore"][str(u["user"])] for u in users]
    np.testing.assert_allclose(got, peer, rtol=1e-12)


@pytest.mark.parametrize("text", MEASURES)
def test_unsettled_users_are_understated_by_the_peer(text: str) -> None:
    """Known difference: what is not shown counts as negative, all of it above what is missed."""
    k = parse(text).k or 0
    users = [u for u in USERS if not settled(text, u)]
    got = [parse(text)(one(u, endless_negatives=k))[0] for u in users]
    peer = [STORED["values"][f"{text} ignore"][str(u["user"])] for u in users]
    np.testing.assert_allclose(got, peer, rtol=1e-12)


def test_some_users_of_the_lists_are_unsettled() -> None:
    assert any(not settled("pap@5", u) for u in USERS)
    assert any(not settled("pauc@5", u) for u in USERS)


@pytest.mark.parametrize("text", MEASURES)
def test_every_user_that_podium_refuses_the_peer_excludes(text: str) -> None:
    kept = STORED["values"][f"{text} exclude"]
    assert all(settled(text, u) for u in USERS if str(u["user"]) in kept)


def test_lists_full_of_positives_are_settled_though_the_peer_excludes_them() -> None:
    """Known difference: no item below k positives can change pap@k."""
    kept = STORED["values"]["pap@1 exclude"]
    users = [u for u in USERS if settled("pap@1", u) and str(u["user"]) not in kept]
    assert users
    for u in users:
        assert u["shown"][0] in u["liked"]
        assert parse("pap@1")(one(u)).tolist() == [1.0]
