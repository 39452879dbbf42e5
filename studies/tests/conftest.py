"""What all tests of the studies share: podium's fixtures, and made-up lists of users."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import podium, podium_data

__all__ = ["podium", "podium_data"]


@pytest.fixture(scope="session")
def two_tastes(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write pairs of users of two tastes, with a popular end of the catalogue, in two lists."""

    def write(n_users: int, n_items: int, n_drawn: int, n_train: int) -> Path:
        rng = np.random.default_rng(0)
        lines: list[str] = []
        for user in range(n_users):
            items = 2 * np.minimum(rng.geometric(0.03, n_drawn), n_items // 2 - 1) + user % 2
            lines.append(" ".join(map(str, [user, *np.unique(items).tolist()])))
        place = tmp_path_factory.mktemp("data") / "set"
        place.mkdir()
        for name, part in (("train", lines[:n_train]), ("test", lines[n_train:])):
            (place / f"{name}.txt").write_text("\n".join(part) + "\n")
        return place.parent

    return write
