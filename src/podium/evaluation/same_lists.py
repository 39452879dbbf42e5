"""Whether two runs have the same lists, as far as measures read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.evaluation.shown import read_tables
from podium.metrics import Measure
from podium.protocol import Protocol
from podium.protocol.conventions import Task

if TYPE_CHECKING:
    from podium.data.columns import Columns
    from podium.data.storage import Storage


def read_same_lists(
    truth: Any,
    runs: tuple[Any, Any],
    protocol: Protocol,
    columns: Columns,
    storage: Storage,
) -> bool:
    """Return whether two runs have the same lists for all users of the truth.

    The lists have the same items in the same order, with the same ties, to the depth that the
    measures read and under their conventions. The tables are read again.

    Parameters
    ----------
    truth, runs
        The tables, as in `podium.measure`.
    protocol : Protocol
    columns : Columns
    storage : Storage
        The limits of memory and disk.
    """
    from podium.data.buckets import in_buckets
    from podium.data.same_lists import have_same_lists

    wanted = [(_depth(task), task.conventions) for task in protocol.tasks(protocol.measures)]
    by_name = {"0": runs[0], "1": runs[1]}
    with in_buckets(truth, by_name, columns._asdict(), storage) as buckets:
        parts = (
            [read_tables(truth, by_name, columns)]
            if buckets is None
            else (buckets.rows.read(bucket) for bucket in range(buckets.n_buckets))
        )
        return all(
            have_same_lists(part, (lists["0"], lists["1"]), depth, conventions)
            for part, lists in parts
            if part is not None
            for depth, conventions in wanted
        )


def _depth(task: Task) -> int | None:
    """Return the number of items that determine the values of a list; None for the whole list."""
    depths = [_depth_of(measure) for measure in task.measures]
    known = [depth for depth in depths if depth is not None]
    is_cut = task.conventions.unretrieved == "count" and len(known) == len(depths)
    return max(known, default=0) if is_cut else None


def _depth_of(measure: Measure) -> int | None:
    if measure.k is None:
        return None
    if not measure.metric.half_pairs:
        return measure.k
    # Among 2k - 1 items, there are k negatives or all positives that pap@k reads.
    return 2 * measure.k - 1 if measure.name == "pap" else None
