"""The state of a sequential gate: its users, its looks, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from tests.cli.conftest import SCHEMAS
from tests.unit.gate_looks import FIRST, SECOND, THIRD, look, of, refused_look
from tests.unit.gate_tables import BASE, CANDIDATE, GUARDS, PAST, TRUTH, USERS, N, Table

import podium
from podium._arrays import read_arrays
from podium.decide import gate
from podium.errors import ArgumentError


def raised(users: Any, table: Mapping[str, Any] = CANDIDATE) -> Table:
    """Return a run in which the items of some users are in the reverse order."""
    chosen = np.isin(table["user"], users)
    return {**table, "score": np.where(chosen, -1.0, 1.0) * np.asarray(table["score"])}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_looks_count_the_users(folder: Path) -> None:
    looks = [look(users).look for users in (FIRST, FIRST | SECOND, THIRD)]
    assert looks == [
        {"number": 1, "n_users": 20, "n_new": 20, "horizon": None},
        {"number": 2, "n_users": 45, "n_new": 25, "horizon": None},
        {"number": 3, "n_users": 60, "n_new": 15, "horizon": None},
    ]
    assert [file.name for file in folder.iterdir()] == ["s"]


@pytest.mark.parametrize("horizon", [None, 60])
def test_same_users_again_change_nothing(folder: Path, horizon: int | None) -> None:
    look(FIRST, horizon=horizon)
    second = look(SECOND, horizon=horizon)
    before = (folder / "s").read_bytes()
    for users in (FIRST, SECOND, FIRST | SECOND):
        again = look(users, horizon=horizon).as_json()
        assert again == {**second.as_json(), "look": {**second.look, "n_new": 0}}
        assert (folder / "s").read_bytes() == before


@pytest.mark.parametrize("horizon", [None, 60])
def test_cumulative_tables_are_those_of_new_users(folder: Path, horizon: int | None) -> None:
    users: dict[str, Any] = {"users": USERS, "by": ["country", "engagement"], "cluster": "home"}
    new, cumulative = (
        [look(part, horizon=horizon, state=name, **users).as_json() for part in parts]
        for name, parts in (
            ("new", (FIRST, set(range(20, 44)), set(range(44, N)))),
            ("all", (FIRST, set(range(44)), set(range(N)))),
        )
    )
    assert new == cumulative
    assert (folder / "new").read_bytes() == (folder / "all").read_bytes()


def test_order_of_rows_does_not_matter() -> None:
    def reversed_rows(table: Mapping[str, Any]) -> Table:
        return {name: list(column)[::-1] for name, column in table.items()}

    one = [look(users).as_json() for users in (FIRST, SECOND)]
    judged, base, candidate = map(reversed_rows, (TRUTH, BASE, CANDIDATE))
    other = [
        gate(
            of(users, judged),
            of(users, base),
            of(users, candidate),
            "ndcg@5",
            guards=GUARDS,
            sequential=True,
            state="other",
        ).as_json()
        for users in (FIRST, SECOND)
    ]
    assert one == other
    assert Path("s").read_bytes() == Path("other").read_bytes()


def test_users_are_shuffled_within_a_look_only() -> None:
    look(FIRST)
    look(FIRST | SECOND)
    labels = read_arrays("s", "podium_gate", 1)[1]["labels"].tolist()
    assert (set(labels[:20]), set(labels[20:])) == (FIRST, SECOND)
    assert labels != sorted(labels)


def test_clusters_count_once_and_arrive_together_at_any_time() -> None:
    homes = np.minimum(np.arange(N), 30)  # 30 homes of one user, and one home of all others
    users = {"user": USERS["user"], "home": homes}
    result = look(set(range(N)), users=users, cluster="home", guards={})
    claim = result.primary
    assert "Means are over clusters: each cluster counts once." in str(result)
    Draft202012Validator(json.loads((SCHEMAS / "gate.json").read_text())).validate(result.as_json())
    pairs = podium.compare(TRUTH, {"base": BASE, "candidate": CANDIDATE}, "ndcg@5")
    base, candidate = (pairs.evaluations[name].values["ndcg@5"] for name in pairs.evaluations)
    of_home = [np.nanmean((candidate - base)[homes == home]) for home in range(31)]
    assert claim.difference == pytest.approx(np.nanmean(of_home))
    assert claim.candidate - claim.base == pytest.approx(claim.difference)
    order = read_arrays("s", "podium_gate", 1)[1]["cluster"]
    assert np.count_nonzero(order[1:] != order[:-1]) == 30


def as_text(table: Mapping[str, Any]) -> Table:
    return {name: [str(v) for v in c] if name == "user" else c for name, c in table.items()}


def test_numbers_then_text_are_the_same_users() -> None:
    options: dict[str, Any] = {"sequential": True, "state": "s"}
    look(FIRST, guards={})
    judged, base, candidate = (
        as_text(of(FIRST | SECOND, table)) for table in (TRUTH, BASE, CANDIDATE)
    )
    second = gate(judged, base, candidate, "ndcg@5", **options)
    assert second.look == {"number": 2, "n_users": 45, "n_new": 25, "horizon": None}
    third = look(set(range(N)), guards={})
    assert third.look == {"number": 3, "n_users": N, "n_new": 15, "horizon": None}
    whole = gate(TRUTH, BASE, CANDIDATE, "ndcg@5").primary
    assert third.primary.std_error == pytest.approx(whole.std_error)


def test_segments_are_those_of_the_first_look() -> None:
    users = {"user": list(range(N)), "country": ["FR"] * 20 + ["UK"] * 40}
    look(FIRST, users=users, by="country")
    claims = look(SECOND | THIRD, users=users, by="country").claims
    assert {claim.segment for claim in claims if claim.by} == {"FR"}


def test_changed_values_of_a_user_are_refused_with_the_id() -> None:
    look(FIRST)
    changed = raised([7, 3])
    refused_look(
        r"^state has .+ of candidate \S+ for user 3, but it is \S+ now \(2 users differ\)\. "
        r"The values of earlier users can't change: pass only users whose .* final, or begin a new "
        r"state\.$",
        FIRST | SECOND,
        changed=of(FIRST | SECOND, changed),
    )
    assert look(SECOND, changed=of(SECOND, changed)).look is not None  # they are not in this file


def test_changed_cluster_or_weight_of_a_user_is_refused() -> None:
    options: dict[str, Any] = {"cluster": "home", "weight": "visits", "horizon": 99}
    look(FIRST, users=USERS, **options)
    for name, old, new in (("home", "'0'", "'9'"), ("visits", "2", "9")):
        column = list(USERS[name])
        column[1] = 9
        refused_look(
            rf"^state has {'cluster' if name == 'home' else 'weight'} {old} for user 1, but it is "
            rf"{new} now \(1 users differ\)\.",
            FIRST,
            users={**USERS, name: column},
            **options,
        )


OTHER: dict[str, tuple[dict[str, Any], str]] = {
    "measures": ({"guards": {}}, r"with measures \['ndcg@5', 'recall@5', 'topk_loss@3'\], but"),
    "limits": ({"margin": 0.1}, r"with limits \[0\.0, .*\], but this look has \[-0\.1, "),
    "level": ({"level": 0.9}, r"with level 0\.95, but this look has 0\.9\."),
    "looks": ({"horizon": 99}, r"with looks 'any time', but this look has 'until horizon'"),
    "by": ({"by": ["engagement"]}, r"with by \['country'\], but this look has \['engagement'\]"),
    "ties": ({"ties": "best"}, r"with ties 'worst', but this look has 'best'\."),
    "undefined": ({"undefined": "zero"}, r"with undefined 'skip', but this look has 'zero'\."),
    "n_items": ({"n_items": 50}, r"with n_items None, but this look has 50\."),
    "cluster": ({"cluster": "flat"}, r"with cluster 'home', but this look has 'flat'\."),
    "no cluster": ({"cluster": None}, r"with cluster 'home', but this look has None\."),
}


@pytest.mark.parametrize(("options", "pattern"), OTHER.values(), ids=OTHER)
def test_other_rules_are_refused_by_name(options: dict[str, Any], pattern: str) -> None:
    users = {**USERS, "flat": USERS["home"]}
    begun: dict[str, Any] = {"by": ["country"], "cluster": "home", "users": users}
    look(FIRST, **begun)
    now = {**begun, **options}
    if "by" in options:
        now["users"] = users
    refused_look(
        rf"^state s was begun {pattern}.* Begin a new state for other rules\.$", SECOND, **now
    )


def test_horizon_is_the_end() -> None:
    look(FIRST, horizon=40)
    last = look(SECOND, horizon=40)
    assert last.look == {"number": 2, "n_users": 45, "n_new": 25, "horizon": 40}
    refused_look(
        r"^state has 45 users, so the horizon of 40 was reached\. The last verdict is final\. ",
        THIRD,
        horizon=40,
    )
    assert look(FIRST | SECOND, horizon=40).claims == last.claims


def test_cluster_in_two_looks_is_refused() -> None:
    look(FIRST, users=USERS, cluster="home")
    assert look(set(range(20, 42)), users=USERS, cluster="home").look is not None
    refused_look(
        r"^cluster '10' has users of an earlier look and new ones\. .* must arrive together\.$",
        set(range(40, N)),
        users=USERS,
        cluster="home",
    )


def test_novelty_needs_a_horizon() -> None:
    novelty: dict[str, Any] = {"guards": {"novelty@2": -5.0}, "catalogue": PAST}
    with pytest.raises(ArgumentError, match=r"novelty@2 has no bounds.* Pass horizon"):
        look(FIRST, **novelty)
    look(FIRST, horizon=N, **novelty)
    assert look(set(range(N)), horizon=N, **novelty).claims[1].n_users == N
