"""Made-up customers of two tastes, who keep buying what their taste has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from podium.data import OnlineRetail
from podium.experiments._windows import DAY

N_USERS, N_ITEMS, N_DAYS, N_EVENTS = 90, 120, 240, 6000


@pytest.fixture(scope="session")
def shop() -> OnlineRetail:
    """Even customers prefer even products, and odd ones odd products."""
    rng = np.random.default_rng(0)
    user = rng.integers(0, N_USERS, N_EVENTS)
    item = np.minimum(rng.geometric(0.03, N_EVENTS) - 1, N_ITEMS // 2 - 1) * 2
    item += np.where(rng.random(N_EVENTS) < 0.9, user % 2, 1 - user % 2)
    minute = rng.integers(0, N_DAYS * DAY, N_EVENTS)
    quantity = rng.integers(1, 20, N_EVENTS) * np.where(rng.random(N_EVENTS) < 0.05, -1, 1)
    order = np.lexsort((item, minute, user))
    return OnlineRetail(
        user[order],
        item[order],
        minute[order],
        quantity[order],
        0,
        np.array([f"S{i:03d}" for i in range(N_ITEMS)]),
        np.array([f"{'RED' if i % 2 else 'BLUE'} THING No{i % 7}" for i in range(N_ITEMS)]),
        np.arange(N_USERS) + 1000,
        np.where(np.arange(N_USERS) % 5 == 0, "France", "United Kingdom"),
    )


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
