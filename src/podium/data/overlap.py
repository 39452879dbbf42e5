"""How the ids of two tables meet: not at all, hardly, or written in two ways."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.data.convert import Ids
from podium.data.ids import Shared, distinct
from podium.errors import DataError, PodiumWarning

_FEW = 0.05
"""Of the table with fewer ids, the share in both from which two tables are of the same ids."""

_NUMBER = re.compile(r"^(-?)\+?0*(\d+)(?:\.0*)?$")


class Side(NamedTuple):
    """A table whose ids are compared: what it is to a reader, its name in messages, its ids."""

    role: str
    name: str
    ids: Ids

    def label(self, text: Any) -> str:
        """Return an id as it stands in this table."""
        return str(text) if isinstance(self.ids, np.ndarray) else _check.label(text)


@dataclass(frozen=True, eq=False)
class Met:
    """Codes that are in both columns, in the left one only and in the right one only."""

    both: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @property
    def n_left(self) -> int:
        return self.both.size + self.left.size

    @property
    def n_right(self) -> int:
        return self.both.size + self.right.size


def meet(shared: Shared) -> Met:
    """Tell which ids are in both columns."""
    left, right = distinct(shared.left), distinct(shared.right)
    in_both = np.isin(left, right)
    return Met(left[in_both], left[~in_both], right[~np.isin(right, left)])


def check_met(shared: Shared, what: str, left: Side, right: Side, *, few: float = _FEW) -> Met:
    """Refuse two columns without an id in common; warn where the ids hardly meet.

    Parameters
    ----------
    shared : Shared
    what : str
        What an id is of: "user" or "item".
    left, right : Side
        The tables.
    few : float
        Share of the ids of the table with fewer of them below which their number in both is
        told. A short run of popular items, or a truth of few users, is far above a twentieth.

    Raises
    ------
    DataError
        If no id is in both.
    """
    met = meet(shared)
    twins = _twins(shared, met)
    if not met.both.size:
        raise DataError(_no_common(shared, what, left, right, twins))
    if twins:
        n, one, other = twins
        warnings.warn(
            f"{n} {what} id{'s' if n > 1 else ''} of {left.name} may be in {right.name} under "
            f"another form of the same number, as {left.label(one)} and {right.label(other)}, "
            f"which count as two {what}s. Write ids alike.",
            PodiumWarning,
            stacklevel=4,
        )
    if met.both.size < few * min(met.n_left, met.n_right):
        warnings.warn(
            f"{met.both.size} of the {met.n_left} {what}s of {left.name} are among the "
            f"{met.n_right} of {right.name}. Check that both use the same {what} ids.",
            PodiumWarning,
            stacklevel=4,
        )
    return met


def _no_common(
    shared: Shared, what: str, left: Side, right: Side, twins: tuple[int, str, str] | None
) -> str:
    one, other = twins[1:] if twins else (shared.label(c[0]) for c in (shared.left, shared.right))
    return (
        f"No {what} is in both: {left.role} has {left.label(one)}, {right.role} "
        f"{right.label(other)}. Check that {left.name} and {right.name} use the same {what} ids, "
        "written alike."
    )


def _twins(shared: Shared, met: Met) -> tuple[int, str, str] | None:
    """Return how many ids of the left are numbers that the right writes otherwise, and a pair."""
    if shared.names is None or not (met.left.size and met.right.size):
        return None
    left, right = (shared.names.gather(codes).to_list() for codes in (met.left, met.right))
    known = {_bare(text): text for text in reversed(right)}
    pairs = [(text, known[bare]) for text in left if (bare := _bare(text)) in known]
    return (len(pairs), *pairs[0]) if pairs else None


def _bare(text: str) -> str:
    """Leave out blanks around an id, and leading zeros and a fraction of 0 of a number."""
    return _NUMBER.sub(r"\1\2", text.strip())
