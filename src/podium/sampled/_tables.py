"""Columns of the tables that `podium.sampled` reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.convert import Ids
from podium.data.source import Kind, Source
from podium.errors import DataError


def fetch(table: Source, found: dict[str, str], kinds: dict[str, Kind]) -> dict[str, Any]:
    """Return the columns by role."""
    columns = table.fetch({found[role]: kind for role, kind in kinds.items() if role in found})
    result = {role: columns[found[role]] for role in kinds if role in found}
    if {len(column) for column in result.values()} == {0}:
        raise DataError(f"{table.name} has no rows.")
    return result


def labels(ids: Ids) -> NDArray[Any]:
    """Return ids as an array of integers or strings."""
    return ids if isinstance(ids, np.ndarray) else np.asarray(ids.to_list(), dtype=np.str_)
