"""Array aliases with named axes, and the protocols that podium's layers share.

The alias says what the axis counts; the dtype is part of the contract.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from podium.groups import Groups

PerRow: TypeAlias = NDArray[np.float64]  # (n_rows,)
PerGroup: TypeAlias = NDArray[np.float64]  # (n_groups,)
RowIndex: TypeAlias = NDArray[np.int64]  # (n_rows,) positions of rows
Offsets: TypeAlias = NDArray[np.int64]  # (n_groups + 1,), from 0 to n_rows, never falling
Counts: TypeAlias = NDArray[np.int64]  # (n_groups,)
Mask: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]  # (n_groups,) integers or strings

Ties: TypeAlias = Literal["worst", "best", "average", "id", "random"]
Undefined: TypeAlias = Literal["skip", "zero", "one", "error"]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with (done, total, note) by everything that takes long; see `podium.progress`."""


class Loss(Protocol):
    """A loss in score space: it reads scores in groups and knows nothing of the model.

    `prepare` does all that the scores do not change, once; `value_and_grad` is called in the
    solver's loop. Rows are in the caller's order throughout.

    A loss whose target depends on random numbers says so with ``draws = True``. It then has
    ``draw(groups, rng)``, which returns them as keys, float64, (n_rows, n_orders), drawn group
    after group, and its `prepare` takes these as ``keys``: a solver draws once and gives every
    mini-batch the keys of its rows. ``redraws = True`` asks for new keys in each pass. A loss
    that lacks these attributes draws nothing.

    A loss that weighs rows one by one, whatever group they are in, says so with
    ``reads_groups = False``; rankers fit any other one with a qid only.
    """

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> Any:
        """Return the target: positives, order and ties of each group, as this loss wants them."""
        ...

    def value_and_grad(self, scores: PerRow, target: Any) -> tuple[PerGroup, PerRow]:
        """Return each group's value, and the gradient of their mean by each row's score."""
        ...

    def curvature(self, scores: PerRow, target: Any) -> PerRow:
        """Return a positive second-order bound by row, for boosting."""
        ...
