"""The methods of the LETOR study and all that each is tried with on one fold, by name.

To add a method, add its line to METHODS, and its name to the recipes that shall run it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from podium import losses
from podium.experiments.rows import Parts
from podium.losses import Loss
from podium.rankers import LinearRanker
from podium.rankers.baselines import RankBoost
from podium.types import PerRow

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
