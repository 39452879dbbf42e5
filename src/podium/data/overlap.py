"""The overlap of the ids of two tables: none, little, or hidden by different spellings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.data.convert import Ids
from podium.data.ids import Shared, distinct
from podium.errors import DataError, warn

_MIN_SHARE = 0.05
"""The smallest share of common ids, in the table with fewer ids, that gives no warning."""

_NUMBER = re.compile(r"^(-?)\+?0*(\d+)(?:\.0*)?$")


class Side(NamedTuple):
    """A table whose ids are compared: its role in messages, its name, and its ids."""

    role: str
    name: str
    ids: Ids

    def label(self, text: Any) -> str:
        """Return an id as it is written in this table."""
        return str(text) if isinstance(self.ids, np.ndarray) else _check.label(text)


@dataclass(frozen=True, eq=False)
class CommonIds:
    """The codes that are in both columns, only in the left one and only in the right one."""

    both: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @property
    def n_left(self) -> int:
        return self.both.size + self.left.size

    @property
    def n_right(self) -> int:
        return self.both.size + self.right.size


def common_ids(shared: Shared) -> CommonIds:
    """Return which ids are in both columns and which in one only."""
    left, right = distinct(shared.left), distinct(shared.right)
    in_both = np.isin(left, right)
    return CommonIds(left[in_both], left[~in_both], right[~np.isin(right, left)])


def check_common(
    shared: Shared, noun: str, left: Side, right: Side, *, min_share: float = _MIN_SHARE
) -> CommonIds:
    """Raise if two columns have no id in common; warn if they have few in common.

    Parameters
    ----------
    shared : Shared
        The codes of the ids.
    noun : str
        The kind of the ids: "user" or "item".
    left, right : Side
        The tables.
    min_share : float
        The threshold of the warning, as a share of the ids of the table with fewer ids. The default
        is far below the share of a short run of popular items, or of a truth of few users.

    Returns
    -------
    CommonIds
        The common and the other codes.

    Raises
    ------
    DataError
        If no id is in both.

    Warns
    -----
    PodiumWarning
        If few ids are in both, or ids of the two tables are the same number in two spellings.
    """
    common = common_ids(shared)
    report_common(shared, common, noun, left, right, min_share=min_share)
    return common


def report_common(
    shared: Shared,
    common: CommonIds,
    noun: str,
    left: Side,
    right: Side,
    *,
    n_more: int = 0,
    min_share: float = _MIN_SHARE,
) -> None:
    """Raise or warn as `check_common` does; `n_more` further ids are in both columns."""
    respelled = _respelled(shared, common)
    n_both = common.both.size + n_more
    if not n_both:
        raise DataError(_no_common(shared, noun, left, right, respelled))
    if respelled:
        n, left_id, right_id = respelled
        warn(
            f"{n} {noun} id{'s' if n > 1 else ''} of {left.name} may be in {right.name} in another "
            f"spelling of the same number, such as {left.label(left_id)} and "
            f"{right.label(right_id)}, which count as two {noun}s. Spell ids in the same way."
        )
    n_left, n_right = common.n_left + n_more, common.n_right + n_more
    if n_both < min_share * min(n_left, n_right):
        warn(
            f"Only {n_both} of the {n_left} {noun}s of {left.name} are among the {n_right} of "
            f"{right.name}. Check that both use the same {noun} ids."
        )


def _no_common(
    shared: Shared, noun: str, left: Side, right: Side, respelled: tuple[int, str, str] | None
) -> str:
    left_id, right_id = respelled[1:] if respelled else map(_smallest, (left.ids, right.ids))
    return (
        f"No {noun} is in both tables: {left.role} has {left.label(left_id)}, {right.role} has "
        f"{right.label(right_id)}. Check that {left.name} and {right.name} use the same {noun} "
        "ids in the same spelling."
    )


def _smallest(ids: Ids) -> Any:
    """Return the smallest id, which is the same for any order of rows."""
    return int(ids.min()) if isinstance(ids, np.ndarray) else ids.min()


def _respelled(shared: Shared, common: CommonIds) -> tuple[int, str, str] | None:
    """Return the number of left ids that the right table spells differently, and one such pair.

    Only numbers are compared. None means that there are no such ids.
    """
    if shared.names is None or not (common.left.size and common.right.size):
        return None
    left, right = (shared.names.gather(codes).to_list() for codes in (common.left, common.right))
    text_of_number = {_canonical(text): text for text in sorted(right, reverse=True)}
    pairs = [
        (text, text_of_number[number])
        for text in sorted(left)
        if (number := _canonical(text)) in text_of_number
    ]
    return (len(pairs), *pairs[0]) if pairs else None


def _canonical(text: str) -> str:
    """Remove blanks around an id, and leading zeros and a zero fraction of a number."""
    return _NUMBER.sub(r"\1\2", text.strip())
