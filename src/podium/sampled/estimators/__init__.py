"""The base classes of estimators, and the registry that makes estimators from a text."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from podium import _check
from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.registry import Values
from podium.sampled.design import Design, Floats
from podium.sampled.distribution import RankDistribution, read_measure
from podium.sampled.ranks import SampledRanks

if TYPE_CHECKING:
    from podium.sampled.estimators.smooth import SmoothFit

ErrorFrom: TypeAlias = Literal["users", "bootstrap", "posterior"]


class Estimator(ABC):
    """A method that estimates measures of the whole ranking from ranks among sampled items.

    An estimator is a frozen dataclass of its parameters. It gives the distribution of ranks
    (`fit`), or one measure's value (`estimate`), or both. If only one of the two is defined, the
    other is derived from it. A method with `posterior` needs neither.

    Attributes
    ----------
    name : str
        The name in the registry.
    consistent : bool
        Whether the estimates approach the exact values as n_negatives approaches n_items - 1
        without replacement.
    reads_history : bool
        Whether the estimator uses `SampledRanks.history`.
    gives_distribution : bool
        Whether `fit` gives a distribution of ranks.
    error_from : {"users", "bootstrap", "posterior"}
        The source of standard errors: the values of users (`LinearEstimator`), resampled users, or
        `posterior`. Intervals from `posterior` are for the exact measure, even if the method is
        biased.
    constraints : dict of str to callable
        The check of each parameter: a function of the value and the name that returns the value.
    """

    name: ClassVar[str]
    consistent: ClassVar[bool] = True
    reads_history: ClassVar[bool] = False
    gives_distribution: ClassVar[bool] = True
    error_from: ClassVar[ErrorFrom] = "bootstrap"
    constraints: ClassVar[_check.Constraints] = {}

    def __post_init__(self) -> None:
        """Check each parameter; None is accepted where it is the default."""
        vars(self).update(_check.parameters(self))

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Estimate the distribution of the target's rank among all items.

        Parameters
        ----------
        ranks : SampledRanks
            The observed ranks. All users have the same weight.

        Returns
        -------
        RankDistribution

        Raises
        ------
        ArgumentError
            If the method gives no distribution.
        """
        if self.error_from == "posterior":
            return self.posterior(ranks).distribution
        raise ArgumentError(
            f"{self.name} estimates one measure at a time and gives no distribution of ranks. "
            "Call estimate(ranks, measure)."
        )

    def estimate(self, ranks: SampledRanks, measure: str | Measure) -> float:
        """Estimate the mean of a measure over users, for the ranking of all items.

        Parameters
        ----------
        ranks : SampledRanks
            The observed ranks. All users have the same weight.
        measure : str or Measure
            A measure such as ``ndcg@10``, see `RankDistribution.expect`.

        Returns
        -------
        float

        Raises
        ------
        ArgumentError
            If the measure needs more than ranks.
        """
        if self.error_from == "posterior":
            return self.posterior(ranks).expect(measure)
        return self.fit(ranks).expect(measure)

    def posterior(self, ranks: SampledRanks) -> SmoothFit:
        """Estimate the distribution of the target's rank with its uncertainty.

        Methods with ``error_from = "posterior"`` define it.

        Raises
        ------
        ArgumentError
            If the method has no posterior.
        """
        raise ArgumentError(f"{self.name} has no posterior. Use smooth.")


class LinearEstimator(Estimator):
    """An estimator whose estimate is the mean over users of a value per outcome."""

    error_from: ClassVar[ErrorFrom] = "users"

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Return the value of each outcome of a design: float64, (n_outcomes,)."""
        raise NotImplementedError

    def estimate(self, ranks: SampledRanks, measure: str | Measure) -> float:
        """Estimate the mean of a measure over users; see `Estimator.estimate`."""
        parsed = read_measure(measure)
        total = sum(float(counts @ self.values(design, parsed)) for design, counts in ranks.designs)
        return total / ranks.n_users


REGISTRY: Values[Estimator] = Values(
    "estimator", "name or name(param=value), such as bv(gamma=0.1)", base=Estimator
)
"""Every estimator class by its name. Common tests loop over it and use the class attributes."""

# The default, and the name of BV's distribution of ranks in the literature.
REGISTRY.aliases.update({"auto": "smooth", "bv-ranks": "bv"})

register, get, parse = REGISTRY.register, REGISTRY.make, REGISTRY.parse
