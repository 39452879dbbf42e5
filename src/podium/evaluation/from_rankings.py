"""The function that evaluates rankings."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from podium._fields import FIELDS
from podium.errors import ArgumentError, arg
from podium.evaluation._hints import Relevances, warn_of_values
from podium.evaluation.alignment import merge
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.open_ties import best_values
from podium.metrics import Measure
from podium.protocol import Conventions, Protocol, ProtocolFields
from podium.protocol.protocol import Measures
from podium.ranking import Ranking

if TYPE_CHECKING:
    from podium.data.lists import OfSome


def evaluate(
    rankings: Ranking | Iterable[Ranking],
    protocol: Protocol | Measures,
    **fields: Unpack[ProtocolFields],
) -> Evaluation:
    """Evaluate measures on one ranking, or on a stream of them (blocks of users).

    Parameters
    ----------
    rankings : Ranking or iterable of Ranking
        The ranking, or several that are read one after another and not kept in memory. Each group
        must be in only one of them.
    protocol : str, Measure, several of them, or Protocol
        The measures, such as ["pap@10", "ndcg@10"], or a protocol.
    undefined : {"skip", "zero", "one", "error"}
        The treatment of groups for which a measure is undefined (nan): leave them out of the mean,
        count them as 0 or 1, or raise an error. Their number is always reported.
    level : float
        The coverage of the intervals.
    interval : {"t", "wilson", "bootstrap"}
        The method of the intervals of means: the t distribution, the Wilson score interval, which
        needs measures with finite bounds, or a bootstrap over groups (BCa).
    bootstrap_seed : int
        The seed of the bootstrap.

    Returns
    -------
    Evaluation
        The value of each group, and the means with their intervals.

    Warns
    -----
    PodiumWarning
        If a measure is undefined in every group, with the reason. If err is measured with the
        default max_grade and no relevance is above 1.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0, 2.0, 1.0], [1, 0, 1, 0, 1], qid=[7, 7, 7, 8, 8])
    >>> evaluate(r, ["rr", "pap@1"]).means
    {'rr': 0.75, 'pap@1': 0.5}
    """
    stated = Protocol.of(protocol, **fields)
    _refuse_lists(stated)
    measures = list(stated.required_measures())
    blocks: list[Values] = []
    for ranking in [rankings] if isinstance(rankings, Ranking) else rankings:
        block = evaluate_ranking(ranking, measures)
        block_protocol = stated.replace(**_conventions_of(ranking))
        block = replace(block, protocol=block_protocol, of_rankings=True)
        blocks.append(Values(block, Relevances.of(ranking)))
    if not blocks:
        raise ArgumentError("rankings must hold at least one Ranking, got none.")
    protocol = blocks[0].evaluation.protocol
    return finished(blocks, protocol.task().measures, protocol)


def _conventions_of(ranking: Ranking) -> dict[str, Any]:
    """Return the conventions of a ranking that are not podium's own."""
    names, usual = ("ties", "min_relevance", "low_grades"), Conventions().by_name()
    return {name: vars(ranking)[name] for name in names if vars(ranking)[name] != usual[name]}


def _refuse_lists(protocol: Protocol) -> None:
    """Raise if a field is stated that only lists, tables or users have."""
    for name in protocol.stated():
        if FIELDS[name].stage in ("lists", "tables") or name in ("by", "weight", "cluster"):
            raise ArgumentError(
                f"{arg[name]} has no effect on rankings, whose lists are made. Pass it to "
                "podium.data.ranking, or use podium.measure."
            )


class Values(NamedTuple):
    """The values of some groups, the relevances of these in the truth, and the facts of lists."""

    evaluation: Evaluation
    relevances: Relevances
    of_some: OfSome | None = None


def finished(parts: list[Values], measures: list[Measure], protocol: Protocol) -> Evaluation:
    """Join the values of disjoint groups, which are removed from `parts`, and check them.

    The hints are about the values of all groups. The result has the protocol.
    """
    relevances = reduce(operator.add, [part.relevances for part in parts])
    evaluations = (parts.pop(0).evaluation for _ in range(len(parts)))
    evaluation = next(evaluations) if len(parts) == 1 else merge(evaluations)
    evaluation = replace(evaluation, protocol=protocol)
    evaluation.refuse_undefined()
    warn_of_values(evaluation, measures, relevances)
    return evaluation


def evaluate_ranking(
    ranking: Ranking, measures: list[Measure], *, open_ties: bool = False
) -> Evaluation:
    """Return the values of the groups of a ranking, without rules for means.

    With `open_ties`, they include those with relevant items first among equal scores.
    """
    values = {str(m): m(ranking) for m in measures}
    weights = {str(m): m.weights(ranking) for m in measures}
    return Evaluation(
        labels=ranking.groups.labels,
        n_pos=ranking.n_pos,
        values=values,
        best=best_values(ranking, measures, values) if open_ties else {},
        weights={name: w for name, w in weights.items() if w is not None},
        n_pos_of_truth=None if ranking.of_truth is None else ranking.n_pos_of_truth,
        n_listed=np.where(ranking.whole, -1, ranking.groups.sizes),
        n_rejected=None if ranking.n_judged is None else ranking.n_judged - ranking.n_relevant,
    )
