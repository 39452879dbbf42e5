"""The default estimator: a smooth density of log-ranks with a roughness fitted to the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from podium._one_thread import one_blas_thread
from podium.errors import ConvergenceWarning, warn
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators import ErrorFrom, Estimator, register
from podium.sampled.estimators.mle import mle_probabilities
from podium.sampled.estimators.smooth.cells import (
    Cells,
    RowIndex,
    deviation_ratio,
    em_until_fit,
    round_catalogues,
)
from podium.sampled.estimators.smooth.fit import (
    Sample,
    State,
    combined_mass,
    modes,
    with_history,
    without_history,
)
from podium.sampled.estimators.smooth.fitted import SmoothFit
from podium.sampled.likelihood import likelihood
from podium.sampled.ranks import SampledRanks

_MAX_LOST_WEIGHT = 1e-3  # the weight of unconverged fits up to which there is no warning


@register
@dataclass(frozen=True)
class Smooth(Estimator):
    """A smooth density of log-ranks, whose roughness is fitted to the data.

    A sample of n of N items cannot distinguish ranks below about N / n. The distribution of these
    ranks, which a cutoff of 10 needs, is extrapolated from the shape above them. The log density is
    a spline in log rank with a penalty on its bends, plus a parabola with a small coefficient. It
    therefore continues the power law of the lowest ranks that the data resolve, or their bend if
    the data show one, and flattens towards rank 1. The strength of the penalty is averaged over,
    with weights proportional to the likelihood of the data. If no smooth density fits the ranks
    (chi-square test, p < 0.0001), steps of expectation maximisation are added until one does, at
    most 200. The result is then `MLE` with a better start. Samples of several designs are not
    tested.

    Notes
    -----
    The probability of a rank is estimated by its posterior harmonic mean: the exponential of the
    mean of the logarithm minus half its variance. This minimises the expected value of
    (estimate - value)^2 / value. If the sample has little information, too large an estimate is the
    larger error.

    Trained recommenders rank a user's own (training) items first, if these stay in the catalogue.
    If `SampledRanks.history` has their numbers, a second fit uses users with many items to learn
    the shape of the top of other users' lists. Its form is also an assumption. The two fits
    therefore have equal weights, and their difference is part of the error.

    `posterior` also gives standard errors and intervals. `prior_decides` is true if the sample has
    almost no information about the first ranks; the interval is then all that the sample allows
    there. If the density falls steeply over the first ranks, intervals allow for a peak at rank 1
    that is as high as that of ranks rounded up from a power law. Intervals of ndcg, ap and rr are
    too narrow for higher peaks. `identification_bounds` holds for all distributions.

    Several targets of a user count as separate observations if they are uncorrelated, and as one if
    they are alike. The correlation of the log sampled ranks within users determines the number
    between these.

    If users' catalogues have more than 16 sizes, the sizes are rounded to steps of 2 %.

    Cost: 10 ms, or 0.1 s with history, and the memory of the result, for any n_items. The first
    interval takes three times as long again.

    References
    ----------
    efron2016, eilers1996.

    Examples
    --------
    >>> ranks = SampledRanks([1] * 30 + [2] * 10 + [5] * 5 + [9, 20, 40, 60, 80], 99, 1000)
    >>> found = Smooth().posterior(ranks)
    >>> low, high = found.interval("recall@10")
    >>> low < found.expect("recall@10") < high
    True
    """

    name: ClassVar[str] = "smooth"
    label: ClassVar[str] = "Smooth"
    grows: ClassVar[bool] = True
    reads_history: ClassVar[bool] = True
    error_from: ClassVar[ErrorFrom] = "posterior"

    def posterior(self, ranks: SampledRanks) -> SmoothFit:
        """Estimate the distribution of the target's rank with its uncertainty.

        Parameters
        ----------
        ranks : SampledRanks
            The observed ranks. All users have the same weight. Histories are used if there are any.

        Returns
        -------
        SmoothFit

        Raises
        ------
        ArgumentError
            If the method does not support this design of samples.

        Warns
        -----
        ConvergenceWarning
            If the search for the likeliest density did not converge.
        """
        with one_blas_thread:
            return self._posterior(self.check(ranks))

    def _posterior(self, ranks: SampledRanks) -> SmoothFit:
        observed = likelihood(ranks)
        if observed.is_exact:
            known = mle_probabilities(observed, None)
            return SmoothFit(RankDistribution(known, fewest_items=ranks.fewest_items), ranks, 0, ())
        original, ranks = ranks, round_catalogues(ranks)
        observed = likelihood(ranks)
        designs = [design for design, _ in observed.parts]
        largest_sample = max(design.n_negatives for design in designs)
        cells = Cells.of(observed.n_items, largest_sample, min(map(deviation_ratio, designs)))
        tables = {designs[0]: cells.table(designs[0])} if len(designs) == 1 else {}
        row_index = RowIndex.of(ranks)
        seen_chances, unseen_chances, columns = cells.outcomes(observed, tables)
        chances = np.hstack([seen_chances, unseen_chances])
        families = [row_index.without_groups(), row_index] if row_index.has_groups else [row_index]
        samples = (Sample.of(chances, family.counts(ranks), columns) for family in families)
        states = tuple(map(partial(_state, cells), families, samples))
        _warn(states)
        mass, n_steps = em_until_fit(combined_mass(states), tables, ranks)
        probabilities = cells.spread(mass / mass.sum())
        distribution = RankDistribution(probabilities, fewest_items=original.fewest_items)
        return SmoothFit(distribution, original, n_steps, states)


def _state(cells: Cells, row_index: RowIndex, sample: Sample) -> State:
    """Fit the family with one density for all users, or with densities that depend on history."""
    shares = sample.counts.sum(axis=1) / sample.counts.sum()
    prior = (
        with_history(cells, row_index.sizes, shares)
        if row_index.has_groups
        else without_history(cells)
    )
    fitted_modes, weights = modes(prior, sample)
    return State(cells, prior, sample, shares, tuple(fitted_modes), weights, row_index)


def _warn(states: Sequence[State]) -> None:
    """Warn if fits with a noticeable weight are far from the likeliest one."""
    lost_weight = sum(
        weight
        for state in states
        for mode, weight in zip(state.modes, state.weights / len(states), strict=True)
        if not mode.converged
    )
    if lost_weight > _MAX_LOST_WEIGHT:
        warn(
            f"Smooth stopped early: fits with {lost_weight:.0%} of the weight are far from the "
            'likeliest ones, so the estimate may be wrong. Compare it with the estimator "mle".',
            ConvergenceWarning,
        )
