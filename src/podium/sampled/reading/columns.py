"""The columns of tables of samples, read by their roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from podium.data import columns as usual
from podium.data.columns import Role
from podium.data.tables import RoleColumns, open_table

OPTIONAL_USER = replace(usual.USER, required=False)
RANK = Role("rank", ("rank", "sampled_rank"), kind="number")
N_NEGATIVES = Role("n_negatives", ("n_negatives", "negatives"), required=False, kind="number")
HISTORY = Role("history", ("history", "n_history", "n_train"), required=False, kind="number")
SCORE = replace(usual.SCORE, required=True)
TARGET = Role("target", ("target", "is_target", "relevance", "label"), kind="number")
STRATUM = Role("stratum", ("stratum",), kind="id")


def read_columns(
    source: Any, noun: str, roles: tuple[Role, ...], columns: Mapping[str, str] | None
) -> RoleColumns:
    """Read the columns that a table has; `columns` are names that are not the usual ones."""
    table = open_table(source, noun, roles, columns)
    return RoleColumns.of(table, roles)
