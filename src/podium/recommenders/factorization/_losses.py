"""The losses of the factorization: what a positive costs beside the negatives of its batch.

The steps of all losses are one compiled kernel. A loss is a small declaration: its form in the
kernel (`in_kernel`) and its defaults. To add one, write its sigma and its rho in `_loss_kernels`,
and register a class here. The tests compare each loss with its definition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from podium import _check
from podium.recommenders.factorization import _loss_kernels
from podium.registry import Values

_L2 = 0.025  # the default penalty of losses whose rule has not been studied
_COSINE_L2 = 0.002  # the default of softmax of cosines
_COLDEST, _WARMEST = 0.08, 0.16  # limits of the default temperature of cosines
LOG2_E = float(np.log2(np.e))


@dataclass(frozen=True)
class FactorLoss:
    """A loss ``rho(sum of sigma(score of a negative - score of the positive))`` of positives.

    Attributes
    ----------
    name : str
        The name in the registry.
    suits_cosines : bool
        Whether long vectors are compared by cosines by default, in long steps and with popular
        negatives.
    """

    name: ClassVar[str]
    suits_cosines: ClassVar[bool] = False
    constraints: ClassVar[_check.Constraints] = {"temperature": _check.positive}
    kind: ClassVar[int]
    _scale: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        vars(self).update(_check.parameters(self))

    def for_data(self, n_items: float, density: float, *, cosine: bool) -> FactorLoss:
        """Return the loss with parameters that suit the data, found as those of `default_l2`.

        n_items counts the items with a pair.
        """
        del n_items, density, cosine
        return self

    def default_l2(self, density: float, *, cosine: bool) -> float:
        """Return the penalty without an `l2`; yun2014/tuned.md of the studies has the evidence.

        The density is the geometric mean of the pairs per user and of the pairs per item.
        """
        del density, cosine
        return _L2

    def in_kernel(self, memory: float) -> _loss_kernels.Loss:
        """Return the form of the loss in the kernels."""
        return _loss_kernels.Loss(self.kind, np.float32(self._scale), memory)


LOSSES: Values[FactorLoss] = Values(
    "loss", "name or name(param=value), such as softmax(temperature=0.5)", base=FactorLoss
)
"""All losses of the factorization by name."""


@LOSSES.register
@dataclass(frozen=True)
class RoBiRank(FactorLoss):
    """``log2(1 + T)``, where T is the sum of ``log2(1 + 2**gap)`` over all items (yun2014)."""

    name: ClassVar[str] = "robirank"
    kind: ClassVar[int] = _loss_kernels.TYPE_1

    def default_l2(self, density: float, *, cosine: bool) -> float:
        """Return the penalty without an `l2`."""
        del cosine
        return min(0.06, 0.35 / density**0.5)


@LOSSES.register
@dataclass(frozen=True)
class RoBiRankType2(FactorLoss):
    """``1 - 1 / log2(T + 2)``: nearly no gradient for positives far down (yun2014)."""

    name: ClassVar[str] = "type2"
    kind: ClassVar[int] = _loss_kernels.TYPE_2


@LOSSES.register
@dataclass(frozen=True)
class Identity(FactorLoss):
    """The mean of ``log2(1 + 2**gap)``: robirank without its outer logarithm."""

    name: ClassVar[str] = "identity"
    kind: ClassVar[int] = _loss_kernels.IDENTITY


@LOSSES.register
@dataclass(frozen=True)
class BPR(FactorLoss):
    """The mean of ``log(1 + exp(gap))`` (rendle2009)."""

    name: ClassVar[str] = "bpr"
    kind: ClassVar[int] = _loss_kernels.BPR
    _scale: ClassVar[float] = LOG2_E


@LOSSES.register
@dataclass(frozen=True)
class Softmax(FactorLoss):
    """``log(1 + m * sum of exp(gap / temperature))``: sampled softmax (bengio2008).

    Each sampled negative stands for ``m = items / negatives`` items.

    Parameters
    ----------
    temperature : float, optional
        Above 0. By default 1 for products. For cosines, 12 over the root of the number of items,
        or 0.8 over the density of `default_l2` if this is greater, at least 0.08 and at most 0.16.
    """

    temperature: float | None = None

    name: ClassVar[str] = "softmax"
    suits_cosines: ClassVar[bool] = True
    kind: ClassVar[int] = _loss_kernels.SOFTMAX

    def for_data(self, n_items: float, density: float, *, cosine: bool) -> FactorLoss:
        """Return the loss with a temperature: warm for few items, and for few pairs."""
        if self.temperature is not None:
            return self
        suited = max(12.0 / n_items**0.5, 0.8 / density)
        temperature = min(max(suited, _COLDEST), _WARMEST) if cosine else 1.0
        return replace(self, temperature=float(f"{temperature:.3g}"))

    def default_l2(self, density: float, *, cosine: bool) -> float:
        """Return the penalty without an `l2`."""
        return _COSINE_L2 if cosine else min(0.3, 0.75 / density**0.5)

    def in_kernel(self, memory: float) -> _loss_kernels.Loss:
        """Return the form of the loss in the kernels."""
        temperature = 1.0 if self.temperature is None else self.temperature
        return super().in_kernel(memory)._replace(scale=np.float32(LOG2_E / temperature))
