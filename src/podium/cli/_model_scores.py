"""Scores of listed candidates by a model that podium factorize wrote."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli import _messages
from podium.errors import PodiumWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.sampled import CandidatePairs as Listed


def is_model(path: Path) -> bool:
    """Whether a file begins as safetensors do: the length of a header, then the header."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(9)
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") < path.stat().st_size


def of_model(path: Path, listed: Listed, n_items: int) -> tuple[Listed, NDArray[Any]]:
    """Score the lines of users whom a model knows, and say what it does not know.

    `n_items` is the size of the catalogue that the candidates were drawn from.
    """
    from podium.recommenders import Factorization, score_candidates

    model, file = Factorization.load(path), listed.file
    pairs = (listed.user, listed.item, listed.target)
    found = score_candidates(model, *pairs, model_name=str(path), source=str(file))
    (n_users, n_known), (n_listed, n_there) = found.n_users, found.n_items
    if n_known < n_users:
        _messages.say(
            f"{file}: {n_users - n_known} of {n_users} users left out, whom {path} does not know."
        )
    if n_there < n_listed:
        _messages.say(
            f"{file}: {path} does not know {n_listed - n_there} of {n_listed} items; they rank "
            "below those it knows."
        )
    if model.n_items_ > n_items:
        warnings.warn(
            f"{path} knows {model.n_items_} items, and --items says that candidates were drawn "
            f"from {n_items}: it may be another catalogue's.",
            PodiumWarning,
            stacklevel=2,
        )
    known = listed.keep(found.rows)
    if found.n_learned:
        _messages.say(
            f"{path} has learned from {found.n_learned} of the {int(known.target.sum())} targets: "
            "they are not held out, and its measures come out too high."
        )
    return known, found.scores
