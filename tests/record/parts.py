"""The parts of the record by the names of their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tests.record import commands, estimates, fits, scores

Parts: TypeAlias = Mapping[str, Callable[[], Iterator[tuple[str, list[str]]]]]

PARTS: Parts = {
    "losses": scores.losses,
    "metrics": scores.metrics,
    "rankers": fits.rankers,
    "recommenders": fits.recommenders,
    "sampled": estimates.sampled,
    "commands": commands.commands,
    "demo": commands.demo,
}
