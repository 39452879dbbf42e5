"""Array aliases with named axes, and the type of progress callbacks.

Each alias names what its axis counts. The dtype is part of the contract.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

PerRow: TypeAlias = NDArray[np.float64]  # (n_rows,)
PerGroup: TypeAlias = NDArray[np.float64]  # (n_groups,)
Keys: TypeAlias = NDArray[np.float64]  # (n_rows, n_orders), in the caller's row order
RowIndex: TypeAlias = NDArray[np.int64]  # (n_rows,) positions of rows
Offsets: TypeAlias = NDArray[np.int64]  # (n_groups + 1,), from 0 to n_rows, not decreasing
Counts: TypeAlias = NDArray[np.int64]  # (n_groups,)
Mask: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]  # (n_groups,) integers or strings

Ties: TypeAlias = Literal["worst", "best", "average", "id", "random", "threshold"]
Undefined: TypeAlias = Literal["skip", "zero", "one", "error"]
LowGrades: TypeAlias = Literal["zero", "keep"]
Missing: TypeAlias = Literal["error", "zero", "skip"]
Unjudged: TypeAlias = Literal["negative", "skip", "error", "bounds"]
Unretrieved: TypeAlias = Literal["count", "drop"]
IntervalMethod: TypeAlias = Literal["t", "wilson", "bootstrap"]
Package: TypeAlias = Literal[
    "trec_eval", "ir_measures", "sklearn", "ranx", "rectools", "recbole", "torchmetrics", "beir",
    "mteb", "sentence_transformers", "haystack", "llama_index", "mlflow", "ragas", "deepeval",
    "opensearch",
]  # fmt: skip

Progress: TypeAlias = Callable[[int, int, str], None]
"""A function that long computations call with (done, total, note); see `podium.progress`."""
