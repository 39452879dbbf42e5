"""The methods of the LETOR study by name, and what is counted of its data.

To add a method, add its line to METHODS, and its name to the recipes that shall run it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from podium import losses
from podium.groups import Groups
from podium.losses import ListMLE
from podium.papers.folds import Candidate, MakeLoss, Method, Options, linear, scored
from podium.papers.rows import Parts
from podium.papers.study import product
from podium.papers.xia2009.rankboost import RankBoost

PAPER, FUTURE, PODIUM = "the paper's", "the paper's future work", "podium's"
"""Whose a method is: compared in the paper, announced there, or neither."""


def rankboost(parts: Parts, parameters: Options, seed: int) -> Iterator[Candidate]:
    """Boost with each point of the grid; the number of rounds is chosen too."""
    del seed  # nothing is drawn
    given, measure = parameters["rankboost"], parameters["validation"]
    for options in product(given["grid"]):
        ranker = RankBoost(eval_metric=measure, **given["fixed"], **options)
        valid = (parts.valid.X, parts.valid.y, parts.valid.qid)
        ranker.fit(parts.train.X, parts.train.y, parts.train.qid, eval_set=valid)
        yield scored({**options, "rounds": ranker.best_iteration_ + 1}, ranker, parts)


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
