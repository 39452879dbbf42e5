"""The maximum of the likelihood over all distributions of ranks, with a bound on its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from podium.sampled.design import Floats, Ints
from podium.sampled.likelihood import Likelihood
from podium.sampled.sums import spaced_ranks

_START = 4  # ranks per standard deviation of a sampled rank at the start of the search
_DENSE = 16  # the same in the search for ranks that would increase the likelihood
_ZOOM = 16  # the number of parts into which a search between two ranks is divided
_MOST_STEPS = 500
_RISE = 1e-4  # the share of the expected gain that a step must reach
_ROUNDING = 1e-15  # the rounding error of a mean log likelihood
_SHRINK = 0.9  # the largest relative decrease of an outcome's chance in a step, to avoid zeros
_MIN_MASS = 1e-14  # smaller masses are dropped


@dataclass(frozen=True, eq=False)
class Maximum:
    """A distribution on a few ranks with the largest likelihood of all distributions.

    Attributes
    ----------
    ranks : int64, (n_support,)
        The ranks with mass, in increasing order.
    masses : float64, (n_support,)
        The probabilities of these ranks, > 0.
    n_items : int
    log_likelihood : float
        The mean over users.
    gap : float
        The largest first-order gain in mean log likelihood from moving mass to any single rank of
        the catalogue. The largest possible log likelihood is at most `gap` higher.
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
        """The probabilities of ranks 1 .. n_items: float64, (n_items,)."""
        all_probabilities = np.zeros(self.n_items)
        all_probabilities[self.ranks - 1] = self.masses
        return all_probabilities


def maximise(likelihood: Likelihood, tolerance: float) -> Maximum:
    """Find the maximum of the likelihood.

    Parameters
    ----------
    likelihood : Likelihood
    tolerance : float
        The gap at which the search ends.

    Returns
    -------
    Maximum

    Notes
    -----
    This is Newton's method for mixtures. The quadratic model of the log likelihood is maximised
    over the masses of a few ranks, as a least-squares problem with nonnegative masses. Ranks at the
    peaks of the gain are added until no rank of the catalogue gains more than the tolerance.

    References
    ----------
    wang2007; lindsay1983 for the gap.
    """
    search = _Search(likelihood)
    n_steps = 0
    while True:
        gap = search.find_peaks()
        if gap <= tolerance or n_steps == _MOST_STEPS:
            gap = search.check_all_ranks()
            if gap <= tolerance or n_steps == _MOST_STEPS:
                return search.result(gap, n_steps)
        search.step()
        n_steps += 1


class _Search:
    """Masses on a few ranks, and the steps that improve them."""

    def __init__(self, likelihood: Likelihood) -> None:
        self.likelihood = likelihood
        size = max(design.n_negatives for design, _ in likelihood.parts)
        self.grid_ranks = spaced_ranks(likelihood.n_items, size, _DENSE)
        self.grid_chances = likelihood.chances(self.grid_ranks.astype(np.float64))
        self.ranks = spaced_ranks(likelihood.n_items, size, _START)
        self.chances = likelihood.chances(self.ranks.astype(np.float64))
        self.masses = np.full(self.ranks.size, 1.0 / self.ranks.size)
        self.new_ranks = np.empty(0, np.int64)

    def ratios(self) -> Floats:
        return self.likelihood.shares / (self.masses @ self.chances)

    def find_peaks(self) -> float:
        """Find the ranks at the peaks of the gain; return the largest gain found."""
        ratios = self.ratios()
        gain = self.grid_chances @ ratios
        peaks = _peaks(gain)
        left = self.grid_ranks[np.maximum(peaks - 1, 0)]
        right = self.grid_ranks[np.minimum(peaks + 1, self.grid_ranks.size - 1)]
        self.new_ranks, best_gains = self._zoom(left, right, ratios)
        return float(max(best_gains.max(), gain.max(), (self.chances @ ratios).max())) - 1.0

    def _zoom(self, low: Ints, high: Ints, ratios: Floats) -> tuple[Ints, Floats]:
        """Narrow the brackets of peaks to single ranks."""
        while True:
            parts = np.linspace(low, high, _ZOOM + 1)
            tried_ranks = np.rint(parts).astype(np.int64)
            gains = self.likelihood.chances(tried_ranks.ravel().astype(np.float64)) @ ratios
            gains = gains.reshape(tried_ranks.shape)
            best_part, columns = np.argmax(gains, axis=0), np.arange(low.size)
            if (high - low).max() <= _ZOOM:
                return tried_ranks[best_part, columns], gains[best_part, columns]
            low = tried_ranks[np.maximum(best_part - 1, 0), columns]
            high = tried_ranks[np.minimum(best_part + 1, _ZOOM), columns]

    def check_all_ranks(self) -> float:
        """Return the largest gain over all ranks, and add its peaks to the new ranks."""
        gain = self.likelihood.slope(self.masses @ self.chances)
        self.new_ranks = _peaks(gain) + 1
        return float(gain.max()) - 1.0

    def step(self) -> None:
        """Add the new ranks, and make one Newton step of the masses."""
        new_ranks = np.setdiff1d(self.new_ranks, self.ranks)
        self.ranks = np.concatenate([self.ranks, new_ranks])
        self.chances = np.concatenate(
            [self.chances, self.likelihood.chances(new_ranks.astype(np.float64))]
        )
        self.masses = np.concatenate([self.masses, np.zeros(new_ranks.size)])
        self._step_towards(self._newton())
        has_mass = self.masses > _MIN_MASS
        self.ranks, self.chances = self.ranks[has_mass], self.chances[has_mass]
        self.masses = self.masses[has_mass] / self.masses[has_mass].sum()

    def _newton(self) -> Floats:
        """Return the masses that maximise the quadratic model.

        The model is a sum of squares of (outcome chance after / before - 2), weighted by the
        shares. The masses sum to 1, so that the 2 can be subtracted from each chance, and the
        constraint on the sum can be dropped.
        """
        scale = np.sqrt(self.likelihood.shares)
        chances = self.chances / (self.masses @ self.chances)
        system = np.concatenate([((chances - 2.0) * scale).T, np.ones((1, self.ranks.size))])
        target = np.zeros(scale.size + 1)
        target[-1] = 1.0
        masses, _ = nnls(system, target, maxiter=100 * system.shape[1])
        return masses / masses.sum()

    def _step_towards(self, goal: Floats) -> None:
        """Step towards a goal; the step is halved until the likelihood increases enough."""
        shares, direction = self.likelihood.shares, goal - self.masses
        outcome_chances, chance_changes = self.masses @ self.chances, direction @ self.chances
        growth = chance_changes / outcome_chances
        expected_gain = float(shares @ growth)
        length = min(1.0, _SHRINK / max(float(-growth.min()), 1e-300))
        while length > 1e-12:
            gain = float(shares @ np.log1p(length * growth))
            if gain >= _RISE * length * expected_gain - _ROUNDING:
                break
            length /= 2.0
        self.masses = np.maximum(self.masses + length * direction, 0.0)

    def result(self, gap: float, n_steps: int) -> Maximum:
        order = np.argsort(self.ranks)
        value = float(self.likelihood.shares @ np.log(self.masses @ self.chances))
        n_items = self.likelihood.n_items
        return Maximum(self.ranks[order], self.masses[order], n_items, value, gap, n_steps)


def _peaks(values: Floats) -> Ints:
    """Return the positions of local maxima, one per plateau."""
    above_previous = np.concatenate([[True], values[1:] > values[:-1]])
    not_below_next = np.concatenate([values[:-1] >= values[1:], [True]])
    return np.flatnonzero(above_previous & not_below_next)
