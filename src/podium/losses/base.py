"""The interface of losses, `Loss`, and the registry of losses by name, `REGISTRY`.

podium's own losses are subclasses of `GroupLoss`, which computes values, gradient and curvature
in one pass over all groups. Other losses may also implement the three abstract methods of `Loss`.
"""

from __future__ import annotations

import abc
import dataclasses
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.discounts import GAINS
from podium.errors import ArgumentError, arg
from podium.groups import Groups
from podium.losses import inputs
from podium.registry import Values
from podium.types import Keys, Mask, PerGroup, PerRow, RowIndex

Out: TypeAlias = tuple[PerGroup, PerRow, PerRow]
"""The arrays that a pass over the groups fills: values, gradient and curvature.

On entry, the values are 0, or nan for a group on which the loss is undefined; the other arrays
are 0. The curvature is not computed if its array is empty.
"""

WITH_TOP_GRADES = "with grades of the top k only", "podium-studies, topk-consistency"
"""See `Loss.consistency`."""

_EMPTY: NDArray[np.float64] = np.empty(0)


class Loss(abc.ABC):
    """A loss: a function of the scores and relevance of rows in groups, independent of the model.

    `prepare` does all computations that do not depend on the scores. Solvers call it once, and
    `value_and_grad` in each iteration. Rows are always in the caller's order. A subclass is a
    frozen dataclass whose fields are the parameters of the loss. The attributes below declare the
    properties of the loss. They are class attributes, or properties if they depend on a parameter.
    `podium.testing.contracts.LossContract` tests them.

    Attributes
    ----------
    name : str
        The name in the registry. The default is the name of the class.
    bounds : (float, float)
        The range of a group's value.
    convex : bool
        Whether the value at a midpoint is never above the mean of the values at the two ends.
    smooth : bool
        Whether the gradient exists everywhere, so that L-BFGS and step lengths derived from the
        curvature are applicable.
    upper_bounds : str or None
        The metric of which 1 - metric is never above the value on labels 0 and 1, with ties in
        the worst order: "pap" and "pauc" with the k of the loss, "auc" or "ndcg". None means that
        no such bound is known.
    shift_invariant : bool
        Whether a shift of all scores of a group does not change the value, so that a model needs
        no intercept.
    reads_groups : bool
        Whether the value depends on which rows form a group. Rankers then require a qid.
    reads_grades : bool
        Whether the loss uses grades. Otherwise rows with relevance >= `min_relevance` are
        positives and all others negatives.
    min_relevance : float
        The relevance from which a row is a positive. Validation uses the same value.
    k : int or None
        The cutoff, if the loss has one.
    head_cutoff : bool
        Whether k is the length of the head that the loss optimises, so that the cutoff of the
        measure is a sensible value of k.
    validated_by : str or None
        The metric that suits the loss for validation. None means the ranker's own default.
    draws : bool
        Whether the target depends on random numbers. The loss then has a method `draw`, whose
        result is the argument `keys` of `prepare`.
    reweights : bool
        Whether the value contains weights that depend on the scores, and the gradient and the
        curvature are those of the value with these weights held fixed. The value may then jump
        where the order of scores changes. The loss has a method `hold`, which fixes the weights.
    consistency : (str, str) or None
        Whether the scores with the least expected loss have the best top k, on probabilities that
        meet the condition of xia2009, theorem 6, and the source: a theorem, a counter-example, or
        an enumeration. The first is "with k", "with grades of the top k only" or "no"; None means
        unknown.
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
    reweights: ClassVar[bool] = False
    consistency: ClassVar[tuple[str, str] | None] = None
    min_relevance: float = 1.0
    k: Any = None  # an int or None; the type is Any so that a subclass can be more specific

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = vars(cls).get("name", cls.__name__)
        if "k" in inspect.get_annotations(cls) and "k" not in vars(cls):
            # A field without a default; otherwise None, inherited from Loss, is the default.
            cls.k = dataclasses.field()

    @property
    def validated_by(self) -> str | None:
        """The metric for validation: ndcg if the loss uses grades, else None."""
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
        """Return the target: the labels in the form in which the loss uses them.

        Parameters
        ----------
        relevance : float64, (n_rows,)
            Grades >= 0, in the order of the rows that `groups` was made from.
        groups : Groups
            The groups of the rows.
        weights : float64, (n_rows,), optional
            Weights >= 0. A loss of whole groups takes one weight per group, repeated on its rows.
            A loss of single rows takes any weights.
        rng : numpy.random.Generator, optional
            The generator of a loss that draws. Without rng and keys, the loss uses seed 0. Other
            losses ignore it.

        Returns
        -------
        object
            A target for `value_and_grad` and `curvature`.

        Raises
        ------
        ArgumentError
            If lengths differ, a relevance or weight is negative, or weights vary within a group
            and the loss needs one weight per group.
        """

    @abc.abstractmethod
    def value_and_grad(self, scores: PerRow, target: Any) -> tuple[PerGroup, PerRow]:
        """Return the value of each group, and the (sub)gradient of their mean by row.

        Parameters
        ----------
        scores : float64, (n_rows,)
            Finite scores, in the caller's row order.
        target : Any
            The target from `prepare`.

        Returns
        -------
        values : float64, (n_groups,)
            Values, nan for a group on which the loss is undefined. They are scaled by the weights,
            so that their mean is the weighted mean.
        grad : float64, (n_rows,)
            The derivative with respect to each score; 0 on rows of a group that is left out or
            has no weight.
        """

    @abc.abstractmethod
    def curvature(self, scores: PerRow, target: Any) -> PerRow:
        """Return a positive second-order bound per row, for boosting and for step lengths.

        The Hessian of the mean, where it exists, is at most the diagonal matrix of these bounds.
        If a loss has kinks, the bounds are those of the loss with each kink rounded over one
        unit of score.
        """

    def value_grad_and_curvature(
        self, scores: PerRow, target: Any
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return values, gradient and curvature; override this if one pass computes them all."""
        return *self.value_and_grad(scores, target), self.curvature(scores, target)

    def why_undefined(self, target: Any) -> str:
        """Return a message on why no group is usable: the requirement, the number, the remedy."""
        return f"{self!r} is defined on no group."

    def draw(self, groups: Groups, rng: np.random.Generator) -> Keys:
        """Return the random keys of a loss that draws, with one column per order of tied rows."""
        raise NotImplementedError(f"{self.name} needs no random keys, got {groups} and {rng}.")

    def hold(self, scores: PerRow, target: Any) -> Any:
        """Return the target with the weights of these scores, for a loss that `reweights`."""
        del scores, target
        raise NotImplementedError(f"{self.name} has no weights that depend on the scores.")


