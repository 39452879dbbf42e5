"""Checks of what losses learn from labels: grades, or positives above a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from podium import losses
from podium.data.columns import threshold
from podium.errors import ArgumentError, arg
from podium.losses import Loss
from podium.metrics import parse
from podium.rankers.estimator import Ranker
from podium.types import PerRow

_FEW = 6  # maximum number of grades in a message


def check_ratings(source: str | Path, ranker: Ranker, grid: Any, *, validated: bool) -> None:
    """Raise for ratings if a loss or measure counts positives and there is no threshold.

    Parameters
    ----------
    source : str or Path
        The name of the table of ratings in messages.
    ranker : Ranker
    grid : mapping of name to values, or a sequence of such
        The candidates of a search, whose losses replace the ranker's; may be empty.
    validated : bool
        Whether the ranker's `eval_metric` will be used.

    Raises
    ------
    ArgumentError
        If a loss counts positives and there is no threshold, or if a library's own loss or the
        measure of validation counts positives and takes no threshold.
    """
    losses_to_learn = list(_losses(ranker, grid))
    for _, loss in losses_to_learn:
        if isinstance(loss, str) and not ranker.reads_grades(loss):
            raise ArgumentError(
                f"{source} contains ratings, but {loss} counts every rating as a positive. Pass "
                f"{arg.loss('logistic')} with {arg.min_relevance}, or another loss of podium."
            )
        if not ranker.reads_grades(loss) and _threshold(loss, ranker) == 1.0:
            threshold(str(source), None, ratings=True)
    graded = all(ranker.reads_grades(loss) for _, loss in losses_to_learn)
    measure = ranker.suited_measure() if ranker.eval_metric is None else ranker.eval_metric
    if validated and graded and not parse(measure).graded:
        raise ArgumentError(
            f"{source} contains ratings, but {measure} counts every rating as a positive. Pass "
            f"{arg.eval_metric('ndcg@K')}, which uses grades, as the loss does."
        )


def grades_unread(relevance: PerRow, ranker: Ranker, grid: Any, *, name: str) -> str:
    """Return a message on which rows are positive if labels have grades that the loss ignores.

    The message is empty if the loss reads grades or there is a threshold. `name` is the name of a
    ranker that has no choice of losses.
    """
    grades = np.unique(relevance)
    if grades.size <= 2:
        return ""
    for text, loss in _losses(ranker, grid):
        if not ranker.reads_grades(loss) and _threshold(loss, ranker) == 1.0:
            return (
                f"{text or name} does not use grades: of the labels {shown_grades(grades)}, those "
                f">= 1 are positive. {'; '.join(_alternatives(loss))}."
            )
    return ""


def shown_grades(relevance: PerRow) -> str:
    """Return the distinct labels as text, at most six of them."""
    grades = np.unique(relevance)
    return ", ".join([*(f"{grade:g}" for grade in grades[:_FEW]), *["…"] * (grades.size > _FEW)])


def _alternatives(loss: Any) -> Iterator[str]:
    """Yield the parameters that change which rows are positive."""
    if not isinstance(loss, str):
        yield f"{arg.min_relevance} changes this threshold"
    if loss is not None:
        yield f"{arg.loss('softmax', 'listmle')} learns from grades"


def _losses(ranker: Ranker, grid: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and losses of all candidates: those of the grid, if it has any."""
    parts = cast("list[dict[str, Any]]", grid if isinstance(grid, list) else [grid])
    default = ranker.loss_in_use()
    for part in parts:
        for loss in part.get("loss", [default]):
            if not isinstance(loss, str):
                yield "" if loss is None else str(loss), loss
            elif losses.is_registered(loss):  # its k may be elsewhere in the grid
                name, options = losses.split(loss)
                takes_k = "k" in losses.REGISTRY[name].parameters() and "k" not in options
                yield loss, losses.get(loss, **({"k": 1} if takes_k else {}))
            else:
                yield loss, loss


def _threshold(loss: Any, ranker: Ranker) -> float:
    """Return the smallest relevance of a positive: 1 for a loss of a library, else as declared."""
    if isinstance(loss, Loss):
        return loss.min_relevance
    return 1.0 if isinstance(loss, str) else ranker.min_relevance_in_use()
