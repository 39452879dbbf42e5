"""The command podium rank: the scores of a trained model as a run."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium import _check
from podium.cli._models import accepted, missing_allowed
from podium.cli._options import TABLES, WRITTEN, ColumnNames, check_target

if TYPE_CHECKING:
    from podium.data import Features
    from podium.data.appending import Append

RUNS = (*TABLES, ".trec", ".trec.gz")


def rank(
    *,
    model: Annotated[Path, typer.Argument()],
    data: Annotated[Path, typer.Argument()],
    out: Annotated[Path | None, WRITTEN, typer.Option("--out", "-o")] = None,
    k: Annotated[int | None, typer.Option("-k")] = None,
    columns: ColumnNames,
) -> None:
    """Score rows with a model and write the run: user, item, score, best first within each user.

    If DATA has no items, an item is the position of the row within its user, starting at 0. For
    svmlight files, the first column of the run is qid.

    Parameters
    ----------
    model : MODEL
        Model file that podium train has written.
    data : DATA
        Table with one row per user and item: user (or qid), item, and the features of the model. Or
        an svmlight file with qid (LETOR).
    out : RUN
        File to write the run to; its suffix gives the format (.parquet, .csv, .tsv, .arrow, .trec).
        Default: CSV to stdout.
    k : K
        Number of items to keep per user. Default: all.
    """
    check_target(out, "--out", RUNS)
    from podium import rankers
    from podium.data.files import File

    cutoff = None if k is None else _check.cutoff(k, name="-k")
    ranker = rankers.load(model)
    is_svmlight = File.of(data, "features").format() == "svmlight"
    rows = _read(data, ranker, columns.names_by_role())
    run = rows.run(_scores(ranker, rows), cutoff)
    user = "qid" if is_svmlight else "user"
    with opened(out) as append:
        append({user: run.pop("user"), **run})


def _read(path: Path, ranker: Any, names: Mapping[str, str]) -> Features:
    from podium import data
    from podium.data.features import check_finite, normalized

    named = getattr(ranker, "feature_names_in_", None)
    rows = data.read_features(
        path,
        user=names.get("user"),
        item=names.get("item"),
        features=None if named is None else [str(name) for name in named],
        n_features=ranker.n_features_in_,
    )
    if not missing_allowed(ranker):
        check_finite(path, rows)
    return normalized(rows, path) if ranker.query_norm_ else rows


def _scores(ranker: Any, rows: Features) -> Any:
    """Predict from an array whose columns are already in the model's order."""
    if hasattr(ranker, "feature_names_in_"):
        del ranker.feature_names_in_  # scikit-learn would warn that the array has no names
    return ranker.predict(accepted(rows.X, ranker))


@contextmanager
def opened(out: Path | None) -> Generator[Append]:
    """Yield a function that appends rows: columns of users, items and scores, best first.

    All rows of a user are appended at once. Without a path the rows go to stdout as CSV, and
    nothing is printed until the block has succeeded.
    """
    from podium.data.appending import append_run, text_appender

    if out is not None:
        with append_run(out) as append:
            yield append
        return
    with tempfile.TemporaryFile() as file:
        yield text_appender(file)
        file.seek(0)
        with open(file.fileno(), encoding="utf-8", newline="", closefd=False) as text:
            shutil.copyfileobj(text, sys.stdout)
