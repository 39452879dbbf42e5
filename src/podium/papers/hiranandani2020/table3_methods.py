"""The methods of hiranandani2020's Table 3 and their grids, by name.

To add a method, add its line to METHODS, and its name to the recipes that shall run it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import losses
from podium.metrics import pap
from podium.papers.hiranandani2020.baselines import GreedyPAp, PrecisionAverage, SelectPAp, SVMpAUC
from podium.papers.rows import Parts, Rows
from podium.rankers import LinearRanker, LogisticRanker
from podium.ranking import Ranking
from podium.types import PerGroup, Ties

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
        fixed: dict[str, Any] = {"start": start, "keep": keep, "eval_measure": f"pap@{k}"}
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
    return LogisticRanker(eval_measure=f"pap@{k}", **options)


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


Score: TypeAlias = Callable[[NDArray[Any]], NDArray[np.float64]]

RANDOM = "random weights"
_DECIMALS = 6


def random_weights(parts: Parts, k: int, draws: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return how linear scores with standard normal coefficients do, over several of them."""
    coef = rng.standard_normal((draws, parts.test.X.shape[1]))
    scores = [partial(_linear, w) for w in coef]
    return {"chosen": {}, **_tested(scores, parts.test, k)}


def tuned(
    name: str,
    protocol: str,
    k: int,
    parts: Parts,
    train: Rows,
    parameters: Mapping[str, Any],
    seed: int,
) -> dict[str, Any]:
    """Fit a method with all options of its grid, keep the best on validation, and test it.

    Parameters
    ----------
    name, protocol : str
        One of `METHODS`, one of its protocols.
    k : int
    parts : Parts
        The groups that pap at k is defined on.
    train : Rows
        All training rows, for a method that takes them whole.
    parameters : mapping
        The recipe's.
    seed : int
        Of what a fit draws.

    Returns
    -------
    dict
        "pap" and "half" (ties as errors, and half right), "users", their ids "user" and values
        "gain", "chosen" options, and "valid", the pap that they were chosen by.
    """
    method = METHODS[name]
    rows, valid = train if method.whole else parts.train, parts.valid
    seeded = {"random_state": seed} if method.seeded else {}

    def fitted(options: Choice) -> tuple[float, Any, Choice]:
        judged = {} if protocol == PAPER else {"eval_set": (valid.X, valid.y, valid.qid)}
        model = method.make(k, protocol, {**options, **seeded})
        model.fit(rows.X, rows.y, rows.qid, **judged)
        return float(np.mean(_gains(model.predict, valid, k))), model, options

    tried = [fitted(options) for options in method.grid(parameters, protocol)]
    value, model, options = max(tried, key=itemgetter(0))  # the first of equal ones
    if method.final and protocol == PAPER:
        longer = {**options, "max_iter": parameters[PAPER]["final"][name]}
        value, model, options = fitted(longer)
    return {"chosen": dict(options), "valid": value, **_tested([model.predict], parts.test, k)}


def _linear(coef: NDArray[np.float64], X: NDArray[Any]) -> NDArray[np.float64]:
    return np.einsum("ij,j->i", X, coef)


def _tested(scores: Sequence[Score], test: Rows, k: int) -> dict[str, Any]:
    gain = np.mean([_gains(score, test, k) for score in scores], axis=0)
    half = np.mean([_gains(score, test, k, "average") for score in scores], axis=0)
    return {
        "pap": float(gain.mean()),
        "half": float(half.mean()),
        "users": gain.size,
        "user": np.unique(test.qid).tolist(),
        "gain": gain.round(_DECIMALS).tolist(),
    }


def _gains(score: Score, rows: Rows, k: int, ties: Ties = "worst") -> PerGroup:
    ranking = Ranking.from_scores(score(rows.X), rows.y, qid=rows.qid, ties=ties)
    return pap(ranking, k=k)
