"""Sampled ranks of several models, compared on the same users."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from podium.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.sampled import SampledRanks

Files: TypeAlias = "Sequence[tuple[Path, SampledRanks]]"
_WHY = "Models are compared on the same users"


def same_users(files: Files) -> list[SampledRanks]:
    """Return ranks with users' labels of one type, if they are of the same users.

    Raises
    ------
    DataError
        If one file has a column of users and another has none, if their users differ, or the
        number of rows where there are no users.
    """
    import numpy as np

    from podium.sampled._request import with_labels_alike

    without = [path for path, ranks in files if ranks.user is None]
    if without and len(without) < len(files):
        raise DataError(
            f"{without[0]} has no column of users, and another file has one. {_WHY}: add it, or "
            "name it by --user-col."
        )
    if without:
        _refuse_lengths(files)
        return [ranks for _, ranks in files]
    found = with_labels_alike([ranks for _, ranks in files])
    (first, _), *others = files
    users = np.asarray(found[0].user)
    for (path, _), ranks in zip(others, found[1:], strict=True):
        theirs = np.asarray(ranks.user)
        _refuse_others(first, users, path, theirs)
        _refuse_others(path, theirs, first, users)
    return found


def _refuse_lengths(files: Files) -> None:
    first, ranks = files[0]
    for path, each in files[1:]:
        if each.n_rows != ranks.n_rows:
            raise DataError(
                f"{path} has {each.n_rows} ranks and {first} has {ranks.n_rows}, without a column "
                f"of users. {_WHY}: add one."
            )


def _refuse_others(one: Path, users: NDArray[Any], other: Path, theirs: NDArray[Any]) -> None:
    import numpy as np

    from podium import _check

    there = np.unique(users)
    lost = there[~np.isin(there, theirs)]
    if lost.size:
        raise DataError(
            f"{other} lacks {lost.size} of the {there.size} users of {one}, first "
            f"{_check.label(lost[0])}. {_WHY}: keep those that all files have."
        )
