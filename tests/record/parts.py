"""The parts of the record by the names of their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.record import commands, estimates, fits, recipes, scores

PARTS: dict[str, Callable[[], Iterator[tuple[str, list[str]]]]] = {
    "losses": scores.losses,
    "metrics": scores.metrics,
    "rankers": fits.rankers,
    "recommenders": fits.recommenders,
    "sampled": estimates.sampled,
    "commands": commands.commands,
    "demo": commands.demo,
    "recipes": recipes.recipes,
}
