"""The measurement of some users of larger tables, which a cluster has divided."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_rankings import evaluate_ranking, refuse_undefined
from podium.protocol import Conventions, Protocol, ProtocolFields
from podium.protocol.protocol import Measures
from podium.ranking import Ranking

if TYPE_CHECKING:
    from podium.data import Truth
    from podium.data.lists import Whole


def measure_part(
    truth: Any,
    run: Any,
    protocol: Protocol | Measures,
    *,
    lowest: float,
    lists_whole: bool | None = None,
    **fields: Unpack[ProtocolFields],
) -> Evaluation:
    """Measure a run for some users of larger tables, with the values that `measure` gives them.

    What `measure` checks and warns of in whole tables is left to the caller, such as tables without
    an item in common.

    Parameters
    ----------
    truth, run : frame
        All rows of these users. A frame can be without rows.
    protocol : str, Measure, several of them, or Protocol
        The measures of relevance, such as ["pap@10", "ndcg@10"], or a protocol.
    lowest : float
        The smallest relevance of the whole truth; 1 if it has no column of relevances. If it is
        below min_relevance, lists with exactly the truth's items of their users are whole lists.
    lists_whole : bool, optional
        Whether all lists of the whole run are whole lists. It is required with missing="zero" and
        such a `lowest`, unless n_items is passed: for a user without a list, measures can then be
        undefined.
    **fields
        Conventions and column names, as in `podium.data.ranking`, except unjudged="bounds".

    Returns
    -------
    Evaluation
        The values of these users. `merge` joins those of all parts.

    Raises
    ------
    ArgumentError
        If `podium.data.ranking` raises, lowest or lists_whole is wrong, lists_whole is missing, or
        unjudged is "bounds".
    DataError
        If a table is wrong.

    Examples
    --------
    >>> import polars as pl
    >>> truth = pl.DataFrame({"user": [1, 2], "item": [10, 10]})
    >>> run = pl.DataFrame({"user": [2], "item": [10], "score": [0.9]})
    >>> measure_part(truth, run, "rr", lowest=1, missing="zero").values["rr"].tolist()
    [0.0, 1.0]
    """
    from podium.data.lists import Lists
    from podium.data.opened import Tables
    from podium.data.runs import read_run, read_truth

    stated = Protocol.of(protocol, **fields)
    if stated.unjudged == "bounds":
        raise ArgumentError(
            f"{arg.unjudged('bounds')} requires the whole truth, because a judgement can be each "
            "of its relevances. Use podium.measure."
        )
    stated.required_measures()
    measures, conventions = stated.task()
    tables = Tables.open(stated, truth, {"": run})
    judged = read_truth(_can_be_empty(tables.truth))
    listed = read_run(_can_be_empty(tables.runs[""]))
    facts = _facts(judged, lowest, lists_whole, conventions)
    ranking = Lists.of(judged, listed, conventions, facts, measures=measures).ranking
    if facts.lists_whole:
        _refuse_short(ranking)
    result = evaluate_ranking(ranking, measures)
    if conventions.undefined == "error":
        refuse_undefined(result.values, result.labels)
    return replace(result, origin=judged.origin, protocol=stated)


def _can_be_empty(table: Any) -> Any:
    from podium.data.source import Source

    return replace(table, can_be_empty=True) if isinstance(table, Source) else table


def _facts(
    truth: Truth, lowest: float, lists_whole: bool | None, conventions: Conventions
) -> Whole:
    """Return the facts of the whole tables, or raise if one is missing that matters."""
    from podium.data.lists import Whole, threshold_of

    lowest = _check.number(lowest, "lowest", low=0.0)
    lowest_here = truth.relevance.min(initial=np.inf)
    if lowest_here < lowest:
        raise ArgumentError(
            f"lowest must be the smallest relevance of the whole truth, got {lowest:g}, but a "
            f"user has {lowest_here:g}."
        )
    can_be_whole = lowest < threshold_of(truth, conventions) and conventions.n_items is None
    if can_be_whole and lists_whole is None and conventions.missing == "zero":
        raise ArgumentError(
            f"lists_whole is required with {arg.missing('zero')} and lowest={lowest:g}. Pass True "
            "if each list of the run has exactly the items of the truth for its user, otherwise "
            "False."
        )
    return Whole(lowest, lists_whole=can_be_whole and bool(lists_whole))


def _refuse_short(ranking: Ranking) -> None:
    """Raise if a list is not whole."""
    is_short = ranking.n_items < 0
    if ranking.absent is not None:
        is_short &= ~ranking.absent
    if is_short.any():
        first = ranking.groups.labels[is_short.argmax()]
        raise ArgumentError(
            f"{arg.lists_whole(True)} requires lists with exactly the truth's items, but that of "
            f"user {_check.label(first)} has others. Pass False."
        )
