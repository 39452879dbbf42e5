"""Each kind of ranks has functions of its own, and other functions name them."""

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
        (lambda: sampled.evaluate(SCANNED, M), "got ScannedRanks. Use evaluate_scan"),
        (lambda: sampled.evaluate(SHARED, M), "got SharedRanks. Use evaluate_shared"),
        (lambda: sampled.evaluate_scan(SAMPLED, M), "got SampledRanks. Use evaluate for"),
        (lambda: sampled.evaluate_shared(SAMPLED, M), "shared must be SharedRanks, got Sampled"),
        (lambda: sampled.compare(SAMPLED, SCANNED, M), "b must be SampledRanks, got ScannedRanks"),
        (lambda: sampled.compare_all({"a": SAMPLED, "b": SHARED}, M), "models['b'] must be Sampl"),
        (lambda: sampled.compare_scans({"a": SHARED, "b": SCANNED}, M), "Use compare_shared for"),
        (lambda: sampled.compare_shared({"a": SHARED, "b": SAMPLED}, M), "Use compare_all for"),
        (lambda: sampled.plan(100, 9, M, 0.1, pilot=SCANNED), "Use plan_scan for ScannedRanks"),
        (lambda: sampled.plan_scan(SAMPLED, 9, M, 0.1), "Use plan for SampledRanks"),
        (lambda: sampled.plan(100, 9, MEASURES, 0.1), "measure must be one measure, got recall@2"),
        (lambda: sampled.plan(100, 9, M, 0.1, sizes=NINE), "sizes must be a list of numbers"),
        *(
            (lambda compare=compare: compare(LIST, M), "models must be a mapping of names")
            for compare in (sampled.compare_all, sampled.compare_scans, sampled.compare_shared)
        ),
    ],
)
def test_other_kinds_are_refused_with_their_function(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(text)):
        call()
