"""Looks of a sequential gate at some of the users."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.gate_tables import BASE, CANDIDATE, GUARDS, TRUTH, N, Table, without

from podium.decide import Gate, gate
from podium.errors import ArgumentError

FIRST, SECOND, THIRD = set(range(20)), set(range(20, 45)), set(range(45, N))


def of(users: set[int], table: Mapping[str, Any]) -> Table:
    return without(table, set(range(N)) - users)


def look(chosen: set[int], /, *, changed: Table | None = None, **options: Any) -> Gate:
    """Use the gate with the rows of some users, and the state s in the working folder."""
    arguments: dict[str, Any] = {"guards": GUARDS, "sequential": True, "state": "s", **options}
    judged, base, candidate = (of(chosen, table) for table in (TRUTH, BASE, CANDIDATE))
    return gate(judged, base, changed or candidate, "ndcg@5", **arguments)


def refused_look(pattern: str, chosen: set[int], /, **options: Any) -> None:
    """Assert that a look is refused, and that it leaves the file as it was."""
    before = Path("s").read_bytes()
    with pytest.raises(ArgumentError, match=pattern):
        look(chosen, **options)
    assert Path("s").read_bytes() == before
