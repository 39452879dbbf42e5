"""podium rank: a trained model's scores as a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli._models import missing_allowed
from podium.cli._options import check_target
from podium.cli._rows import check_finite

if TYPE_CHECKING:
    from podium.data import Features


def rank(
    model: Annotated[Path, typer.Argument(help="What podium train wrote.", metavar="MODEL")],
    data: Annotated[
        Path,
        typer.Argument(
            help="A row per user and item: user (or qid), item, and the model's features.",
            metavar="DATA",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="RUN",
            help="File to write, by suffix (.parquet, .csv, .tsv, .arrow); CSV to stdout "
            "without it.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", metavar="K", help="Keep the K best items of each user."),
    ] = None,
    user_col: Annotated[str | None, typer.Option(metavar="NAME", help="Column of users.")] = None,
    item_col: Annotated[str | None, typer.Option(metavar="NAME", help="Column of items.")] = None,
) -> None:
    """Score rows with a model and write the run: user, item, score, best first within each user.

    Where DATA names no items, an item is the row's position within its user, from 0.
    """
    check_target(out, "--out")
    from podium import _check, rankers
    from podium import data as tables

    cutoff = None if k is None else _check.cutoff(k, name="-k")
    ranker = rankers.load(model)
    rows = _read(data, ranker, user_col, item_col)
    run = ranked(rows, _scores(ranker, rows), cutoff)
    if out is not None:
        tables.write_table(run, out)
    else:
        sys.stdout.write(tables.to_frame(run).write_csv())


def ranked(rows: Features, scores: Any, k: int | None) -> dict[str, Any]:
    """Return the columns of a run: users rising, scores falling, equal ones in row order."""
    import numpy as np

    from podium.groups import Groups

    groups = Groups.from_qid(np.asarray(rows.qid))
    order = np.lexsort((-scores, groups.index))
    if k is not None:
        place = np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes)
        order = order[place < k]
    return {
        "user": groups.labels[groups.index[order]],
        "item": np.asarray(rows.item)[order],
        "score": scores[order],
    }


def _read(path: Path, ranker: Any, user_col: str | None, item_col: str | None) -> Features:
    from podium import data

    names = getattr(ranker, "feature_names_in_", None)
    wanted = None if names is None else [str(name) for name in names]
    rows = data.read_features(
        path, user=user_col, item=item_col, features=wanted, n_features=ranker.n_features_in_
    )
    if not missing_allowed(ranker):
        check_finite(path, rows)
    return rows


def _scores(ranker: Any, rows: Features) -> Any:
    """Predict from an array whose columns are in the model's order already."""
    if hasattr(ranker, "feature_names_in_"):
        del ranker.feature_names_in_  # scikit-learn would warn that an array has none
    return ranker.predict(rows.X)
