"""Reading the tables of an evaluation into common codes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium import _check
from podium.data import Truth, read_run, read_truth
from podium.data.buckets import n_rows_on_disk, of_some_users
from podium.data.columns import EVENTS, RUN, TIMESTAMP, TRUTH, VALUE
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

_CANDIDATES = ("uniform", "other")
_NO_EVENTS = Interactions(np.empty(0, np.int64), np.empty(0, np.int64))
_ROW_BYTES = 200  # bytes that the audit takes per row of its tables


def read_tables(
    train: Any,
    test: Any,
    runs: Mapping[str, Any],
    protocol: Protocol,
    *,
    candidates: str | None,
    timestamp: str | None,
    memory: int | str | None = None,
) -> Tables:
    """Read the tables into common codes of users and items; see `audit`."""
    if candidates is not None:
        _check.choice(candidates, "candidates", _CANDIDATES)
    measure, least = parse_relevance(protocol.required_measures()[0]), protocol.min_relevance
    _check_runs(runs, is_sampled=candidates is not None, has_train=train is not None)
    wanted = [
        Wanted(test, "truth", (*TRUTH, TIMESTAMP)),
        *(Wanted(run, "run", RUN) for run in runs.values()),
        *([] if train is None else [Wanted(train, "training part", EVENTS)]),
    ]
    tables = open_together(protocol, wanted, timestamp=timestamp)
    origin, others = Origin(first_kind([*tables])), [_NO_EVENTS.item] * len(tables)
    one_in = max(1, math.ceil(_ROW_BYTES * n_rows_on_disk(tables) / Storage(memory).memory))
    if one_in > 1:
        roles = [[role for role in table.roles if role is not VALUE] for table in wanted]
        some = [of_some_users(*table, one_in) for table in zip(tables, roles, strict=True)]
        tables, others = [table for table, _ in some], [items for _, items in some]
    test, *of_runs = tables[: 1 + len(runs)]
    past, past_times = (_NO_EVENTS, None) if train is None else read_pairs(tables[-1])
    truth = read_truth(test)
    times = None if past_times is None or isinstance(test, Truth) else times_of(test)
    both = None if past_times is None or times is None else (past_times, times)
    scored = [read_run(run) for run in of_runs]
    train_time, test_time = (None, None) if both is None else keys_of(*both)
    read = [past, truth, *scored]
    users = share_all([table.user for table in read])
    other_items = _NO_EVENTS.item if train is None else others[-1], others[0]
    items = share_all([*(table.item for table in read), *other_items])
    of_train, of_test, *codes = zip(users.columns, items.columns[:-2], strict=True)
    lists = zip(runs, scored, codes, strict=True)
    return Tables(
        Part(*of_train, None, train_time),
        Part(*of_test, truth.relevance, test_time),
        {name: Part(*code, run.score, is_order=run.is_order) for name, run, code in lists},
        users.labels,
        items.labels,
        Request(measure, least or 1.0, least is not None, truth.is_rating, candidates, one_in),
        (items.columns[-2], items.columns[-1]),
        None if both is None else days_to_last(both[0].values),
        None if both is None else both[0].medians_with(both[1]),
        origin,
    )


def _check_runs(runs: Any, *, is_sampled: bool, has_train: bool) -> None:
    """Raise unless runs are a mapping that has what the audit needs."""
    if not isinstance(runs, Mapping):
        raise ArgumentError(f"runs must be a mapping of names to runs, got {type(runs).__name__}.")
    if not runs and is_sampled:
        raise ArgumentError(
            f"{arg.candidates} describes the lists of runs, but there are no runs. Pass runs, or "
            f"leave {arg.candidates} out."
        )
    if POPULARITY in runs:
        raise ArgumentError(f"runs has a run named {POPULARITY!r}. Choose another name.")
    if not has_train and not runs:
        raise ArgumentError(
            "runs must hold at least one run, because there is no training part. Pass a run, or "
            "the training part."
        )
