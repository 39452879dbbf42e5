"""What all estimators have in common, and the registry that makes them from a text."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.registry import Values
from podium.sampled.design import Design, Floats
from podium.sampled.distribution import RankDistribution, read_measure
from podium.sampled.ranks import SampledRanks


class Estimator(ABC):
    """A way from ranks among sampled items to measures of the whole catalogue's ranking.

    An estimator is a frozen dataclass of its parameters. It gives the distribution of ranks
    (`fit`), or one measure's value (`estimate`), or both; each follows from the other method
    where only that one is defined.

    Attributes
    ----------
    name : str
        In the registry.
    label : str
        As figures and tables show it.
    biased : bool
        Whether its expectation differs from the exact measure however many users there are.
    consistent : bool
        Whether its estimates get exact as n_negatives approaches n_items - 1 without
        replacement.
    grows : bool
        Whether it can read samples that grow while the target comes first.
    reads_history : bool
        Whether it makes use of `SampledRanks.history`.
    gives_distribution : bool
        Whether `fit` gives a distribution of ranks.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    biased: ClassVar[bool] = True
    consistent: ClassVar[bool] = True
    grows: ClassVar[bool] = False
    reads_history: ClassVar[bool] = False
    gives_distribution: ClassVar[bool] = True

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Estimate the distribution of the target's rank among all items.

        Parameters
        ----------
        ranks : SampledRanks
            Every user counts once.

        Raises
        ------
        ArgumentError
            If the method gives no distribution, or cannot read samples of this design.
        """
        self.check(ranks)
        raise ArgumentError(
            f"{self.name} estimates one measure at a time and gives no distribution of ranks. "
            "Call estimate(ranks, measure)."
        )

    def estimate(self, ranks: SampledRanks, measure: str | Measure, k: int | None = None) -> float:
        """Estimate the mean of a measure over users, as ranking all items would give it.

        Parameters
        ----------
        ranks : SampledRanks
            Every user counts once.
        measure : str or Measure
            As ``ndcg@10``, or a name together with k; see `RankDistribution.expect`.
        k : int, optional
            Cutoff in items, where the text has none.

        Raises
        ------
        ArgumentError
            For a measure that needs more than ranks, or samples of a design that the method
            cannot read.
        """
        return self.fit(ranks).expect(measure, k)

    def check(self, ranks: SampledRanks) -> SampledRanks:
        """Return ranks whose design the method can read, or say why it cannot."""
        if ranks.stages and not self.grows:
            raise ArgumentError(
                f"{self.name} needs samples of a fixed size, got samples that grow while the "
                "target comes first (stages), whose ranks mean different things at different "
                "sizes. Use bv, mn or mle."
            )
        return ranks


class LinearEstimator(Estimator):
    """An estimator whose estimate is the mean, over users, of a value of each outcome."""

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Return what each outcome of a design counts for: float64, (n_outcomes,)."""
        raise NotImplementedError

    def estimate(self, ranks: SampledRanks, measure: str | Measure, k: int | None = None) -> float:
        """Estimate the mean of a measure over users; see `Estimator.estimate`."""
        wanted = read_measure(measure, k)
        parts = self.check(ranks).designs
        total = sum(float(counts @ self.values(design, wanted)) for design, counts in parts)
        return total / ranks.n_users


REGISTRY: Values[Estimator] = Values(
    "estimator", "name or name(param=value), as bv(gamma=0.1)", base=Estimator
)
"""Every estimator class by its name; the law tests loop over it and read the declarations."""

# The default, and the literature's name for BV's distribution of ranks.
REGISTRY.aliases.update({"auto": "smooth", "bv-ranks": "bv"})

register, get, parse = REGISTRY.register, REGISTRY.make, REGISTRY.parse
