"""The shared base of the pAp@k baselines: linear scores, and pap at their k as the measure."""

from __future__ import annotations

import abc
from dataclasses import KW_ONLY, dataclass

from podium.metrics import Measure
from podium.rankers.estimator import LinearScores
from podium.rankers.objective import Parameters
from podium.types import Progress
from podium_studies import checks
from podium_studies.baseline import Baseline, Task


@dataclass(eq=False, repr=False)
class LinearBaseline(Baseline, LinearScores):
    """Abstract base of the baselines that score ``X @ coef_``."""

    k: int = 10
    _: KW_ONLY
    eval_metric: str | Measure | None = None
    clip: bool = False
    min_relevance: float = 1.0
    one_group: bool = False

    def _learn_task(self, task: Task, progress: Progress) -> None:
        self.coef_, self.intercept_ = self._coefficients(task, progress), 0.0

    @abc.abstractmethod
    def _coefficients(self, task: Task, progress: Progress) -> Parameters:
        """Return the coefficients, and keep the other learned attributes."""

    def _measure(self) -> str | Measure:
        """Return the measure: `eval_metric` if given, else pap at the baseline's k."""
        clip = "(clip=true)" if self.clip else ""
        return self.eval_metric or f"pap{clip}@{checks.cutoff(self.k)}"
