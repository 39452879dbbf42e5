"""What became of the passes of a fit, and what they are judged by."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from podium.metrics import Measure
from podium.recommenders.factorization._descent import Factors
from podium.recommenders.factorization._pairs import Pairs


@dataclass(frozen=True, eq=False)
class Judge:
    """Held-out pairs, what is measured on them, and how many passes may go by without a gain."""

    pairs: Pairs
    measure: Measure
    patience: int | None


@dataclass(eq=False)
class History:
    """What became of the passes so far."""

    stop_reason: str = "n_epochs"
    costs: list[float] = field(default_factory=list[float])
    validation: list[float] = field(default_factory=list[float])
    best: Factors | None = None  # of the best pass, where passes are judged

    @property
    def n_done(self) -> int:
        """Passes made."""
        return len(self.costs)

    @property
    def best_epoch(self) -> int:
        """Passes that the factors to keep come from."""
        return int(np.argmax(self.validation)) + 1 if self.validation else self.n_done

    def impatient(self, judge: Judge | None) -> bool:
        """Tell whether enough passes went by without a better value."""
        waited = self.n_done - self.best_epoch
        return judge is not None and judge.patience is not None and 0 < judge.patience <= waited
