"""podium: measure and train rankings where it counts, at the top of the list.

The names below are all that most programs need; each loads its module when it is first used, so
that `import podium` costs next to nothing. `podium.evaluation` is the module: its function of that
name, which starts from a Ranking rather than from files or tables, is `podium.evaluation.evaluate`.

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
        errors,
        evaluation,
        losses,
        metrics,
        rankers,
        recommenders,
        sampled,
        tuning,
    )
    from podium.evaluation import Comparison, Evaluation, compare, evaluate, measure
    from podium.groups import Groups
    from podium.rankers import LinearRanker
    from podium.ranking import Ranking

__version__ = "0.1.0"

_HOME = {
    "Comparison": "podium.evaluation",
    "Evaluation": "podium.evaluation",
    "Groups": "podium.groups",
    "LinearRanker": "podium.rankers",
    "Ranking": "podium.ranking",
    "compare": "podium.evaluation",
    "evaluate": "podium.evaluation",
    "measure": "podium.evaluation",
}
_SUBMODULES = (
    "catalogue",
    "data",
    "errors",
    "evaluation",
    "losses",
    "metrics",
    "rankers",
    "recommenders",
    "sampled",
    "tuning",
)

__all__ = [
    "Comparison",
    "Evaluation",
    "Groups",
    "LinearRanker",
    "Ranking",
    "__version__",
    "catalogue",
    "compare",
    "data",
    "errors",
    "evaluate",
    "evaluation",
    "losses",
    "measure",
    "metrics",
    "rankers",
    "recommenders",
    "sampled",
    "tuning",
]


def __getattr__(name: str) -> Any:
    """Load what is asked for, and keep it: the next use is a plain attribute."""
    if name in _SUBMODULES:
        return import_module(f"podium.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'podium' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
