"""Metrics and models for the top of ranked lists.

Most programs need only the names below. Each name loads its module at first use, so that
`import podium` is fast. `podium.evaluate` takes a Ranking, and `podium.measure` takes files or
tables. `podium.evaluation` is the module that contains both.

Examples
--------
>>> import podium
>>> ranking = podium.Ranking.from_scores([0.9, 0.5, 0.1], [1, 0, 1], qid=[7, 7, 7])
>>> podium.metrics.precision(ranking, k=2).tolist()
[0.5]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium import (
        catalogue,
        data,
        decide,
        errors,
        evaluation,
        losses,
        metrics,
        plots,
        rankers,
        recommenders,
        sampled,
        tuning,
    )
    from podium.decide import Audit, Explanation, Gate, audit, compare, explain, gate
    from podium.evaluation import Comparison, Evaluation, evaluate, measure
    from podium.groups import Groups
    from podium.protocol import Protocol
    from podium.rankers import LinearRanker
    from podium.ranking import Ranking

__version__ = "0.1.0"

_NAMES = {
    "decide": ("Audit", "Explanation", "Gate", "audit", "compare", "explain", "gate"),
    "evaluation": ("Comparison", "Evaluation", "evaluate", "measure"),
    "groups": ("Groups",),
    "protocol": ("Protocol",),
    "rankers": ("LinearRanker",),
    "ranking": ("Ranking",),
}
_HOME = {name: f"podium.{module}" for module, names in _NAMES.items() for name in names}

__all__ = [
    "Audit",
    "Comparison",
    "Evaluation",
    "Explanation",
    "Gate",
    "Groups",
    "LinearRanker",
    "Protocol",
    "Ranking",
    "__version__",
    "audit",
    "catalogue",
    "compare",
    "data",
    "decide",
    "errors",
    "evaluate",
    "evaluation",
    "explain",
    "gate",
    "losses",
    "measure",
    "metrics",
    "plots",
    "rankers",
    "recommenders",
    "sampled",
    "tuning",
]


def __getattr__(name: str) -> Any:
    """Load a public name at first use and keep it as an attribute of the module."""
    if name not in __all__:
        raise AttributeError(f"module 'podium' has no attribute {name!r}")
    if name not in _HOME:
        return import_module(f"podium.{name}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
