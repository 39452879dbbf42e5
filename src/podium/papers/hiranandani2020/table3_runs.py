"""One cell of Table 3: a method, tuned and tested at one split, cutoff and protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.metrics import pap
from podium.papers.hiranandani2020.table3_methods import METHODS, PAPER, Choice
from podium.papers.rows import Parts, Rows
from podium.ranking import Ranking
from podium.types import PerGroup, Ties

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
