"""The methods of the LETOR study and all that each is tried with on one fold, by name.

To add a method, add its line to METHODS, and its name to the recipes that shall run it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from podium import losses
from podium.evaluation.evaluation import fill
from podium.groups import Groups
from podium.losses import ListMLE, Loss
from podium.metrics import parse
from podium.papers.rows import Parts, Rows
from podium.papers.xia2009.rankboost import RankBoost
from podium.rankers import LinearRanker
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow

Options: TypeAlias = Mapping[str, Any]
MakeLoss: TypeAlias = Callable[..., Loss]

PAPER, FUTURE, PODIUM = "the paper's", "the paper's future work", "podium's"
"""Whose a method is: compared in the paper, announced there, or neither."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model's scores of the validation and the test rows, and the options that gave them."""

    options: Options
    valid: PerRow
    test: PerRow


Candidates: TypeAlias = Callable[[Parts, Options, int], Iterator[Candidate]]


@dataclass(frozen=True)
class Method:
    """A method and how it is tuned.

    Attributes
    ----------
    kind : str
        PAPER, FUTURE or PODIUM.
    candidates : (fold, parameters, seed) -> iterator of Candidate
        Everything that is tried.
    draws : bool
        It depends on drawn orders of equally graded rows, or on other random numbers.
    """

    kind: str
    candidates: Candidates
    draws: bool = False


def linear(protocol: str, loss: MakeLoss) -> Candidates:
    """Fit one linear ranker per point of the protocol's grid; the iterate is chosen too.

    Parameters
    ----------
    protocol : str
        A table of the recipe's parameters: "fixed" options of the ranker, and a "grid" of others.
    loss : callable
        What makes the loss, of those options that are in its "of_loss" grid.
    """

    def candidates(parts: Parts, parameters: Options, seed: int) -> Iterator[Candidate]:
        given = parameters[protocol]
        valid = (parts.valid.X, parts.valid.y, parts.valid.qid)
        for of_loss in product(given.get("of_loss", {})):
            for options in product(given["grid"]):
                ranker = LinearRanker(
                    loss(**of_loss),
                    random_state=seed,
                    eval_measure=parameters["validation"],
                    **given["fixed"],
                    **options,
                )
                ranker.fit(parts.train.X, parts.train.y, parts.train.qid, eval_set=valid)
                chosen = {**of_loss, **options, "iterations": ranker.best_iteration_}
                yield scored(chosen, ranker, parts)

    return candidates


def rankboost(parts: Parts, parameters: Options, seed: int) -> Iterator[Candidate]:
    """Boost with each point of the grid; the number of rounds is chosen too."""
    del seed  # nothing is drawn
    given, measure = parameters["rankboost"], parameters["validation"]
    for options in product(given["grid"]):
        ranker = RankBoost(eval_measure=measure, **given["fixed"], **options)
        valid = (parts.valid.X, parts.valid.y, parts.valid.qid)
        ranker.fit(parts.train.X, parts.train.y, parts.train.qid, eval_set=valid)
        yield scored({**options, "rounds": ranker.best_iteration_ + 1}, ranker, parts)


def scored(options: Options, ranker: Any, parts: Parts) -> Candidate:
    """Return what a fitted ranker gives the rows to choose by and those to test on."""
    return Candidate(options, ranker.predict(parts.valid.X), ranker.predict(parts.test.X))


def product(grid: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the grid's values.

    Examples
    --------
    >>> list(product({"l2": [0.0, 1.0]}))
    [{'l2': 0.0}, {'l2': 1.0}]
    """
    for chosen in itertools.product(*grid.values()):
        yield dict(zip(grid, chosen, strict=True))


def _top(name: str, k: int | None) -> str:
    return name if k is None else f"Top-{k} {name}"


def _at_each_size(name: str, protocol: str, loss: MakeLoss, *, draws: bool) -> dict[str, Method]:
    """Return a loss as it is, and modified for each k; the paper has all of ListMLE's."""
    return {
        _top(name, k): Method(
            FUTURE if k and name != "ListMLE" else PAPER,
            linear(protocol, partial(loss, k=k)),
            draws=draws,
        )
        for k in (None, *CUTOFFS)
    }


def _own(loss: MakeLoss) -> Method:
    return Method(PODIUM, linear("podium", loss))


CUTOFFS = (1, 3, 10)
TOP_LISTMLE = {_top("ListMLE", k): k for k in (None, *CUTOFFS)}
"""The paper's four, and their k."""

METHODS: dict[str, Method] = {
    **_at_each_size("ListMLE", "sgd", losses.ListMLE, draws=True),
    **_at_each_size("ListNet", "listnet", losses.ListNet, draws=False),
    **_at_each_size("RankCosine", "rankcosine", losses.RankCosine, draws=False),
    "RankBoost": Method(PAPER, rankboost),
    "Ranking SVM": Method(PAPER, linear("ranking_svm", losses.PairwiseHinge)),
    "ListMLE (mean over orders)": _own(partial(losses.ListMLE, ties="averaged")),
    "Top-10 ListMLE (mean over orders)": _own(partial(losses.ListMLE, k=10, ties="averaged")),
    "Top-10 ListMLE (relevant rows)": _own(
        partial(losses.ListMLE, k=10, ties="averaged", head="relevant")
    ),
    "softmax of grades": _own(losses.SoftmaxCrossEntropy),
    "pairwise logistic": _own(losses.PairwiseLogistic),
    "pap-logistic@10": _own(partial(losses.PApLogistic, k=10)),
    "logistic regression": _own(losses.Logistic),
}
"""Every method by its name in tables."""


_DECIMALS = 6
_parsed = functools.cache(parse)


def tuned(method: Method, parts: Parts, parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Try all that a method tries, keep the best on validation, and test it.

    Returns
    -------
    dict
        "chosen", the options; "valid", the mean on validation that they were chosen by; "query",
        the test queries' ids; and "values", what each has by the measures' names.
    """
    measure = parameters["validation"]
    tried = (
        (float(values(found.valid, parts.valid, measure).mean()), found)
        for found in method.candidates(parts, parameters, seed)
    )
    value, best = max(tried, key=itemgetter(0))  # the first of equal ones
    return {
        "chosen": dict(best.options),
        "valid": value,
        "query": np.unique(parts.test.qid).tolist(),
        "values": {
            name: values(best.test, parts.test, text).round(_DECIMALS).tolist()
            for name, text in parameters["measures"].items()
        },
    }


def drawn_shares(folds: Sequence[Parts]) -> dict[str, float]:
    """Return by loss which share of its heads' places an irrelevant row has by chance alone.

    Such a place is learned as if that row were known to be better than all below it.
    """
    tests = [parts.test for parts in folds]
    relevance = np.concatenate([rows.y for rows in tests])
    groups = Groups.from_qid(np.concatenate([rows.qid for rows in tests]))
    shares: dict[str, float] = {}
    for name, k in TOP_LISTMLE.items():
        target = ListMLE(k=k).prepare(relevance, groups)
        shares[name] = float(target.n_drawn.sum() / target.n_head.sum())
    return shares


def values(scores: PerRow, rows: Rows, measure: str) -> PerGroup:
    """Return each query's value as LETOR's script counts: 0 for one without relevant rows.

    Of equally scored rows any order is as likely as any other: the value is the mean over them.
    """
    ranking = Ranking.from_scores(scores, rows.y, qid=rows.qid, ties="average")
    return fill(_parsed(measure)(ranking), "zero")
