"""Values worth trying of each baseline's hyper-parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_C = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)

GRIDS: Mapping[str, Mapping[str, Sequence[float]]] = {
    "GreedyPAp": {"C": _C},
    "LogisticRanker": {"C": _C},
    "RankBoost": {"n_thresholds": (10, 30, 100)},
    "SGDAtK": {"learning_rate": (0.1, 1.0, 10.0), "l2": (0.0, 1e-3, 1e-2, 1e-1)},
    "SVMpAUC": {"C": (*_C, 1e3)},
    "SelectPAp": {"C": _C},
}
"""For each baseline, values of what is tuned on validation, for features of unit range."""
