"""The default estimator: a smooth density of log-ranks, as rough as the data make likely."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from podium._one_thread import one_blas_thread
from podium.errors import ConvergenceWarning
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators import Estimator, register
from podium.sampled.estimators.mle import climb
from podium.sampled.estimators.smooth.cells import Cells, left_open
from podium.sampled.estimators.smooth.data import Places, few_designs, relax
from podium.sampled.estimators.smooth.fit import Sample, State, modes, together
from podium.sampled.estimators.smooth.fitted import SmoothFit
from podium.sampled.estimators.smooth.prior import plain, with_history
from podium.sampled.likelihood import likelihood
from podium.sampled.ranks import SampledRanks

_LEFT_OUT = 1e-3  # weight of fits that may be off without a warning


@register
@dataclass(frozen=True)
class Smooth(Estimator):
    """A smooth density of log-ranks, with the roughness that makes the data likely.

    A sample of n of N items cannot tell ranks below about N / n apart. What a cutoff of 10 needs
    there is taken from the shape above it: the log density is a spline in log rank whose bends
    are penalised, so that it goes on as the power law that the data end in, and flattens towards
    rank 1. The strength of the penalty is averaged over, each weighted with the likelihood that
    it gives the data. Where no smooth density fits the ranks (chi-square, p < 0.0001), steps of
    expectation maximisation add freedom until one does, at most 200: what is left then is `MLE`
    with a better start. Samples of several designs are not tested.

    Notes
    -----
    A rank's chance is estimated by its posterior harmonic mean, the logarithm's mean less half of
    its variance, which has the least expected (estimate - value)^2 / value: where the sample tells
    little, too much is the larger error.

    Trained recommenders rank a user's own (training) items first, if these stay in the catalogue.
    Where `SampledRanks.history` tells their numbers, a second fit learns from users of many items
    what the top of the others' lists looks like. As its form is an assumption too, the two fits
    weigh the same, and what they differ by is part of the error.

    `posterior` also gives standard errors and intervals, and `prior_decides` where the sample
    says next to nothing of the first ranks: the interval is then all that the sample allows there.
    Where the first ranks fall steeply, intervals allow for a peak at rank 1, as high as ranks that
    are rounded up from a power law have; those of ndcg, ap and rr are too narrow for higher ones.
    `identification_bounds` tells what holds for all.

    Several targets of a user count one by one where they have nothing in common, as one where
    they are alike: the correlation of the log sampled ranks within users decides.

    Where users' catalogues have more than 16 sizes, those are rounded to steps of 2 %.

    Cost: 10 ms, or 0.1 s with history, whatever n_items, and memory for the result. The first
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

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Estimate the distribution of the target's rank; see `posterior`."""
        return self.posterior(ranks).distribution

    def posterior(self, ranks: SampledRanks) -> SmoothFit:
        """Estimate the distribution of the target's rank, and how sure it is.

        Parameters
        ----------
        ranks : SampledRanks
            Every user counts once. Their history is read where they have one.

        Warns
        -----
        ConvergenceWarning
            If no likeliest density was found.
        """
        with one_blas_thread:
            return self._posterior(self.check(ranks))

    def _posterior(self, ranks: SampledRanks) -> SmoothFit:
        observed = likelihood(ranks)
        if observed.is_exact:
            return SmoothFit(RankDistribution(climb(observed, None)), ranks, 0, ())
        given, ranks = ranks, few_designs(ranks)
        observed = likelihood(ranks)
        designs = [design for design, _ in observed.parts]
        most = max(design.n_negatives for design in designs)
        cells = Cells.of(observed.n_items, most, min(map(left_open, designs)))
        places, (seen, unseen, columns) = Places.of(ranks), cells.outcomes(observed)
        chances = np.hstack([seen, unseen])
        families = [places.plain(), places] if places.told else [places]
        samples = (Sample.of(chances, each.counts(ranks), columns) for each in families)
        states = tuple(map(partial(_state, cells), families, samples))
        _warn(states)
        mass, n_steps = relax(together(states), cells, ranks)
        distribution = RankDistribution(cells.spread(mass / mass.sum()))
        return SmoothFit(distribution, given, n_steps, states)


def _state(cells: Cells, places: Places, sample: Sample) -> State:
    """Fit the family of one density for all users, or of one that their histories change."""
    shares = sample.counts.sum(axis=1) / sample.counts.sum()
    prior = with_history(cells, places.sizes, shares) if places.told else plain(cells)
    found, weights = modes(prior, sample)
    return State(cells, prior, sample, shares, tuple(found), weights, places)


def _warn(states: Sequence[State]) -> None:
    """Warn of fits that are far from the likeliest one, if they count."""
    left = sum(
        share
        for state in states
        for mode, share in zip(state.modes, state.weights / len(states), strict=True)
        if not mode.converged
    )
    if left > _LEFT_OUT:
        warnings.warn(
            f"Smooth stopped early: fits with {left:.0%} of the weight are far from the likeliest "
            'ones, so the estimate may be wrong. The estimator "mle" has no such search.',
            ConvergenceWarning,
            stacklevel=4,
        )
