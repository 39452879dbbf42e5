"""Checks of what losses learn from labels: grades, or positives above a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from podium.errors import ArgumentError, arg
from podium.losses import Loss
from podium.metrics import parse
from podium.rankers.estimator import Ranker
from podium.tuning.candidates import Params
from podium.types import PerRow

_FEW = 6  # maximum number of grades in a message


def check_ratings(
    source: str | Path, ranker: Ranker, grid: list[Params], *, validated: bool
) -> None:
    """Raise for ratings if a loss or measure counts positives and there is no threshold.

    Parameters
    ----------
    source : str or Path
        The name of the table of ratings in messages.
    ranker : Ranker
    grid : list of dict
        The candidates of a search, whose losses replace the ranker's; may be empty.
    validated : bool
        Whether the ranker's `eval_metric` will be used.

    Raises
    ------
    ArgumentError
        If a loss counts positives and there is no threshold, or if all losses read grades and the
        measure of validation does not.
    """
    for loss in _counting(ranker, grid):
        raise ArgumentError(
            f"{source} contains ratings, but {loss or 'the model'} counts every rating as a "
            f"positive. {_advice(loss)}."
        )
    measure = ranker.suited_measure() if ranker.eval_metric is None else ranker.eval_metric
    reads_grades = all(map(ranker.reads_grades, _losses(ranker, grid)))
    if validated and reads_grades and not parse(measure).graded:
        raise ArgumentError(
            f"{source} contains ratings, but {measure} counts every rating as a positive. Pass "
            f"{arg.eval_metric('ndcg@K')}, which uses grades, as the loss does."
        )


def grades_unread(relevance: PerRow, ranker: Ranker, grid: list[Params], *, name: str) -> str:
    """Return a message on which rows are positive if labels have grades that the loss ignores.

    The message is empty if the loss reads grades or there is a threshold. `name` is the name of a
    ranker that has no choice of losses.
    """
    grades = np.unique(relevance)
    for loss in _counting(ranker, grid) if grades.size > 2 else ():
        return (
            f"{loss or name} does not use grades: of the labels {shown_grades(grades)}, those >= 1 "
            f"are positive. {_advice(loss)}."
        )
    return ""


def shown_grades(relevance: PerRow) -> str:
    """Return the distinct labels as text, at most six of them."""
    grades = np.unique(relevance)
    return ", ".join([*(f"{grade:g}" for grade in grades[:_FEW]), *["…"] * (grades.size > _FEW)])


def _advice(loss: Any) -> str:
    """Return advice on how to change which rows are positive."""
    threshold = f"{arg.min_relevance} changes this threshold"
    other = f"{arg.loss('softmax', 'listmle')} learns from grades"
    return (
        threshold if loss is None else other if isinstance(loss, str) else f"{threshold}; {other}"
    )


def _losses(ranker: Ranker, grid: list[Params]) -> list[Any]:
    """Return the losses of all candidates: those of the grid, if it has any."""
    return [loss for part in grid or [{}] for loss in part.get("loss", [ranker.loss_in_use()])]


def _counting(ranker: Ranker, grid: list[Params]) -> Iterator[Any]:
    """Yield the losses that count positives, of which every label >= 1 is one."""
    for loss in _losses(ranker, grid):
        low = loss.min_relevance if isinstance(loss, Loss) else ranker.min_relevance_in_use()
        if not ranker.reads_grades(loss) and (isinstance(loss, str) or low == 1.0):
            yield loss
