"""Whether two runs have the same lists, as far as measures read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from podium.metrics import Measure
from podium.protocol import Conventions, Protocol
from podium.protocol.conventions import Task

if TYPE_CHECKING:
    from podium.data import Truth
    from podium.data.opened import Tables
    from podium.data.storage import Storage


def read_same_lists(tables: Tables, protocol: Protocol, storage: Storage) -> bool:
    """Return whether the runs "base" and "candidate" have the same lists for all users.

    The lists have the same items in the same order, with the same ties, to the depth that the
    measures read and under their conventions. Tables that are not in memory are read again.

    Parameters
    ----------
    tables : Tables
    protocol : Protocol
    storage : Storage
        The limits of memory and disk.
    """
    from podium.data.buckets import in_parts

    depths = [(_depth(task), task.conventions) for task in protocol.tasks(protocol.measures)]
    with in_parts(tables, storage) as parts:
        return all(parts.map(_has_same_lists, depths))


def _has_same_lists(
    truth: Truth, runs: Mapping[str, Any], depths: Sequence[tuple[int | None, Conventions]]
) -> bool:
    from podium.data.lists import same_lists
    from podium.data.runs import read_run

    two = read_run(runs["base"]), read_run(runs["candidate"])
    return all(same_lists(truth, two, conventions, depth) for depth, conventions in depths)


def _depth(task: Task) -> int | None:
    """Return the number of items that determine the values of a list; None for the whole list."""
    depths = [_depth_of(measure) for measure in task.measures]
    return None if None in depths else max(filter(None, depths), default=0)


def _depth_of(measure: Measure) -> int | None:
    if measure.k is None:
        return None
    if not measure.metric.half_pairs:
        return measure.k
    # Among 2k - 1 items, there are k negatives or all positives that pap@k reads.
    return 2 * measure.k - 1 if measure.name == "pap" else None
