"""Successive halving: short fits of many candidates, and longer fits of the best third of them.

The candidates climb rungs. On each rung, a candidate gets a complete fit with a share of its
passes. With a time budget, the number of candidates follows from the times of the fits so far.
Recorded fits that are run again give the same decisions, because nothing else is read.

There are two rungs. A third rung, with a ninth of the passes, would make the first fits cheaper.
However, fits with few passes favour long steps and small penalties. On MovieLens-100K, the rank
correlation of 27 candidates with their fits of 30 passes was .06 for 3 passes, and .25 for 10.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from podium.tuning.candidates import Params
from podium.tuning.results import Trial
from podium.types import Progress

FACTOR = 3  # one in so many candidates goes on to the next rung
_MOST_RUNGS = 2
_FEWEST_PASSES = 3  # shorter fits rank candidates badly
_MOST_CANDIDATES = 1000  # of a search that only time limits


@dataclass(frozen=True)
class Fit:
    """A measured fit of a candidate on a rung.

    Attributes
    ----------
    candidate, rung : int
        The position of the candidate in the order of the draws, and of the rung, from 0.
    params : dict
        The parameters of the candidate, with the passes of the last rung.
    trial : Trial
    fit_seconds : float
        The part of the seconds of the trial that grows with the number of passes.
    """

    candidate: int
    rung: int
    params: Params
    trial: Trial
    fit_seconds: float


def shares_of_passes(n_epochs: int | None) -> list[float]:
    """Return the share of the passes on each rung; the last is 1.

    Examples
    --------
    >>> [round(30 * share) for share in shares_of_passes(30)]
    [10, 30]
    """
    n_rungs = 1
    while n_epochs and n_rungs < _MOST_RUNGS and n_epochs >= _FEWEST_PASSES * FACTOR**n_rungs:
        n_rungs += 1
    return [FACTOR ** -(n_rungs - 1 - rung) for rung in range(n_rungs)]


class Halving:
    """The fits of a search, and the decision which fit is next.

    Parameters
    ----------
    fit : callable
        Fits a candidate, given by its number and parameters, on a rung.
    shares : list of float
        The share of the passes on each rung.
    n_trials : int, optional
        The number of candidates.
    budget : float, optional
        The seconds that all fits may take.
    sign : float
        The sign of the metric: 1 if higher values are better, else -1.
    """

    def __init__(
        self,
        fit: Callable[[int, Params, int], Fit],
        shares: list[float],
        *,
        n_trials: int | None,
        budget: float | None,
        sign: float,
    ) -> None:
        self._fit, self._shares, self._budget = fit, shares, budget
        self._n_trials = _MOST_CANDIDATES if n_trials is None else n_trials
        self._sign = sign
        self.fits: list[Fit] = []

    @property
    def is_timed(self) -> bool:
        """Whether there is a budget of seconds."""
        return self._budget is not None

    @property
    def spent(self) -> float:
        """The seconds of the fits so far."""
        return sum(fit.trial.seconds for fit in self.fits)

    def run(self, draws: Iterable[Params], report: Progress, note: Callable[[], str]) -> None:
        """Run all fits. The first candidate also gets the fits of the other rungs."""
        candidates = list(islice(draws, self._n_trials))
        n_fits = len(candidates) + sum(self._n_kept(len(candidates), r) for r in self._upper())

        def done() -> None:
            if self._budget is None:
                report(min(len(self.fits), n_fits), n_fits, note())
            else:
                total = math.ceil(self._budget)
                report(min(int(self.spent), total), total, note())

        rung = self._first_rung(candidates, done)
        n_candidates = len(rung)
        for number in self._upper():
            rung = self._next_rung(rung, number, n_candidates, done)
        total = n_fits if self._budget is None else math.ceil(self._budget)
        report(total, total, note())

    def _upper(self) -> range:
        return range(1, len(self._shares))

    def _first_rung(self, candidates: list[Params], done: Callable[[], None]) -> list[Fit]:
        fits: list[Fit] = []
        for number, params in enumerate(candidates):
            if fits and not self._has_time(self._to_finish(fits, number + 1)):
                break
            fits.append(self._run(number, params, 0, done))
        return fits

    def _next_rung(
        self, previous: list[Fit], rung: int, n_candidates: int, done: Callable[[], None]
    ) -> list[Fit]:
        """Run the best third and the first candidate, which comes second.

        On the last rung, the rest of a time budget is used for the next best.
        """
        chosen, others = self._divided(previous, self._n_kept(n_candidates, rung))
        is_last = rung == self._upper()[-1]
        chosen[1:] = sorted(chosen[1:], key=lambda fit: fit.candidate != 0)
        queue = [*chosen, *(others if is_last and self._budget is not None else ())]
        fits: list[Fit] = []
        for fit in queue:
            reserve = 0.0 if is_last else self._cost(chosen[0], self._upper()[-1])
            if self._has_time(self._cost(fit, rung) + reserve):
                fits.append(self._run(fit.candidate, fit.params, rung, done))
        return fits

    def _run(self, number: int, params: Params, rung: int, done: Callable[[], None]) -> Fit:
        fit = self._fit(number, params, rung)
        self.fits.append(fit)
        done()
        return fit

    def _n_kept(self, n_candidates: int, rung: int) -> int:
        return math.ceil(n_candidates / FACTOR**rung)

    def _divided(self, fits: Sequence[Fit], n: int) -> tuple[list[Fit], list[Fit]]:
        """Return the best n fits and the first candidate, and the others, each best first."""
        measured = [fit for fit in fits if not math.isnan(fit.trial.mean)]
        ranked = sorted(measured, key=lambda fit: (-self._sign * fit.trial.mean, fit.candidate))
        promoted = [fit for place, fit in enumerate(ranked) if place < n or fit.candidate == 0]
        return promoted, [fit for fit in ranked if fit not in promoted]

    def _to_finish(self, fits: list[Fit], n_candidates: int) -> float:
        """Return the estimated seconds of one more candidate and of the other rungs after it."""
        seconds = median(fit.trial.seconds for fit in fits)
        for rung in self._upper():
            promoted, _ = self._divided(fits, self._n_kept(n_candidates, rung))
            seconds += sum(self._cost(fit, rung) for fit in promoted)
        return seconds

    def _cost(self, fit: Fit, rung: int) -> float:
        """Return the estimated seconds of a candidate's fit on another rung."""
        growth = self._shares[rung] / self._shares[fit.rung]
        return fit.fit_seconds * growth + fit.trial.seconds - fit.fit_seconds

    def _has_time(self, seconds: float) -> bool:
        return self._budget is None or self.spent + seconds <= self._budget
