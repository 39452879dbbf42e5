"""Scores of listed candidates by a model that podium factorize wrote."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli import _messages
from podium.errors import DataError, PodiumWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.sampled import CandidatePairs as Listed

_BLOCK = 2**16  # pairs whose factors are in memory at a time
_FEW = 0.5  # share of ids below which a model may be another data set's


def is_model(path: Path) -> bool:
    """Whether a file begins as safetensors do: the length of a header, then the header."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(9)
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") < path.stat().st_size


def of_model(path: Path, listed: Listed, n_items: int) -> tuple[Listed, NDArray[Any]]:
    """Score the lines of users whom a model knows; items that it does not know come last.

    `n_items` is the size of the catalogue that the candidates were drawn from.

    Raises
    ------
    DataError
        If the file is no factorization's, or knows none of the users, items or targets.

    Warns
    -----
    PodiumWarning
        If it knows few of the users, items or targets, or more items than there are.
    """
    from podium.factorization import RoBiRank

    model = RoBiRank.load(path)
    rows = _places(listed.user, model.user_labels_, len(model.user_factors_))
    if (rows < 0).all():
        raise _stranger(path, listed, "users", listed.user[0], model.user_labels_)
    known, rows = listed.keep(rows >= 0), rows[rows >= 0]
    columns = _places(known.item, model.item_labels_, len(model.item_factors_))
    if (columns < 0).all():
        raise _stranger(path, listed, "items", known.item[0], model.item_labels_)
    targets = known.item[known.target]
    if (columns[known.target] < 0).all():
        raise _stranger(path, listed, "targets", targets[0], model.item_labels_)
    _tell(path, listed, known, columns)
    _warn_of_others(path, listed, known, columns)
    if len(model.item_factors_) > n_items:
        _warn(
            f"{path} knows {len(model.item_factors_)} items, and --items says that candidates were "
            f"drawn from {n_items}: it may be another catalogue's."
        )
    _tell_learned(path, model, rows[known.target], columns[known.target])
    return known, _scores(model, rows, columns)


def _places(ids: NDArray[Any], labels: NDArray[Any] | None, n: int) -> NDArray[Any]:
    """Return the row of each id in a model, -1 where it knows none."""
    import numpy as np

    if labels is None:
        return np.where((ids >= 0) & (ids < n), ids, -1)
    asked = ids.astype(np.str_) if labels.dtype.kind == "U" else ids
    order = np.argsort(labels)
    place = order[np.minimum(np.searchsorted(labels, asked, sorter=order), n - 1)]
    return np.where(labels[place] == asked, place, -1)


def _stranger(path: Path, listed: Listed, what: str, first: Any, labels: Any) -> DataError:
    from podium import _check

    knows = "row numbers" if labels is None else f"such as {_check.label(labels[0])}"
    return DataError(
        f"{path} knows none of the {what} in {listed.file}, such as {first}; it knows {knows}. "
        "Fit it to pairs that have the file's numbers."
    )


def _tell(path: Path, listed: Listed, known: Listed, columns: NDArray[Any]) -> None:
    """Say what the model does not know, and what becomes of it."""
    import numpy as np

    there, kept = (np.unique(each.user).size for each in (listed, known))
    if kept < there:
        _messages.say(
            f"{listed.file}: {there - kept} of {there} users left out, whom {path} does not know."
        )
    items, strange = np.unique(known.item).size, np.unique(known.item[columns < 0]).size
    if strange:
        _messages.say(
            f"{listed.file}: {path} does not know {strange} of {items} items; they rank below "
            "those it knows."
        )


def _warn_of_others(path: Path, listed: Listed, known: Listed, columns: NDArray[Any]) -> None:
    """Warn where so few ids are the model's that they may be equal by accident."""
    import numpy as np

    there = columns >= 0
    parts = {
        "users": (listed.user, known.user),
        "items": (known.item, known.item[there]),
        "targets": (known.item[known.target], known.item[known.target & there]),
    }
    for what, ids in parts.items():
        n, n_known = (np.unique(each).size for each in ids)
        if n_known < _FEW * n:
            _warn(
                f"{path} knows only {n_known} of the {n} {what} in {listed.file}: it may be "
                "another catalogue's, or have other ids."
            )


def _warn(text: str) -> None:
    warnings.warn(text, PodiumWarning, stacklevel=4)


def _tell_learned(path: Path, model: Any, rows: NDArray[Any], columns: NDArray[Any]) -> None:
    """Say where targets are no held-out items."""
    import numpy as np

    n_items = len(model.item_factors_)
    users = np.repeat(np.arange(len(model.user_factors_)), np.diff(model.seen_offsets_))
    pairs = (users * n_items + model.seen_items_)[model.seen_weights_ > 0]
    learned = np.isin(rows * n_items + columns, pairs)
    n = int((learned & (columns >= 0)).sum())
    if n:
        _messages.say(
            f"{path} has learned from {n} of the {rows.size} targets: they are not held out, and "
            "its measures come out too high."
        )


def _scores(model: Any, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    scores = np.empty(rows.size)
    for start in range(0, rows.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        left = model.user_factors_[rows[part]].astype(np.float64)
        products = np.einsum("ij,ij->i", left, model.item_factors_[columns[part]])
        scores[part] = products + model.item_bias_[columns[part]]
    scores[columns < 0] = scores[columns >= 0].min() - 1.0
    return scores
