"""Reading the tables of an evaluation into common codes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium import _check
from podium.data.buckets import n_rows_on_disk, of_some_users
from podium.data.columns import EVENTS, RUN, TIMESTAMP, TRUTH, VALUE
from podium.data.convert import Ids
from podium.data.frames import Origin
from podium.data.ids import share_all
from podium.data.interactions import Interactions, days_to_last, read_pairs, times_of
from podium.data.opened import Wanted, first_kind, open_together
from podium.data.storage import Storage
from podium.data.times import keys_of
from podium.decide.audit.pricing import POPULARITY
from podium.decide.audit.tables import Part, Request, Tables
from podium.errors import ArgumentError, arg
from podium.metrics.measures import parse_relevance
from podium.protocol import Protocol

_CANDIDATES = ("uniform",)
_NO_EVENTS = Interactions(np.empty(0, np.int64), np.empty(0, np.int64))
_ROW_BYTES = 200  # bytes that the audit takes per row of its tables


def read_tables(
    train: Any,
    test: Any,
    runs: Mapping[str, Any],
    protocol: Protocol,
    *,
    candidates: str | None,
    n_negatives: int | None,
    timestamp: str | None,
    memory: int | str | None = None,
) -> Tables:
    """Read the tables; see `audit`."""
    from podium import data

    parsed = parse_relevance(protocol.required_measures()[0])
    min_relevance = protocol.min_relevance
    if candidates is not None:
        _check.choice(candidates, "candidates", _CANDIDATES)
    if not isinstance(runs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"runs must be a mapping of names to runs, got {type(runs).__name__}.")
    if not runs and (candidates is not None or n_negatives is not None):
        raise ArgumentError(
            f"{arg.candidates} and {arg.n_negatives} describe the lists of runs, but there are no "
            f"runs. Pass runs, or leave {arg.candidates} and {arg.n_negatives} out."
        )
    if POPULARITY in runs:
        raise ArgumentError(f"runs has a run named {POPULARITY!r}. Choose another name.")
    n_drawn = None if n_negatives is None else _check.cutoff(n_negatives, name="n_negatives")
    if train is None and not runs:
        raise ArgumentError(
            "runs must hold at least one run, because there is no training part. Pass a run, or "
            "the training part."
        )
    to_open = [
        Wanted(test, "truth", (*TRUTH, TIMESTAMP)),
        *(Wanted(run, "run", RUN) for run in runs.values()),
    ]
    to_open += [] if train is None else [Wanted(train, "training part", EVENTS)]
    tables = open_together(protocol, to_open, timestamp=timestamp)
    storage = Storage(memory)
    one_in = math.ceil(_ROW_BYTES * n_rows_on_disk(tables) / storage.memory)
    others: list[Ids] = [_NO_EVENTS.item] * len(tables)
    if one_in > 1:
        read_roles = [[role for role in table.roles if role is not VALUE] for table in to_open]
        some = [of_some_users(*table, one_in) for table in zip(tables, read_roles, strict=True)]
        tables, others = [table for table, _ in some], [items for _, items in some]
    test, *of_runs = tables[: 1 + len(runs)]
    origin = Origin(first_kind([*tables]))
    past, past_times = (_NO_EVENTS, None) if train is None else read_pairs(tables[-1])
    other_items = _NO_EVENTS.item if train is None else others[-1], others[0]
    truth = data.read_truth(test)
    is_timed = not isinstance(test, data.Truth) and past_times is not None
    times = times_of(test) if is_timed else None
    listed = {name: data.read_run(run) for name, run in zip(runs, of_runs, strict=True)}
    read = (past, truth, *listed.values())
    users, items = (
        share_all([*ids, *others], [kind in table.whole for table in read])
        for kind, ids, others in (
            ("user", [table.user for table in read], ()),
            ("item", [table.item for table in read], other_items),
        )
    )
    request = Request(
        parsed,
        1.0 if min_relevance is None else min_relevance,
        min_relevance is not None,
        truth.is_rating,
        candidates,
        n_drawn,
        max(one_in, 1),
    )
    both = None if past_times is None or times is None else (past_times, times)
    train_time, test_time = (None, None) if both is None else keys_of(*both)
    return Tables(
        Part(users.columns[0], items.columns[0], None, train_time),
        Part(users.columns[1], items.columns[1], truth.relevance, test_time),
        {
            name: Part(users.columns[i], items.columns[i], run.score, is_order=run.is_order)
            for i, (name, run) in enumerate(listed.items(), start=2)
        },
        users.labels,
        items.labels,
        request,
        (items.columns[-2], items.columns[-1]),
        None if both is None else days_to_last(both[0].values),
        None if both is None else both[0].medians_with(both[1]),
        origin,
    )
