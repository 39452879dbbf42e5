"""Intact files to damage: models, checkpoints, and other outputs of commands."""

from __future__ import annotations

import contextlib
import io
import os
import random
from pathlib import Path

from tests.fuzz import tables

from podium.cli import main
from podium.recommenders import Factorization

_MODELS = {
    "linear": ("--loss", "pap-avg", "-k", "2", "--set", "max_iter=9"),
    "listmle": ("--loss", "listmle", "-k", "2", "--set", "max_iter=9", "--set", "query_norm=true"),
    "neural": ("--model", "neural", "-k", "2", "--set", "max_iter=2"),
    "lightgbm": ("--model", "lightgbm", "-k", "2", "--set", "n_trees=3"),
    "xgboost": ("--model", "xgboost", "-k", "2", "--set", "n_trees=3"),
    "logistic-regression": ("--model", "logistic-regression", "-k", "2"),
}
FACTORIZE = ("--set", "n_factors=3", "--set", "n_epochs=3", "--seed", "1")


def make(folder: Path) -> dict[str, bytes]:
    """Write all files to the folder, and return them by name; this also compiles every kernel.

    The files are ``rows.csv`` and a model of it under each name in `_MODELS`; ``pairs.csv`` with
    its ``factors`` and ``checkpoint``.
    """
    working_folder = Path.cwd()
    os.chdir(folder)
    try:
        Path("rows.csv").write_bytes(tables.write(_learnable(), "csv"))
        for name, options in _MODELS.items():
            _run("train", "rows.csv", *options, "--out", name)
        Path("pairs.csv").write_bytes(tables.write(_pairs(), "csv"))
        _run("train", "--model", "factorization", "pairs.csv", *FACTORIZE, "--out", "factors")
        _checkpoint()
        return {path.name: path.read_bytes() for path in sorted(Path().iterdir())}
    finally:
        os.chdir(working_folder)


def _learnable() -> tables.Table:
    rng = random.Random(1)
    pairs = [(user, item) for user in range(5) for item in range(12)]
    x = [rng.gauss(0, 1) for _ in pairs]
    return [
        ("user", [user for user, _ in pairs]),
        ("item", [item for _, item in pairs]),
        ("relevance", [int(value > 0.3) for value in x]),
        ("x", x),
        ("y", [rng.randrange(3) for _ in pairs]),
    ]


def _pairs() -> tables.Table:
    """Return pairs of users 0 to 9 and items 0 to 19; all of these occur."""
    pairs = [(i % 10, i % 20) for i in range(20)]
    pairs += [(user, item) for user in range(10) for item in range(user % 3, 20, 3)]
    return [("user", [user for user, _ in pairs]), ("item", [item for _, item in pairs])]


def _checkpoint() -> None:
    """Write the checkpoint of a fit that is interrupted after the second pass."""

    def stop(done: int, total: int | None, note: str = "") -> None:
        del total, note
        if done == 2:
            raise KeyboardInterrupt

    model = Factorization(3, n_epochs=3, random_state=1)
    with contextlib.suppress(KeyboardInterrupt):
        model.fit("pairs.csv", checkpoint="checkpoint", progress=stop)


def _run(*argv: str) -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            main(argv)
        except SystemExit as exit_error:
            if exit_error.code != 0:
                raise RuntimeError(f"podium {' '.join(argv)}: {output.getvalue()}") from None
