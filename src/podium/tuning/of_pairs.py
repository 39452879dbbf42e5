"""The search for recommenders: candidates are measured on held-out pairs of the same users."""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from podium import __version__
from podium.errors import arg, warn
from podium.executors import Executor, Threads
from podium.metrics import Measure
from podium.recommenders import Recommender
from podium.tuning import pairs
from podium.tuning.candidates import Params
from podium.tuning.pairs import Parts
from podium.tuning.results import Trial
from podium.tuning.trials import FACTOR, Task
from podium.types import PerGroup, Progress

_PASSES = "n_epochs"  # the parameter of recommenders that are learned in passes
_FEWEST_PASSES = 3  # shorter fits rank candidates badly
_N_TRIALS, _N_TRIALS_OF_ONE_RUNG = 15, 10  # by default; both cost about ten complete fits
_MOST_TRIALS = 1000  # of a search that only time limits
_GAIN = "gain"  # the parameter that sets the weights of pairs


@dataclass(eq=False)
class OfPairs(Task):
    """The pairs to which each candidate is fitted and on which it is measured.

    The `base` has the parameters that are not searched. Values that follow from the data depend on
    the other parameters, so that each fit derives them. Only the first candidate has them, and the
    number of passes, of which the first rung takes a share.

    Attributes
    ----------
    user_items, seen
        All pairs of the search, to which the best candidate is fitted at last.
    refits : bool
        Whether there is such a fit.
    """

    recommender: Recommender
    measure: Measure
    parts: Parts
    user_items: Any
    seen: Any
    executor: Executor | None
    refits: bool

    def __post_init__(self) -> None:
        self.base = clone(self.recommender)
        self._suited = self.recommender.for_data(self.parts.train).get_params(deep=False)
        self.n_passes: int = self._suited.get(_PASSES, 0)
        if self.n_passes:
            self.base.set_params(**{_PASSES: self.n_passes})
        self.n_rungs = 2 if self.n_passes >= FACTOR * _FEWEST_PASSES else 1

    def n_trials(self, *, timed: bool) -> int:
        """Return the default number of candidates."""
        if timed:
            return _MOST_TRIALS
        return _N_TRIALS if self.n_rungs > 1 else _N_TRIALS_OF_ONE_RUNG

    def searched(self, grid: list[Params]) -> list[Params]:
        """Return the grid without the gain if it has no effect, or changes which rows count."""
        if not any(_GAIN in part for part in grid):
            return grid
        if self.parts.has_zeros:
            warn(
                f"{arg.gain} is not searched, because some rows have the value 0, and they are "
                f"pairs with {arg.gain('one')} only. Leave these rows out to search it."
            )
        elif (self.parts.train.data != 1.0).any():
            return grid
        return [{name: part[name] for name in part if name != _GAIN} for part in grid]

    def identity(self, grid: list[Params], seed: int) -> dict[str, str]:
        """Return texts that identify the search; see `FitFile`."""
        params = self.base.get_params(deep=False)
        return {
            "podium": __version__,
            "pairs": self.parts.digest(),
            "recommender": f"{type(self.base).__name__} {sorted(params.items())}",
            "grid": repr(grid),
            "measure": str(self.measure),
            "seed": str(seed),
        }

    def first(self, grid: list[Params]) -> Params:
        """Return the parameters of the first candidate."""
        names = dict.fromkeys(name for part in grid for name in part)
        if self.n_passes:
            names[_PASSES] = None
        return {name: self._suited[name] for name in names}

    def clock(self) -> float:
        """Return the processor time of this process, or the time if other processes do the work."""
        is_local = self.executor is None or isinstance(self.executor, Threads)
        return time.process_time() if is_local else time.perf_counter()

    def on_rung(self, params: Params, rung: int) -> Params:
        """Return the parameters with the number of passes of a rung."""
        if _PASSES not in params or rung == self.n_rungs - 1:
            return params
        return {**params, _PASSES: max(1, round(params[_PASSES] / FACTOR))}

    def warm_up(self) -> None:
        """Fit few pairs, so that the first time includes no compilation of kernels."""
        params = {_PASSES: 1} if self.n_passes else {}
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            self._fitted(params, pairs.few(self.parts.train), None)

    def fitted(self, params: Params, fold: int, progress: Progress) -> Recommender:
        """Return a model that is fitted to the training pairs."""
        del fold, progress
        return self._fitted(params, self.parts.train, self.parts.seen)

    def values(self, model: Any, fold: int) -> PerGroup:
        """Return the measure of each user of the validation part."""
        del fold
        return pairs.measured(model, self.parts, self.measure)

    def course(self, model: Any, params: Params) -> tuple[int | None, str]:
        """Return the number of iterations behind a model, and why the fit stopped."""
        return params.get(_PASSES), model.stop_reason_

    def final(self, best: Trial, kept: Any) -> Recommender | None:
        """Return the best candidate, fitted to all pairs."""
        del kept
        return self._fitted(best.params, self.user_items, self.seen) if self.refits else None

    def _fitted(self, params: Params, user_items: Any, seen: Any) -> Recommender:
        model = clone(self.base).set_params(**params)
        options = {"executor": self.executor} if model.makes_passes else {}
        return model.fit(user_items, seen=seen, **options)
