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
    TRUTH,
    USERS,
    N,
    Table,
    with_text_ids,
)

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


def test_same_users_again_change_nothing(folder: Path) -> None:
    look(FIRST)
    second = look(SECOND)
    assert second.look == {"number": 2, "n_users": 45, "n_new": 25}
    before = (folder / "s").read_bytes()
    for users in (FIRST, SECOND, FIRST | SECOND):
        again = look(users).as_json()
        assert again == {**second.as_json(), "look": {**second.look, "n_new": 0}}
        assert (folder / "s").read_bytes() == before


def test_cumulative_tables_are_those_of_new_users(folder: Path) -> None:
    users: dict[str, Any] = {"users": USERS, "by": ["country", "engagement"]}
    new, cumulative = (
        [look(part, state=name, **users).as_json() for part in parts]
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


def test_rows_in_another_order_ids_as_text_and_other_names_of_measures_go_on() -> None:
    look(FIRST)
    judged, base, candidate = (
        {name: column[::-1] for name, column in with_text_ids(of(FIRST | SECOND, table)).items()}
        for table in (TRUTH, BASE, CANDIDATE)
    )
    guards = {"R@5": -0.2, "TopK_Loss@3": 0.2}
    second = gate(judged, base, candidate, "ndcg@5", guards=guards, state="s")
    assert second.look == {"number": 2, "n_users": 45, "n_new": 25}
    assert [claim.measure for claim in second.claims] == ["ndcg@5", *guards]
    third = look(THIRD, interval="bootstrap", bootstrap_seed=5)  # no value depends on them
    assert third.look == {"number": 3, "n_users": N, "n_new": 15}
    whole = gate(TRUTH, BASE, CANDIDATE, "ndcg@5").primary
    assert third.primary.std_error == pytest.approx(whole.std_error)


def test_segments_are_those_of_the_first_look() -> None:
    users = {"user": list(range(N)), "country": ["FR"] * 20 + ["UK"] * 40}
    look(FIRST, users=users, by="country")
    claims = look(SECOND | THIRD, users=users, by="country").claims
    assert {claim.segment for claim in claims if claim.by} == {"FR"}


def test_changed_user_is_refused_with_the_id() -> None:
    look(FIRST)
    is_changed = np.isin(CANDIDATE["user"], [7, 3])
    raised = {**CANDIDATE, "score": np.where(is_changed, -1, 1) * np.asarray(CANDIDATE["score"])}
    words = r"user 3, .* \(2 users differ\)"
    refused_look(words, FIRST | SECOND, changed=of(FIRST | SECOND, raised))
    assert look(SECOND, changed=of(SECOND, raised)).look is not None


OTHER: dict[str, dict[str, Any]] = {
    "measures": {"guards": {}},
    "limits": {"margin": 0.1},
    "level": {"level": 0.9},
    "by": {"by": ["country", "engagement"]},
    "at_least": {"at_least": {"ndcg@5": 0.5}},
    "ties": {"ties": "best"},
    "undefined": {"undefined": "zero"},
    "n_items": {"n_items": 50},
}


@pytest.mark.parametrize("name", OTHER)
def test_other_rules_are_refused_by_name(name: str) -> None:
    begun: dict[str, Any] = {"by": ["country"], "users": USERS}
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


def test_error_in_a_table_leaves_the_old_file() -> None:
    look(FIRST)
    refused_look("lacks 1 of 25 users", SECOND, changed=of(SECOND - {30}, CANDIDATE))


@pytest.mark.parametrize("lacks", ["rules", "protocol", "looks", "labels", "base ndcg@5"])
def test_file_that_lacks_a_part_is_refused(lacks: str) -> None:
    look(FIRST)
    header, arrays = read_arrays("s", "podium_gate", 2)
    kept = {n: value for n, value in header.items() if n not in ("digest", "format", lacks)}
    write_arrays("s", "podium_gate", 2, {n: a for n, a in arrays.items() if n != lacks}, kept)
    with pytest.raises(DataError, match=r"^s is not a complete gate state"):
        look(FIRST)
