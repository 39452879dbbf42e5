"""One cell of the LETOR study: a method, tuned on one fold and measured on its test queries."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from podium.evaluation.evaluation import fill
from podium.groups import Groups
from podium.losses import ListMLE
from podium.metrics import parse
from podium.papers.rows import Parts, Rows
from podium.papers.xia2009.letor_methods import TOP_LISTMLE, Method
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow

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
