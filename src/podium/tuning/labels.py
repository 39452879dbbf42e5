"""What labels teach the losses that will be learned: grades, or positives from a threshold on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from podium import losses
from podium.data.columns import threshold
from podium.errors import ArgumentError
from podium.losses import Loss
from podium.metrics import parse
from podium.rankers.estimator import Ranker
from podium.types import PerRow

_FEW = 6  # grades that are shown


def check_ratings(source: str | Path, ranker: Ranker, grid: Any, *, validated: bool) -> None:
    """Refuse ratings where something counts positives and was given no threshold.

    Parameters
    ----------
    source : str or Path
        The table of ratings, as messages call it.
    ranker : Ranker
    grid : mapping of name to values, or a sequence of such
        The candidates of a search, whose losses count instead of the ranker's; may be empty.
    validated : bool
        Whether the ranker's `eval_metric` will be used.

    Raises
    ------
    ArgumentError
        If a loss counts positives and no threshold is given, or if a library's own loss or the
        measure of validation counts positives and takes no threshold.
    """
    learned = list(_losses(ranker, grid))
    for _, loss in learned:
        if isinstance(loss, str) and not ranker.reads_grades(loss):
            raise ArgumentError(
                f"{source} holds ratings, and {loss} takes each of them for positive. Pass "
                "loss='logistic' with min_relevance, or another loss of podium's."
            )
        if not ranker.reads_grades(loss) and _threshold(loss, ranker) == 1.0:
            threshold(str(source), None, ratings=True)
    graded = all(ranker.reads_grades(loss) for _, loss in learned)
    if validated and graded and not parse(ranker.eval_metric).metric.graded:
        raise ArgumentError(
            f"{source} holds ratings, and {ranker.eval_metric} takes each of them for positive. "
            "Pass eval_metric='ndcg@K', which reads grades as the loss does."
        )


def grades_unread(relevance: PerRow, ranker: Ranker, grid: Any, *, name: str) -> str:
    """Return which rows count as positive where labels have grades and the loss reads none.

    Nothing where it reads them, or a threshold is given. `name` is that of a ranker that is its
    own loss.
    """
    grades = np.unique(relevance)
    if grades.size <= 2:
        return ""
    for text, loss in _losses(ranker, grid):
        if not ranker.reads_grades(loss) and _threshold(loss, ranker) == 1.0:
            shown = ", ".join(f"{grade:g}" for grade in grades[:_FEW])
            more = ", …" if grades.size > _FEW else ""
            return (
                f"{text or name} reads no grades: of the labels {shown}{more}, those >= 1 "
                f"are positive. {'; '.join(_instead(loss))}."
            )
    return ""


def _instead(loss: Any) -> Iterator[str]:
    """Yield the parameters that change what is positive."""
    if not isinstance(loss, str):
        yield "min_relevance moves this"
    if loss is not None:
        yield "loss='softmax' or 'listmle' learns from grades"


def _losses(ranker: Ranker, grid: Any) -> Iterator[tuple[str, Any]]:
    """Yield the losses that will be learned, and their names: of the grid, where it has any."""
    parts = cast("list[dict[str, Any]]", grid if isinstance(grid, list) else [grid])
    own = ranker.loss_in_use()
    for part in parts:
        for loss in part.get("loss", [own]):
            if not isinstance(loss, str):
                yield "" if loss is None else str(loss), loss
            elif losses.is_registered(loss):  # its k is elsewhere in the grid
                name, given = losses.split(loss)
                takes_k = "k" in losses.REGISTRY[name].parameters() and "k" not in given
                yield loss, losses.get(loss, **({"k": 1} if takes_k else {}))
            else:
                yield loss, loss


def _threshold(loss: Any, ranker: Ranker) -> float:
    """Return the relevance from which a row is positive, 1 where none was given."""
    own = ranker.get_params(deep=False).get("min_relevance", 1.0)
    return loss.min_relevance if isinstance(loss, Loss) else float(own)
