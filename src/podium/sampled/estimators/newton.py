"""The greatest likelihood over all distributions of ranks, with a proof that it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from podium.sampled.design import Floats, Ints
from podium.sampled.likelihood import Likelihood
from podium.sampled.sums import spaced

_START = 4  # ranks in each standard deviation of a sampled rank that the search begins with
_DENSE = 16  # as many in the search for ranks that would add to the likelihood
_ZOOM = 16  # parts that a search between two ranks is divided into
_MOST_STEPS = 500
_RISE = 1e-4  # of the promised gain that a step has to make
_ROUNDING = 1e-15  # of a mean log likelihood
_SHRINK = 0.9  # by which a step may lower the chance of an outcome: the model is blind to zeros
_LEAST = 1e-14  # masses below it are none


@dataclass(frozen=True, eq=False)
class Maximum:
    """A distribution on a few ranks whose likelihood no distribution exceeds.

    Attributes
    ----------
    ranks : int64, (n_support,)
        Rising.
    masses : float64, (n_support,)
        Their probabilities, > 0.
    n_items : int
    log_likelihood : float
        Mean over users.
    gap : float
        The largest gain in mean log likelihood, to first order, of moving mass to any one rank:
        all of them were tried. The greatest possible log likelihood is at most `gap` above.
    n_steps : int
    """

    ranks: Ints
    masses: Floats
    n_items: int
    log_likelihood: float
    gap: float
    n_steps: int

    @property
    def probabilities(self) -> Floats:
        """Of ranks 1 .. n_items: float64, (n_items,)."""
        found = np.zeros(self.n_items)
        found[self.ranks - 1] = self.masses
        return found


def maximise(likelihood: Likelihood, tolerance: float) -> Maximum:
    """Find the maximum of the likelihood.

    Parameters
    ----------
    likelihood : Likelihood
    tolerance : float
        The search ends at a gap of at most this.

    Notes
    -----
    Newton's method for mixtures: the quadratic model of the log likelihood is maximised over the
    masses of a few ranks, as a least-squares problem without negative masses, and ranks at the
    peaks of the gain join until no rank of the catalogue gains more than the tolerance.

    References
    ----------
    wang2007; lindsay1983 for the gap.
    """
    search = _Search(likelihood)
    n_steps = 0
    while True:
        gap = search.look()
        if gap <= tolerance or n_steps == _MOST_STEPS:
            gap = search.look_everywhere()
            if gap <= tolerance or n_steps == _MOST_STEPS:
                return search.found(gap, n_steps)
        search.move()
        n_steps += 1


class _Search:
    """Masses on a few ranks, and the means to better them."""

    def __init__(self, likelihood: Likelihood) -> None:
        self.likelihood = likelihood
        size = max(design.n_negatives for design, _ in likelihood.parts)
        self.coarse = spaced(likelihood.n_items, size, _DENSE)
        self.table = likelihood.rows(self.coarse.astype(np.float64))
        self.ranks = spaced(likelihood.n_items, size, _START)
        self.rows = likelihood.rows(self.ranks.astype(np.float64))
        self.masses = np.full(self.ranks.size, 1.0 / self.ranks.size)
        self.joining = np.empty(0, np.int64)

    def ratios(self) -> Floats:
        return self.likelihood.shares / (self.masses @ self.rows)

    def look(self) -> float:
        """Find the ranks at the peaks of the gain; return the largest gain seen."""
        ratios = self.ratios()
        gain = self.table @ ratios
        peaks = _peaks(gain)
        low = self.coarse[np.maximum(peaks - 1, 0)]
        high = self.coarse[np.minimum(peaks + 1, self.coarse.size - 1)]
        self.joining, best = self._zoom(low, high, ratios)
        return float(max(best.max(), gain.max(), (self.rows @ ratios).max())) - 1.0

    def _zoom(self, low: Ints, high: Ints, ratios: Floats) -> tuple[Ints, Floats]:
        """Narrow brackets of a peak down to single ranks."""
        while True:
            parts = np.linspace(low, high, _ZOOM + 1)
            tried = np.rint(parts).astype(np.int64)
            gains = self.likelihood.rows(tried.ravel().astype(np.float64)) @ ratios
            gains = gains.reshape(tried.shape)
            best, each = np.argmax(gains, axis=0), np.arange(low.size)
            if (high - low).max() <= _ZOOM:
                return tried[best, each], gains[best, each]
            low = tried[np.maximum(best - 1, 0), each]
            high = tried[np.minimum(best + 1, _ZOOM), each]

    def look_everywhere(self) -> float:
        """Return the largest gain over all ranks, and let the best of them join."""
        gain = self.likelihood.slope(self.masses @ self.rows)
        self.joining = _peaks(gain) + 1
        return float(gain.max()) - 1.0

    def move(self) -> None:
        """Take in the ranks that gain, and make one Newton step of the masses."""
        new = np.setdiff1d(self.joining, self.ranks)
        self.ranks = np.concatenate([self.ranks, new])
        self.rows = np.concatenate([self.rows, self.likelihood.rows(new.astype(np.float64))])
        self.masses = np.concatenate([self.masses, np.zeros(new.size)])
        self._step_towards(self._newton())
        kept = self.masses > _LEAST
        self.ranks, self.rows = self.ranks[kept], self.rows[kept]
        self.masses = self.masses[kept] / self.masses[kept].sum()

    def _newton(self) -> Floats:
        """Return the masses at which the quadratic model is greatest.

        It is a sum of squares of (mixed after / mixed before - 2), weighted by the shares; as
        the masses' sum is 1, the 2 can be taken off each chance, and the sum can be set free.
        """
        scale = np.sqrt(self.likelihood.shares)
        chances = self.rows / (self.masses @ self.rows)
        system = np.concatenate([((chances - 2.0) * scale).T, np.ones((1, self.ranks.size))])
        target = np.zeros(scale.size + 1)
        target[-1] = 1.0
        found, _ = nnls(system, target, maxiter=100 * system.shape[1])
        return found / found.sum()

    def _step_towards(self, goal: Floats) -> None:
        """Go towards a goal, half as far each time until the likelihood rises enough."""
        shares, way = self.likelihood.shares, goal - self.masses
        mixed, change = self.masses @ self.rows, way @ self.rows
        growth = change / mixed
        promised = float(shares @ growth)
        length = min(1.0, _SHRINK / max(float(-growth.min()), 1e-300))
        while length > 1e-12:
            gained = float(shares @ np.log1p(length * growth))
            if gained >= _RISE * length * promised - _ROUNDING:
                break
            length /= 2.0
        self.masses = np.maximum(self.masses + length * way, 0.0)

    def found(self, gap: float, n_steps: int) -> Maximum:
        order = np.argsort(self.ranks)
        value = float(self.likelihood.shares @ np.log(self.masses @ self.rows))
        n_items = self.likelihood.n_items
        return Maximum(self.ranks[order], self.masses[order], n_items, value, gap, n_steps)


def _peaks(values: Floats) -> Ints:
    """Return the places of local maxima, one of each flat top."""
    before = np.concatenate([[True], values[1:] > values[:-1]])
    after = np.concatenate([values[:-1] >= values[1:], [True]])
    return np.flatnonzero(before & after)
