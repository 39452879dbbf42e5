"""What the labels of podium train teach: grades, or positives from a threshold on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from podium.cli._training import Model

if TYPE_CHECKING:
    from podium.data import Features
    from podium.types import PerRow

_FEW = 6  # grades that are shown


def labels(path: Path, rows: Features) -> PerRow:
    """Return what the rows teach, or raise where a table has nothing."""
    from podium.errors import DataError

    if rows.y is None:
        raise DataError(
            f"{path} has no relevance column to learn from. Name it relevance, rating or label, "
            "or pass --relevance-col."
        )
    return rows.y


def check_ratings(path: Path, estimator: Any, grid: Any, *, validated: bool) -> None:
    """Refuse ratings where something counts positives without a threshold.

    Raises
    ------
    ArgumentError
        If a loss counts positives and no threshold is given, or if a library's own loss or the
        measure of validation counts positives and takes no threshold.
    """
    from podium.data.columns import threshold
    from podium.errors import ArgumentError
    from podium.metrics import parse

    losses = list(_losses(estimator, grid))
    for _, loss in losses:
        if isinstance(loss, str) and _counts_positives(loss, estimator):
            raise ArgumentError(
                f"{path} holds ratings, and {loss} takes each of them for positive. Pass --loss "
                "logistic with --min-relevance, or another loss of podium's."
            )
        if _counts_positives(loss, estimator) and _low(loss, estimator) == 1.0:
            threshold(str(path), None, ratings=True)
    graded = all(not _counts_positives(loss, estimator) for _, loss in losses)
    if validated and graded and not parse(estimator.eval_metric).metric.graded:
        raise ArgumentError(
            f"{path} holds ratings, and {estimator.eval_metric} takes each of them for positive. "
            "Pass --eval-metric ndcg@K, which reads grades as the loss does."
        )


def grades_unread(rows: Features, model: Model, estimator: Any, grid: Any) -> Iterator[str]:
    """Yield which rows count as positive where labels have grades and the loss reads none."""
    import numpy as np

    grades = np.unique(cast("PerRow", rows.y))
    if grades.size <= 2 or model.min_relevance is not None:
        return
    for name, loss in _losses(estimator, grid):
        if _counts_positives(loss, estimator) and _low(loss, estimator) == 1.0:
            shown = ", ".join(f"{grade:g}" for grade in grades[:_FEW])
            more = ", …" if grades.size > _FEW else ""
            yield (
                f"{name or model.model} reads no grades: of the labels {shown}{more}, those >= 1 "
                f"are positive. {'; '.join(_instead(loss))}."
            )
            return


def _instead(loss: Any) -> Iterator[str]:
    """Yield the options that change what is positive."""
    if not isinstance(loss, str):
        yield "--min-relevance moves this"
    if loss is not None:
        yield "--loss softmax or listmle learns from grades"


def left_out(rows: Features) -> Iterator[str]:
    """Yield which columns are no features because of their names."""
    if rows.left_out:
        yield (
            f"no features: {', '.join(rows.left_out)}. Times and ids are none unless --features "
            "names them."
        )


def _losses(estimator: Any, grid: Any) -> Iterator[tuple[str, Any]]:
    """Yield the losses that will be learned, and their names: of the grid, where it has any."""
    from podium import losses

    parts = cast("list[dict[str, Any]]", grid if isinstance(grid, list) else [grid])
    own = estimator.loss_in_use()
    for part in parts:
        for loss in part.get("loss", [own]):
            if not isinstance(loss, str):
                yield "" if loss is None else str(loss), loss
            elif losses.is_registered(loss):  # its k is elsewhere in the grid
                name, own = losses.split(loss)
                takes_k = "k" in losses.REGISTRY[name].parameters() and "k" not in own
                yield loss, losses.get(loss, **({"k": 1} if takes_k else {}))
            else:
                yield loss, loss


def _counts_positives(loss: Any, estimator: Any) -> bool:
    return not estimator.reads_grades(loss)


def _low(loss: Any, estimator: Any) -> float:
    """Return the relevance from which a row is positive, 1 where nothing was said of it."""
    from podium.losses import Loss

    own = estimator.get_params(deep=False).get("min_relevance", 1.0)
    return loss.min_relevance if isinstance(loss, Loss) else float(own)
