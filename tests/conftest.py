"""What all tests share: data sets, the command line in this process, and how hypothesis draws."""

from __future__ import annotations

import dataclasses
import gc
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import polars as pl

    from podium.demo import Results

ROOT = Path(__file__).resolve().parents[1]
# "additions" is what laws/test_additions.py registers; the others are programs of their own, which
# tests/cli/test_program.py and tests/unit/test_record.py start.
collect_ignore = [
    *("additions", "fuzz", "record"),
    *("parity/rectools_values.py", "parity/recbole_values.py", "parity/retriever_values.py"),
]
DATA = Path(os.environ.get("PODIUM_DATA") or ROOT.parent / "shared" / "data")

# No deadline: the first example of a test may compile a kernel. In CI the draws are the same each
# time; elsewhere they are new, and the failing ones are kept in .hypothesis.
settings.register_profile(
    "podium",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("podium"), max_examples=5)
settings.load_profile("podium")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the laws of what a plugin registers, such as the studies' losses, to `make check`."""
    from podium import losses, rankers

    every: dict[str, Any] = {**losses.REGISTRY, **rankers.REGISTRY}
    plugins = {n: each.__name__ for n, each in every.items() if each.__module__[:7] != "podium."}
    of_plugin = re.compile(rf"\[.*\b({'|'.join([*plugins, *plugins.values()])})\b")
    for item in items if plugins else ():
        if of_plugin.search(item.nodeid):
            item.add_marker("long")


def pytest_collection_finish() -> None:
    """Take what is loaded by now out of the garbage collector, which otherwise reads it often."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def podium_data() -> Callable[[str], Path]:
    """Return `need("ml-100k/u.data.gz")`: the path of a data file, or a skip that says why."""

    def need(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"data set absent: {name} is not in PODIUM_DATA ({DATA})")
        return path

    return need


@dataclasses.dataclass(frozen=True)
class Done:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The one line of an error; anything else fails the test."""
        assert self.err.startswith("podium: error: "), self.err
        assert self.err.count("\n") == 1, self.err
        assert self.err.endswith("\n"), self.err
        return self.err.removeprefix("podium: error: ").rstrip("\n")


@pytest.fixture
def podium(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Return `podium("measure", "truth.csv", ...)`, which runs it and says how it went."""

    from podium.cli import main

    def run(*argv: str) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert isinstance(stop.value.code, int)
        printed = capsys.readouterr()
        return Done(stop.value.code, printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Path]:
    """Run the demo on its own data, once per session; return its results and its folder."""
    from podium import demo

    folder = tmp_path_factory.mktemp("demo")
    return demo.run(folder), folder


@pytest.fixture(scope="session")
def demo_files(demo_run: tuple[Results, Path]) -> Path:
    """Return a folder with the files of the demo."""
    return demo_run[1]


@pytest.fixture
def ratings() -> pl.DataFrame:
    """Write ratings.csv: 300 users of three kinds rate movies of three kinds, more or less."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    user, movie = np.nonzero(rng.random((300, 60)) < 0.4)
    likes = rng.random(user.size) < np.where(user % 3 == movie % 3, 0.9, 0.2)
    frame = pl.DataFrame(
        {
            "userId": [f"u{u}" for u in user],
            "movieId": movie + 100,
            "rating": np.where(likes, 4.5, 2.0),
            "timestamp": rng.permutation(user.size),
        }
    )
    frame.write_csv("ratings.csv")
    return frame