@dataclass(frozen=True, eq=False)
class Target:
    """The base of the targets of `GroupLoss`.

    Attributes
    ----------
    groups : Groups
        The groups that the target was prepared for.
    share : float64, (n_groups,)
        The weight of each group over the mean weight; 0 for a group that is left out.
    defined : bool, (n_groups,)
        The mask of the groups on which the loss is defined.
    """

    groups: Groups
    share: PerGroup
    defined: Mask


@dataclass(frozen=True, eq=False)
class Lists(Target):
    """A target whose kernel visits the rows of each group.

    Attributes
    ----------
    rows : int64, (n_rows,)
        The rows, group after group; each loss has its own order within a group.
    """

    rows: RowIndex


class GroupLoss(Loss):
    """A loss computed by one pass over all groups. A subclass implements `_target` and `_run`.

    `_run` takes checked scores and the target, and fills the arrays of `Out`.
    """

    _least_curvature: ClassVar[float] = inputs.LEAST_CURVATURE  # divided by the number of groups

    constraints: ClassVar[_check.Constraints] = {
        "k": partial(_check.cutoff, required=False),
        "min_relevance": _check.positive,
        "temperature": _check.positive,
        "clip": _check.flag,
        "gain": partial(_check.choice, options=GAINS),
    }
    """The checks of parameters that several losses have. A loss adds its own."""

    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def __post_init__(self) -> None:
        """Check each parameter; None is accepted where it is the default."""
        vars(self).update(_check.parameters(self))

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> Any:
        """Return the target; see `Loss.prepare`. It is not random."""
        return self._target(inputs.relevance_of(relevance, groups), groups, weights)

    def value_and_grad(self, scores: PerRow, target: Any) -> tuple[PerGroup, PerRow]:
        """Return values and gradient; see `Loss.value_and_grad`."""
        checked = inputs.scores_of(scores, target.groups)
        values, grad = _zeros(target), np.zeros(checked.size)
        self._run(checked, target, (values, grad, _EMPTY))
        return values, grad

    def curvature(self, scores: PerRow, target: Any) -> PerRow:
        """Return a positive second-order bound per row; see `Loss.curvature`."""
        return self.value_grad_and_curvature(scores, target)[2]

    def value_grad_and_curvature(
        self, scores: PerRow, target: Any
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return values, gradient and curvature from one pass."""
        checked = inputs.scores_of(scores, target.groups)
        values, grad, bound = _zeros(target), np.zeros(checked.size), np.zeros(checked.size)
        self._run(checked, target, (values, grad, bound))
        return values, grad, np.maximum(bound, self._least_curvature / count_of(target))

    def why_undefined(self, target: Target) -> str:
        """Return a message: what a group needs, how many groups lack it, and the remedy."""
        n_lacking = int(np.count_nonzero(~target.defined & (target.groups.sizes > 0)))
        labels = arg.min_relevance if "min_relevance" in self.parameters() else "relevance"
        return (
            f"{self.name} needs {self._needs()} in a group, which {n_lacking} of "
            f"{target.groups.n_groups} groups lack. Check {labels} and qid."
        )

    def _needs(self) -> str:
        return "rows of two grades"

    @abc.abstractmethod
    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> Any: ...

    @abc.abstractmethod
    def _run(self, scores: PerRow, target: Any, out: Out) -> None: ...


def count_of(target: Target) -> float:
    """Return the number of groups that the mean is over, at least 1."""
    return max(1.0, float(np.count_nonzero(target.defined)))


def _zeros(target: Target) -> PerGroup:
    return np.where(target.defined, 0.0, np.nan)


REGISTRY: Values[Loss] = Values(
    "loss", "name@k or name(param=value)@k, such as pap-ramp@30", base=Loss
)
"""Every loss class by its name. The tests in tests/laws check what each loss declares."""

register = REGISTRY.register
get, parse, split = REGISTRY.make, REGISTRY.parse, REGISTRY.split


def is_registered(text: str) -> bool:
    """Return whether a text begins with a name of `REGISTRY`, with or without parameters.

    Examples
    --------
    >>> is_registered("listmle(head=relevant)@10"), is_registered("rank_xendcg")
    (True, False)
    """
    return REGISTRY.find(text.partition("@")[0].partition("(")[0].strip()) is not None


def spec(loss: Any) -> dict[str, Any]:
    """Return a registered loss as a dictionary for JSON, from which `from_spec` restores it.

    Examples
    --------
    >>> spec(get("logistic"))
    {'name': 'logistic', 'min_relevance': 1.0}
    """
    if not isinstance(loss, Loss) or REGISTRY.get(loss.name) is not type(loss):
        raise ArgumentError(
            f"loss {loss!r} is not in the registry and can't be saved. Register its class with "
            "podium.losses.register."
        )
    return {"name": loss.name, **REGISTRY.params(loss)}


def from_spec(description: Mapping[str, Any]) -> Loss:
    """Return the loss that a dictionary from `spec` describes."""
    params = dict(description)
    return get(params.pop("name", ""), **params)


def as_loss(loss: Any) -> Loss:
    """Return a loss, given the loss or its name.

    Raises
    ------
    ArgumentError
        If the name is unknown, or the object is not a `Loss`.
    """
    if isinstance(loss, str):
        return get(loss)
    if isinstance(loss, Loss):
        return loss
    raise ArgumentError(
        f"{arg.loss} must be a podium.losses.Loss or its name, such as 'pap-avg@10', got {loss!r}."
    )
