"""The measurement of some users of larger tables, which a cluster has divided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from podium import _check
from podium.errors import ArgumentError, arg
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.in_parts import Workload, measured_run
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import Measures


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
    from podium.data.lists import Whole
    from podium.data.opened import Tables
    from podium.data.runs import read_run, read_truth

    stated = Protocol.of(protocol, **fields)
    if stated.has_bounds:
        raise ArgumentError(
            f"{arg.unjudged('bounds')} requires the whole truth, because a judgement can be each "
            "of its relevances. Use podium.measure."
        )
    stated.required_measures()
    task = stated.task()
    tables = Tables.open(stated, truth, {"": run})
    judged = read_truth(_can_be_empty(tables.truth))
    listed = read_run(_can_be_empty(tables.runs[""]))
    facts = Whole.stated(judged, task.conventions, lowest, lists_whole)
    of_run: Any = measured_run(judged, listed, Workload([task]), facts)
    (values,) = of_run.values
    if values.of_some.all_users:
        of_run.ids.refuse_absent()
    if facts.lists_whole and values.of_some.first_short is not None:
        raise ArgumentError(
            f"{arg.lists_whole(True)} requires lists with exactly the truth's items, but that of "
            f"user {_check.label(values.of_some.first_short)} has others. Pass False."
        )
    result = replace(values.evaluation, origin=judged.origin, protocol=stated)
    result.refuse_undefined()
    return result


def _can_be_empty(table: Any) -> Any:
    from podium.data.source import Source

    return replace(table, can_be_empty=True) if isinstance(table, Source) else table
