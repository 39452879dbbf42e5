"""Damaged files in the format of LETOR."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.fuzz import tables
from tests.fuzz.case import Case, Corpus
from tests.fuzz.damage import spoil

from podium import data, sampled


def archives(rng: random.Random, corpus: Corpus) -> Case:
    """Return a call that reads a file of rows, most often a damaged one."""
    del corpus
    name, content, read = _svmlight(rng)
    if rng.random() < 0.7:
        content = spoil(content, rng)
    return Case(files={name: content}, call=lambda: read(name))


_Made = tuple[str, bytes, Callable[[str], Any]]


def _svmlight(rng: random.Random) -> _Made:
    rows = tables.write(tables.rows_to_learn(rng), "svmlight")

    def stream(name: str) -> None:
        for _ in data.stream_features(name, rows=10):
            pass

    read = rng.choice((data.read_features, stream, _negatives))
    return "rows.svmlight", rows, read


def _negatives(name: str) -> Any:
    return sampled.SampleReader(n_items=100, negatives=name).candidates
