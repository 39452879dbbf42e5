"""The labels in a boosting library's data sets, and a cache of values computed from them."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.rankers import inputs
from podium.types import PerRow

T = TypeVar("T")

_KEPT = 4  # number of cached data sets: training and a few for validation


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a library's rows, in the library's own form.

    Attributes
    ----------
    relevance : (n_rows,)
    weights : (n_rows,) or (n_groups,), or None
    sizes : (n_groups,), or None
        The sizes of consecutive groups; None if the library has no groups.
    """

    relevance: NDArray[Any]
    weights: NDArray[Any] | None = None
    sizes: NDArray[Any] | None = None

    @classmethod
    def of(cls, data: Any) -> Labels:
        """Read the labels of a lightgbm.Dataset or an xgboost.DMatrix."""
        relevance, weights, sizes = data.get_label(), data.get_weight(), data.get_group()
        return cls(np.asarray(relevance), _array_or_none(weights), _array_or_none(sizes))

    def groups(self, qid: Any, reader: str) -> Groups:
        """Return the groups, from qid if given; errors name the objective or metric, `reader`."""
        if qid is not None:
            return self._from_qid(qid, reader)
        if self.sizes is None:
            raise ArgumentError(
                f"{reader} needs groups, but the data set has none. Set group or qid in the data "
                "set, or pass qid= to the objective or metric, with one label per row."
            )
        return Groups.from_sizes(self.sizes.astype(np.int64))

    def row_weights(self, groups: Groups) -> PerRow | None:
        """Return weights by row, from weights by row or by group."""
        return inputs.row_weights(self.weights, groups)

    def same_as(self, other: Labels) -> bool:
        """Return whether both are equal, at a cost far below that of a tree."""
        return (
            _same(self.relevance, other.relevance)
            and _same(self.weights, other.weights)
            and _same(self.sizes, other.sizes)
        )

    def _from_qid(self, qid: Any, reader: str) -> Groups:
        groups = Groups.from_qid(qid)
        if groups.n_rows != self.relevance.size:
            raise ArgumentError(
                f"qid of {reader} must have one label for each of the {self.relevance.size} rows "
                f"of the data set, got {groups.n_rows}."
            )
        return groups


class OnData(abc.ABC, Generic[T]):
    """A callback of either library, and a cache of what it prepares from the last few data sets.

    Labels are compared by value, so a data set whose labels changed counts as a new one. Copies
    and pickles start with an empty cache. LightGBM passes as many arguments as the call has, and
    XGBoost reads the name `sample_weight`, so that one call serves both.
    """

    def __init__(self, qid: ArrayLike | None) -> None:
        self.qid: NDArray[Any] | None = None if qid is None else np.asarray(qid)
        self._kept: list[tuple[Labels, T]] = []

    @abc.abstractmethod
    def _prepare(self, labels: Labels) -> T:
        """Return a function of the scores of rows with these labels."""

    def _read(
        self, y_true: Any, y_pred: Any, sample_weight: Any, group: Any
    ) -> tuple[T, PerRow, bool]:
        """Return the function, the scores, and whether the call was ``(preds, data set)``."""
        is_native = hasattr(y_pred, "get_label")  # a library's data set rather than an array
        if is_native:
            scores, labels = y_true, Labels.of(y_pred)
        else:
            scores, labels = y_pred, Labels(np.asarray(y_true), sample_weight, group)
        prepared = next((value for kept, value in self._kept if kept.same_as(labels)), None)
        if prepared is None:
            prepared = self._prepare(labels)
            self._kept = [(labels, prepared), *self._kept[: _KEPT - 1]]
        return prepared, np.asarray(scores, dtype=np.float64).reshape(-1), is_native

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": []}


def _array_or_none(values: Any) -> NDArray[Any] | None:
    """Return an array, or None if the library has none (XGBoost: an empty one)."""
    array = None if values is None else np.asarray(values)
    return array if array is not None and array.size else None


def _same(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one is other or np.array_equal(one, other)
