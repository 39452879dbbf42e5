"""The families of inputs and their frequencies."""

from __future__ import annotations

from tests.fuzz.calls import archives, calls
from tests.fuzz.case import Family
from tests.fuzz.commands import tables_of
from tests.fuzz.fits import fits
from tests.fuzz.options import options
from tests.fuzz.saved import boosted, models

FAMILIES: dict[str, Family] = {
    "tables": tables_of,
    "options": options,
    "models": models,
    "boosted": boosted,
    "archives": archives,
    "calls": calls,
    "fits": fits,
}

# A round of inputs; the frequency of a family is its number of entries.
ROUND = (
    *("tables", "models", "tables", "options", "calls", "tables", "models", "tables"),
    *("calls", "boosted", "options", "tables", "archives", "calls", "models", "tables"),
    *("fits", "options"),
)
