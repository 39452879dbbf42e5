"""The methods of RoBiRank's study on LETOR and all that each is tried with on one fold, by name.

To add a method, add its line to METHODS, and its name to the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from podium import losses
from podium.papers.hiranandani2020.baselines import GreedyPAp, PrecisionAverage, SelectPAp
from podium.papers.rows import Parts
from podium.papers.xia2009.letor_methods import (
    Candidate,
    Candidates,
    MakeLoss,
    Method,
    Options,
    linear,
    product,
    rankboost,
    scored,
)

K = 10  # of what reads a cutoff: that of the measure that all are chosen by

FORM, PLAIN, OTHER = "a form of it", "binary, robust", "another's"
"""Whose a method is: RoBiRank and its ablations, its poster's first column, or a rival."""

ROBIRANK = "RoBiRank"
TYPE_2, IDENTITY = "RoBiRank, type II", "RoBiRank, no rho"


def _baseline(make: Callable[..., Any]) -> Candidates:
    """Fit a baseline that is tuned by its C alone."""

    def candidates(parts: Parts, parameters: Options, seed: int) -> Iterator[Candidate]:
        for options in product(parameters["baselines"]["grid"]):
            ranker = make(K, clip=True, random_state=seed, **options)
            ranker.fit(parts.train.X, parts.train.y, parts.train.qid)
            yield scored(options, ranker, parts)

    return candidates


def _select(k: int, *, random_state: int, **options: Any) -> SelectPAp:
    del random_state  # nothing is drawn
    return SelectPAp(k, **options)


def _form(protocol: str, **options: Any) -> Method:
    return Method(FORM, linear(protocol, partial(losses.RoBiRank, **options)))


def _binary(protocol: str, **options: Any) -> Method:
    return Method(PLAIN, linear(protocol, partial(losses.RobustBinary, **options)))


def _other(loss: MakeLoss, protocol: str = "lbfgs", **options: Any) -> Method:
    return Method(OTHER, linear(protocol, partial(loss, **options)))


def _pap(loss: MakeLoss) -> Method:
    return _other(loss, "subgradient", k=K, clip=True)


METHODS: dict[str, Method] = {
    ROBIRANK: _form("lbfgs"),
    TYPE_2: _form("lbfgs", type=2),
    IDENTITY: _form("lbfgs", type="identity"),
    "RoBiRank, hinge": _form("subgradient", sigma="hinge"),
    "RoBiRank, not normalised": _form("lbfgs", normalize=False),
    "RoBiRank, linear gain": _form("lbfgs", gain="linear"),
    "RoBiRank, stopped early": _form("stopped"),
    "RoBiRank, type II, stopped early": _form("stopped", type=2),
    "RoBiRank, no rho, stopped early": _form("stopped", type="identity"),
    "binary, type I": _binary("lbfgs"),
    "binary, type II": _binary("lbfgs", type=2),
    "binary, type I, hinge": _binary("subgradient", sigma="hinge"),
    "binary, type II, hinge": _binary("subgradient", type=2, sigma="hinge"),
    "binary, hinge": _binary("subgradient", type="identity", sigma="hinge"),
    "Ranking SVM": _other(losses.PairwiseHinge, "subgradient"),
    "pairwise logistic": _other(losses.PairwiseLogistic),
    "pairwise exponential": _other(losses.PairwiseExponential),
    "RankBoost": Method(OTHER, rankboost),
    "ListMLE": _other(losses.ListMLE, ties="averaged"),
    "Top-10 ListMLE": _other(losses.ListMLE, k=K, ties="averaged"),
    "Top-10 ListMLE (relevant rows)": _other(losses.ListMLE, k=K, ties="averaged", head="relevant"),
    "ListNet": Method(OTHER, linear("listnet", losses.ListNet)),
    "Top-10 ListNet": Method(OTHER, linear("listnet", partial(losses.ListNet, k=K))),
    "RankCosine": _other(losses.RankCosine, "rankcosine"),
    "Top-10 RankCosine": _other(losses.RankCosine, "rankcosine", k=K),
    "softmax of grades": _other(losses.SoftmaxCrossEntropy),
    "logistic regression": _other(losses.Logistic),
    "logistic by group": _other(losses.GroupLogistic),
    "squared error": _other(losses.Squared),
    "pap-logistic@10": _other(losses.PApLogistic, k=K),
    "pap-ramp@10": _pap(losses.PApRamp),
    "pap-avg@10": _pap(losses.PApAverage),
    "pap-max@10": _pap(losses.PApMax),
    "pap-ts@10": _pap(losses.PApTightStruct),
    "pap-struct@10": _pap(losses.PApStruct),
    "pauc-hinge@10": _pap(losses.PAUCHinge),
    "precision average@10": _pap(PrecisionAverage),
    "greedy pap@10": Method(OTHER, _baseline(GreedyPAp)),
    "select pap@10": Method(OTHER, _baseline(_select)),
}
"""Every method by its name in tables."""
