"""Whether two runs have the same lists, as far as measures read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podium.evaluation.conventions import tasks
from podium.evaluation.shown import read_tables
from podium.metrics import Measure

if TYPE_CHECKING:
    from podium.data.storage import Storage

_LISTS = ("unjudged", "single_precision", "score_above")
"""The conventions that change what a list contains."""


def read_same_lists(
    truth: Any,
    runs: tuple[Any, Any],
    measures: Sequence[Measure],
    *,
    like: str | None,
    storage: Storage,
    options: Mapping[str, Any],
) -> bool:
    """Return whether two runs have the same lists for all users of the truth.

    The lists have the same items in the same order, with the same ties, to the depth that the
    measures read and under their conventions. The tables are read again.

    Parameters
    ----------
    truth, runs
        The tables, as in `podium.measure`.
    measures : sequence of Measure
    like : str, optional
        The package whose conventions apply.
    storage : Storage
        The limits of memory and disk.
    options : mapping
        Conventions and column names, as in `podium.data.ranking`.
    """
    from podium.data.buckets import in_buckets
    from podium.data.same_lists import have_same_lists

    wanted = list(_wanted(measures, like, options))
    by_name = {"0": runs[0], "1": runs[1]}
    with in_buckets(truth, by_name, options, storage) as buckets:
        parts = (
            [read_tables(truth, by_name, options)]
            if buckets is None
            else (buckets.rows.read(bucket) for bucket in range(buckets.n_buckets))
        )
        return all(
            have_same_lists(part, (lists["0"], lists["1"]), depth, **conventions)
            for part, lists in parts
            if part is not None
            for depth, conventions in wanted
        )


def _wanted(
    measures: Sequence[Measure], like: str | None, options: Mapping[str, Any]
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield the depth of lists and their conventions, for measures that share conventions."""
    of_relevance = [m for m in measures if m.metric.reads == "relevance"]
    of_shown = [m for m in measures if m.metric.reads != "relevance"]
    todo = tasks(of_relevance, options, undefined=None, level=0.95, interval="t", like=like)
    groups = [(task.measures, task.options) for task in todo]
    if of_shown:
        groups.append((of_shown, dict(options)))
    for group, conventions in groups:
        is_dropped = conventions.get("unretrieved") == "drop"
        depths = [None if is_dropped else _depth(measure) for measure in group]
        known = [depth for depth in depths if depth is not None]
        chosen = {name: conventions[name] for name in _LISTS if conventions.get(name) is not None}
        if is_dropped:  # also the items below it decide which relevant items count
            chosen.pop("score_above", None)
        yield max(known, default=0) if len(known) == len(depths) else None, chosen


def _depth(measure: Measure) -> int | None:
    """Return the number of items that determine the value of a list; None for the whole list."""
    if measure.k is None:
        return None
    if not measure.metric.half_pairs:
        return measure.k
    # Among 2k - 1 items, there are k negatives or all positives that pap@k reads.
    return 2 * measure.k - 1 if measure.name == "pap" else None
