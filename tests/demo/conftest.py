"""Made-up customers of two tastes, who keep buying what their taste has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from podium import demo
from podium.data.retail import OnlineRetail
from podium.demo.study import DAY, Results

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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "new" / "folder"


@pytest.fixture(scope="session")
def results(shop: OnlineRetail, folder: Path) -> Results:
    """Run the demo once."""
    return demo.run(folder, shop=shop)
