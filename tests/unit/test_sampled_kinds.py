"""The kinds of observations that functions read, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from podium import sampled
from podium.errors import ArgumentError
from podium.sampled import SampledRanks, ScannedRanks, SharedRanks

SAMPLED: Any = SampledRanks([1, 2, 3], 9, 100, user=[1, 2, 3])
SCANNED: Any = ScannedRanks([1, 2], [3, 3], [0, 0], [4, 4], 100, k=2)
SHARED: Any = SharedRanks([0, 3, 1], 4, 100, user=["a", "a", "b"])
M: Any = "recall@2"
NINE: Any = 9
MEASURES: Any = [M, "rr"]
LIST: Any = [SCANNED, SCANNED]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sampled.evaluate(NINE, M), "ranks must be SampledRanks, SharedRanks or Scanned"),
        (lambda: sampled.evaluate(SCANNED, M, estimator="bv"), "bv cannot be used with scans"),
        (lambda: sampled.compare(SAMPLED, SCANNED, M), "one kind, got SampledRanks and ScannedR"),
        (lambda: sampled.compare_all({"a": SAMPLED, "b": SHARED}, M), "samples of one kind, got"),
        (lambda: sampled.compare_all(LIST, M), "models must be a mapping of names"),
        (lambda: sampled.plan(100, 9, M, 0.1, pilot=SCANNED), "Use plan_scan for ScannedRanks"),
        (lambda: sampled.plan_scan(SAMPLED, 9, M, 0.1), "Use plan for SampledRanks"),
        (lambda: sampled.plan(100, 9, MEASURES, 0.1), "measure must be one measure, got recall@2"),
        (lambda: sampled.plan(100, 9, M, 0.1, sizes=NINE), "sizes must be a list of numbers"),
    ],
)
def test_other_kinds_are_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(text)):
        call()
