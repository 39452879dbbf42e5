"""The state of a sequential gate: its users, its looks, its file, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
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

import podium
from podium._arrays import read_arrays, write_arrays
from podium.decide import Gate, gate
from podium.errors import ArgumentError, DataError

FIRST, SECOND, THIRD = set(range(20)), set(range(20, 45)), set(range(45, N))


def of(users: set[int], table: Mapping[str, Any]) -> Table:
    keep = [i for i, user in enumerate(table["user"]) if user in users]
    return {name: [column[i] for i in keep] for name, column in table.items()}


def look(chosen: set[int], /, *, changed: Table | None = None, **options: Any) -> Gate:
    """Use the gate with the rows of some users, and the state s in the working folder."""
    arguments: dict[str, Any] = {"guards": GUARDS, "state": "s", **options}
    judged, base, candidate = (of(chosen, table) for table in (TRUTH, BASE, CANDIDATE))
    return gate(judged, base, changed or candidate, "ndcg@5", **arguments)


def refused_look(pattern: str, chosen: set[int], /, **options: Any) -> None:
    """Assert that a look is refused, and that it leaves the file as it was."""
    before = Path("s").read_bytes()
    with pytest.raises(ArgumentError, match=pattern):
        look(chosen, **options)
    assert Path("s").read_bytes() == before


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("horizon", [None, 60])
def test_same_users_again_change_nothing(folder: Path, horizon: int | None) -> None:
    look(FIRST, horizon=horizon)
    second = look(SECOND, horizon=horizon)
    assert second.look == {"number": 2, "n_users": 45, "n_new": 25, "horizon": horizon}
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


def test_users_are_shuffled_within_a_look_only() -> None:
    look(FIRST)
    look(FIRST | SECOND)
    labels = read_arrays("s", "podium_gate", 2)[1]["labels"].tolist()
    assert (set(labels[:20]), set(labels[20:])) == (FIRST, SECOND)
    assert labels != sorted(labels)


def test_clusters_count_once_and_arrive_together_at_any_time() -> None:
    homes = np.minimum(np.arange(N), 30)  # 30 homes of one user, and one home of all others
    users = {"user": USERS["user"], "home": homes}
    result = look(set(range(N)), users=users, cluster="home", guards={})
    claim = result.primary
    assert "each cluster counts once" in str(result)
    pairs = podium.compare(TRUTH, {"base": BASE, "candidate": CANDIDATE}, "ndcg@5")
    base, candidate = (pairs.evaluations[name].values["ndcg@5"] for name in pairs.evaluations)
    of_home = [np.nanmean((candidate - base)[homes == home]) for home in range(31)]
    assert claim.difference == pytest.approx(np.nanmean(of_home))
    assert claim.candidate - claim.base == pytest.approx(claim.difference)
    order = read_arrays("s", "podium_gate", 2)[1]["cluster"]
    assert np.count_nonzero(order[1:] != order[:-1]) == 30


def test_rows_in_another_order_ids_as_text_and_other_names_of_measures_go_on() -> None:
    look(FIRST)
    judged, base, candidate = (
        {name: column[::-1] for name, column in with_text_ids(of(FIRST | SECOND, table)).items()}
        for table in (TRUTH, BASE, CANDIDATE)
    )
    guards = {"R@5": -0.2, "TopK_Loss@3": 0.2}
    second = gate(judged, base, candidate, "ndcg@5", guards=guards, state="s")
    assert second.look == {"number": 2, "n_users": 45, "n_new": 25, "horizon": None}
    assert [claim.measure for claim in second.claims] == ["ndcg@5", *guards]
    third = look(THIRD, interval="bootstrap", bootstrap_seed=5)  # no value depends on them
    assert third.look == {"number": 3, "n_users": N, "n_new": 15, "horizon": None}
    whole = gate(TRUTH, BASE, CANDIDATE, "ndcg@5").primary
    assert third.primary.std_error == pytest.approx(whole.std_error)


def test_segments_are_those_of_the_first_look() -> None:
    users = {"user": list(range(N)), "country": ["FR"] * 20 + ["UK"] * 40}
    look(FIRST, users=users, by="country")
    claims = look(SECOND | THIRD, users=users, by="country").claims
    assert {claim.segment for claim in claims if claim.by} == {"FR"}


def test_changed_user_is_refused_with_the_id() -> None:
    options: dict[str, Any] = {"cluster": "home", "weight": "visits", "horizon": 99}
    look(FIRST, users=USERS, **options)
    is_changed = np.isin(CANDIDATE["user"], [7, 3])
    raised = {**CANDIDATE, "score": np.where(is_changed, -1, 1) * np.asarray(CANDIDATE["score"])}
    for users, changed, words in (
        ({**USERS, "home": [0, 9, *USERS["home"][2:]]}, None, "'0' for user 1, .* '9' now"),
        ({**USERS, "visits": [1, 9, *USERS["visits"][2:]]}, None, "2 for user 1, .* 9 now"),
        (USERS, of(FIRST | SECOND, raised), r"user 3, .* \(2 users differ\)"),
    ):
        refused_look(words, FIRST | SECOND, users=users, changed=changed, **options)
    assert look(SECOND, users=USERS, changed=of(SECOND, raised), **options).look is not None


OTHER: dict[str, dict[str, Any]] = {
    "measures": {"guards": {}},
    "margin": {"margin": 0.1},
    "level": {"level": 0.9},
    "horizon": {"horizon": 99},
    "by": {"by": ["engagement"]},
    "at_least": {"at_least": {"ndcg@5": 0.5}},
    "ties": {"ties": "best"},
    "undefined": {"undefined": "zero"},
    "n_items": {"n_items": 50},
    "cluster": {"cluster": "flat"},
    "cluster 'home'": {"cluster": None},
}


@pytest.mark.parametrize("name", OTHER)
def test_other_rules_are_refused_by_name(name: str) -> None:
    users = {**USERS, "flat": USERS["home"]}
    begun: dict[str, Any] = {"by": ["country"], "cluster": "home", "users": users}
    look(FIRST, **begun)
    refused_look(f"with {name}", SECOND, **begun | OTHER[name])


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ({"at_least": {"ndcg@5": 0.1}}, "with at_least"),
        ({"guards": {}, "like": "trec_eval"}, "state"),
    ],
)
def test_state_keeps_floors_and_the_package(kept: dict[str, Any], words: str) -> None:
    look(FIRST, **kept)
    refused_look(words, SECOND, guards=kept.get("guards", GUARDS))
    assert look(SECOND, **kept).claims[-1].n_users == 45


def test_horizon_is_the_end() -> None:
    look(FIRST, horizon=40)
    last = look(SECOND, horizon=40)
    refused_look("45 users, so the horizon of 40 was reached", THIRD, horizon=40)
    assert look(FIRST | SECOND, horizon=40).claims == last.claims


def test_cluster_in_two_looks_is_refused() -> None:
    look(FIRST, users=USERS, cluster="home")
    assert look(set(range(20, 42)), users=USERS, cluster="home").look is not None
    refused_look("^cluster '10' has users", set(range(40, N)), users=USERS, cluster="home")


def test_novelty_needs_a_horizon() -> None:
    novelty: dict[str, Any] = {"guards": {"novelty@2": -5.0}, "catalogue": PAST}
    with pytest.raises(ArgumentError, match="novelty@2"):
        look(FIRST, **novelty)
    look(FIRST, horizon=N, **novelty)
    assert look(set(range(N)), horizon=N, **novelty).claims[1].n_users == N


def test_error_in_a_table_leaves_the_old_file() -> None:
    look(FIRST)
    refused_look("lacks 1 of 25 users", SECOND, changed=of(SECOND - {30}, CANDIDATE))


@pytest.mark.parametrize("lacks", ["protocol", "looks", "labels", "base ndcg@5"])
def test_file_that_lacks_a_part_is_refused(lacks: str) -> None:
    look(FIRST)
    header, arrays = read_arrays("s", "podium_gate", 2)
    kept = {n: value for n, value in header.items() if n not in ("digest", "format", lacks)}
    write_arrays("s", "podium_gate", 2, {n: a for n, a in arrays.items() if n != lacks}, kept)
    with pytest.raises(DataError, match=r"^s is not a complete gate state"):
        look(FIRST)
