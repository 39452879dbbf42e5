"""What a loss is: `Loss` declares all that callers may read of one, `REGISTRY` holds them by name.

`GroupLoss` turns one pass over all groups into values, gradient and curvature; podium's own
losses are written on it. A loss of your own may also implement the three methods of `Loss`.
"""

from __future__ import annotations

import abc
import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.registry import Values
from podium.types import Keys, Mask, PerGroup, PerRow

DECLARED = (
    "name",
    "bounds",
    "convex",
    "smooth",
    "upper_bounds",
    "shift_invariant",
    "reads_groups",
    "reads_grades",
    "min_relevance",
    "head_cutoff",
    "draws",
    "redraws",
)
"""What a loss that wraps another one takes over from it."""

Out: TypeAlias = tuple[PerGroup, PerRow, PerRow]
"""What a pass over the groups writes: values, gradient and curvature.

The values are 0, or nan for a group that the loss is not defined on; the others are 0. The
curvature is left out where its array is empty.
"""

_EMPTY: NDArray[np.float64] = np.empty(0)


class Loss(abc.ABC):
    """A loss in score space: it reads scores in groups, and no model.

    `prepare` does once what the scores do not change; solvers call `value_and_grad` in their
    loop. Rows are in the caller's order throughout. A subclass is a frozen dataclass whose fields
    are its parameters. Its declarations are class attributes, or properties where they depend on
    a parameter; `podium.testing.contracts.LossContract` tests them.

    Attributes
    ----------
    name : str
        The name in the registry; the name of the class where none is declared.
    bounds : (float, float)
        The range of a group's value.
    convex : bool
        Whether a value at a midpoint is never above the mean of the values at its ends.
    smooth : bool
        Whether there is a gradient everywhere, so that L-BFGS and step lengths from the curvature
        apply.
    upper_bounds : str or None
        The risk that the value is never below, such as "pap".
    shift_invariant : bool
        Whether a shift of all scores of a group changes nothing, so that a model needs no
        intercept.
    reads_groups : bool
        Whether it matters which rows are a group. Rankers then require a qid.
    reads_grades : bool
        Whether grades count as such. Otherwise rows are positives from `min_relevance` on, or
        negatives.
    min_relevance : float
        The relevance from which a row is a positive. Validation uses the same.
    k : int or None
        The cutoff of a loss that has one.
    head_cutoff : bool
        Whether k is the length of the head that the loss is about, so that the cutoff of the
        measure is a sensible k.
    validated_by : str or None
        The metric that suits the loss for validation; None for the ranker's own default.
    draws : bool
        Whether the target depends on random numbers: the loss then has `draw`, and its `prepare`
        takes what that returns as `keys`.
    redraws : bool
        Whether a solver should draw anew in each pass, so that the objective is random.
    """

    name: ClassVar[str]
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    convex: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    upper_bounds: ClassVar[str | None] = None
    shift_invariant: ClassVar[bool] = False
    reads_groups: ClassVar[bool] = True
    reads_grades: ClassVar[bool] = True
    head_cutoff: ClassVar[bool] = False
    draws: ClassVar[bool] = False
    redraws: ClassVar[bool] = False
    min_relevance: float = 1.0
    k: Any = None  # an int or None; Any, so that a subclass may say which

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        cls.name = vars(cls).get("name", cls.__name__)
        if "k" in inspect.get_annotations(cls) and "k" not in vars(cls):
            cls.k = dataclasses.field()  # a field without a default, which None would become

    @property
    def validated_by(self) -> str | None:
        """The metric that suits the loss for validation: ndcg where it reads grades."""
        return "ndcg" if self.reads_grades else None

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Return the names of the loss's parameters."""
        return tuple(vars(cls).get("__dataclass_fields__", ()))

    @abc.abstractmethod
    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> Any:
        """Return the target: what the loss needs to know of the labels.

        Parameters
        ----------
        relevance : float64, (n_rows,)
            Graded, >= 0, in the order of the rows that `groups` was made from.
        groups : Groups
        weights : float64, (n_rows,), optional
            Weights >= 0. A loss of whole groups takes one weight per group, repeated on its rows;
            a loss of single rows takes any.
        rng : numpy.random.Generator, optional
            For a loss that draws; without it and without keys it draws with seed 0. Others
            ignore it.

        Raises
        ------
        ArgumentError
            If lengths differ, a relevance or weight is negative, or weights vary within a group
            of a loss that weighs whole groups.
        """

    @abc.abstractmethod
    def value_and_grad(self, scores: PerRow, target: Any) -> tuple[PerGroup, PerRow]:
        """Return each group's value, and the (sub)gradient of their mean by each row's score.

        Parameters
        ----------
        scores : float64, (n_rows,)
            Finite, in the caller's row order.
        target : Any
            From `prepare`.

        Returns
        -------
        values : float64, (n_groups,)
            nan for a group that the loss is not defined on. Weights scale the others, so that
            their mean is the weighted mean.
        grad : float64, (n_rows,)
            0 on rows of a group that is left out, or has no weight.
        """

    @abc.abstractmethod
    def curvature(self, scores: PerRow, target: Any) -> PerRow:
        """Return a positive second-order bound by row, for boosting and for step lengths.

        A diagonal matrix of these numbers is never below the Hessian of the mean, where there is
        one; a loss with kinks has those rounded over one unit of score.
        """

    def value_grad_and_curvature(
        self, scores: PerRow, target: Any
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return the results of both, for boosting; override it where one pass has all three."""
        return *self.value_and_grad(scores, target), self.curvature(scores, target)

    def why_undefined(self, target: Any) -> str:
        """Say why no group can be trained on: the requirement, how many lack it, what to do."""
        return f"{self!r} is defined on none."

    def remark(self, relevance: PerRow, groups: Groups) -> str:
        """Say what these labels teach by chance, and how to learn without it; usually nothing."""
        del relevance, groups
        return ""

    def draw(self, groups: Groups, rng: np.random.Generator) -> Keys:
        """Return the random keys of a loss that draws, one column per order of tied rows."""
        raise NotImplementedError(f"{self.name} draws nothing for {groups} and {rng}.")


class Target(Protocol):
    """What targets of `GroupLoss` hold."""

    @property
    def groups(self) -> Groups:
        """The groups it was prepared for."""
        ...

    @property
    def defined(self) -> Mask:
        """Which groups the loss is defined on."""
        ...


class GroupLoss(Loss):
    """A loss that one pass over all groups computes; a subclass has `_target` and `_run`.

    `_run` takes checked scores and the target, and fills `Out`.
    """

    _least_curvature: ClassVar[float] = inputs.LEAST_CURVATURE  # by that of a group's mean

    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> Any:
        """Return the target; see `Loss.prepare`. Nothing here is random."""
        return self._target(inputs.relevance_of(relevance, groups), groups, weights)

    def value_and_grad(self, scores: PerRow, target: Any) -> tuple[PerGroup, PerRow]:
        """Return values and gradient; see `Loss.value_and_grad`."""
        checked = inputs.scores_of(scores, target.groups)
        values, grad = _zeros(target), np.zeros(checked.size)
        self._run(checked, target, (values, grad, _EMPTY))
        return values, grad

    def curvature(self, scores: PerRow, target: Any) -> PerRow:
        """Return a positive second-order bound by row; see `Loss.curvature`."""
        return self.value_grad_and_curvature(scores, target)[2]

    def value_grad_and_curvature(
        self, scores: PerRow, target: Any
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return all three from one pass."""
        checked = inputs.scores_of(scores, target.groups)
        values, grad, bound = _zeros(target), np.zeros(checked.size), np.zeros(checked.size)
        self._run(checked, target, (values, grad, bound))
        return values, grad, np.maximum(bound, self._least_curvature / count_of(target))

    def _check_min_relevance(self) -> None:
        low = _check.number(self.min_relevance, "min_relevance", low=0.0, strict=True)
        object.__setattr__(self, "min_relevance", low)

    @abc.abstractmethod
    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> Any: ...

    @abc.abstractmethod
    def _run(self, scores: PerRow, target: Any, out: Out) -> None: ...


class HingeLoss(GroupLoss):
    """A loss of hinges, for scores of any finite size; a subclass has `_target` and `_hinges`.

    `_hinges` takes scores in a unit in which no sum of their differences overflows, and writes
    values in that unit. It is the margin too.
    """

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        scaled, unit = inputs.in_units(scores)
        self._hinges(scaled, unit, target, out)
        inputs.out_of_units(out[0], unit)

    @abc.abstractmethod
    def _hinges(self, scores: PerRow, unit: float, target: Any, out: Out) -> None: ...


def count_of(target: Target) -> int:
    """Return how many groups the mean is over, at least 1."""
    return max(1, int(np.count_nonzero(target.defined)))


def _zeros(target: Target) -> PerGroup:
    return np.where(target.defined, 0.0, np.nan)


REGISTRY: Values[Loss] = Values("loss", "name@k or name(param=value)@k, as pap-ramp@30", base=Loss)
"""Every loss class by its name; the law tests loop over it and read the declarations.

A class with several names stands under each: make the loss with `get`, which sets the parameters
that a name stands for, and read the declarations from that.
"""

register, register_as = REGISTRY.register, REGISTRY.register_as
get, parse, split = REGISTRY.make, REGISTRY.parse, REGISTRY.split


def is_registered(text: str) -> bool:
    """Return whether a text begins with a name of `REGISTRY`, however it goes on.

    Examples
    --------
    >>> is_registered("listmle(head=relevant)@10"), is_registered("lambdarank")
    (True, False)
    """
    return REGISTRY.find(text.partition("@")[0].partition("(")[0].strip()) is not None


def spec(loss: Any) -> dict[str, Any]:
    """Return a registered loss as a dictionary that JSON can hold; `from_spec` reads it back.

    Examples
    --------
    >>> spec(get("logistic"))
    {'name': 'logistic', 'per': 'row', 'min_relevance': 1.0}
    """
    if not isinstance(loss, Loss) or REGISTRY.get(loss.name) is not type(loss):
        raise ArgumentError(
            f"loss {loss!r} is not in the registry and cannot be written down. Enter its class "
            "with podium.losses.register first."
        )
    return {"name": loss.name, **REGISTRY.params(loss)}


def from_spec(description: Mapping[str, Any]) -> Loss:
    """Make the loss that `spec` described."""
    params = dict(description)
    return get(params.pop("name", ""), **params)


def as_loss(loss: Any) -> Loss:
    """Return a loss that was given itself or by its name.

    Raises
    ------
    ArgumentError
        If the name is unknown, or the object is no `Loss`.
    """
    if isinstance(loss, str):
        return get(loss)
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, type) and hasattr(loss, "value_and_grad"):
        kind = type(loss).__name__
        raise ArgumentError(
            f"loss {kind} must be a subclass of podium.losses.Loss, which declares what rankers "
            f"read of a loss. Write 'class {kind}(Loss)'."
        )
    raise ArgumentError(f"loss must be a loss or its name, as 'pap-avg@10', got {loss!r}.")
