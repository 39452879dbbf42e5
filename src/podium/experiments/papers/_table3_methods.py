"""The methods of hiranandani2020's Table 3 and their grids, by name.

To add a method, add its line to METHODS, and its name to the recipes that shall run it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from podium import losses
from podium.rankers import LinearRanker
from podium.rankers.baselines import (
    GreedyPAp,
    LogisticRanker,
    PrecisionAverage,
    SelectPAp,
    SVMpAUC,
)

PAPER, ZERO = "paper", "zero"
"""How a method is run: as the paper's code did, or from zero with the iterate chosen too."""

Choice: TypeAlias = Mapping[str, Any]
Make: TypeAlias = Callable[[int, str, Choice], Any]


@dataclass(frozen=True)
class Method:
    """How a method is made and tuned.

    Attributes
    ----------
    make : (k, protocol, options) -> estimator
        `options` are keyword arguments of the estimator.
    grid : (recipe's parameters, protocol) -> sequence of options
        What is tried; the best on the validation rows is kept.
    protocols : tuple of str
        Where the two would come to the same there is only ZERO.
    final : bool
        Under PAPER, fit once more with the chosen options and more iterations.
    seeded : bool
        Takes a random_state.
    whole : bool
        Train on all rows, those of the groups that pap at k is not defined on too.
    """

    make: Make
    grid: Callable[[Mapping[str, Any], str], Sequence[Choice]]
    protocols: tuple[str, ...] = (PAPER, ZERO)
    final: bool = False
    seeded: bool = False
    whole: bool = False


def _product(**values: Sequence[Any]) -> list[Choice]:
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


def _descent_grid(parameters: Mapping[str, Any], protocol: str) -> Sequence[Choice]:
    given = parameters[protocol]
    grid = _product(learning_rate=given["learning_rate"], l2=given["l2"])
    return [{**each, "max_iter": given["max_iter"]} for each in grid]


def _descent(loss: Callable[[int], Any]) -> Method:
    def make(k: int, protocol: str, options: Choice) -> LinearRanker:
        start, keep = ("normal", "best_loss") if protocol == PAPER else ("zero", "best")
        fixed: dict[str, Any] = {"start": start, "keep": keep, "eval_metric": f"pap@{k}"}
        return LinearRanker(loss(k), solver="subgradient", **fixed, **options)

    return Method(make, _descent_grid, final=True, seeded=True)


def _penalties(name: str) -> Callable[[Mapping[str, Any], str], Sequence[Choice]]:
    return lambda parameters, protocol: _product(C=parameters["C"][name])


def _svm(k: int, protocol: str, options: Choice) -> SVMpAUC:
    return SVMpAUC(k, max_iter=100, tol=1e-3, patience=20, **options)


def _greedy(k: int, protocol: str, options: Choice) -> GreedyPAp:
    return GreedyPAp(k, **options)


def _select(k: int, protocol: str, options: Choice) -> SelectPAp:
    return SelectPAp(k, start="normal" if protocol == PAPER else "logistic", **options)


def _logistic(k: int, protocol: str, options: Choice) -> LogisticRanker:
    return LogisticRanker(eval_metric=f"pap@{k}", **options)


METHODS: dict[str, Method] = {
    "GD-max": _descent(losses.PApMax),
    "GD-avg": _descent(losses.PApAverage),
    "GD-TS": _descent(losses.PApTightStruct),
    "GD-TS-exact": _descent(lambda k: losses.PApTightStruct(k, exact=True)),
    "GD-ramp": _descent(losses.PApRamp),
    "SVM-pAUC": _descent(losses.PAUCHinge),
    "SVM-pAUC-exact": Method(_svm, _penalties("SVM-pAUC-exact"), (ZERO,)),
    "Greedy": Method(_greedy, _penalties("Greedy"), seeded=True),
    "SGD@k-avg": _descent(PrecisionAverage),
    "Select": Method(_select, _penalties("Select"), seeded=True),
    "logistic": Method(_logistic, _penalties("logistic"), (ZERO,), whole=True),
}
"""Every method by its name in tables; random weights, which learn nothing, are not among them."""
