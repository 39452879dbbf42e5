"""The state of a fit in a file, written whole after each pass, from which a fit goes on."""

from __future__ import annotations

import os
import warnings
from dataclasses import asdict
from hashlib import blake2b
from typing import Any, cast

import numpy as np

import podium
from podium._arrays import Arrays, check_arrays, read_arrays, write_arrays
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.recommenders._pairs import Pairs
from podium.recommenders.factorization._descent import Factors, State
from podium.recommenders.factorization._parts import Settings, aligned
from podium.recommenders.factorization._passes import History, Judge

_KIND, _FORMAT = "podium_factorization_checkpoint", 1
_FACTORS = ("users", "items", "bias")


class Checkpoint:
    """A file that holds the state and the history of a fit, and of which fit they are.

    Parameters
    ----------
    path : path
    pairs, settings, judge
        Of the fit: a file of another one is refused.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        pairs: Pairs,
        settings: Settings,
        judge: Judge | None,
    ) -> None:
        self.path, self._is_judged = path, judge is not None
        self._shape, self._n_pairs = pairs.shape, pairs.items.size
        self._of: dict[str, Any] = {
            "podium": podium.__version__,
            "data": _fingerprint(pairs),
            "settings": asdict(settings),
            "eval_set": None if judge is None else _judged(judge),
        }

    def write(self, state: State, history: History) -> None:
        """Replace the file by one of this state; the old one stays if that fails."""
        arrays: Arrays = {
            "mean_costs": state.mean_costs,
            "costs": np.array(history.costs),
            "validation": np.array(history.validation),
            **_named("", state.factors),
        }
        if history.best is not None and history.best_epoch < history.n_done:
            arrays |= _named("best_", history.best)
        write_arrays(self.path, _KIND, _FORMAT, arrays, {"of": self._of})

    def read(self) -> tuple[State, History] | None:
        """Return what the file holds, or None where there is none yet.

        Raises
        ------
        DataError
            If it is of another fit, or damaged.
        """
        if not os.path.lexists(self.path):
            return None
        header, arrays = read_arrays(self.path, _KIND, _FORMAT, what="checkpoint")
        self._refuse_other(header.get("of"))
        try:
            return self._restored(arrays)
        except ArgumentError as wrong:
            raise DataError(
                f"checkpoint {os.fspath(self.path)} is none of this fit ({wrong}). Give another "
                "checkpoint, or begin anew without resume."
            ) from None

    def _restored(self, arrays: Arrays) -> tuple[State, History]:
        """Return the state and the history, once every array is as `write` left it."""
        n_done = arrays["costs"].size if "costs" in arrays else 0
        n_epochs = self._of["settings"]["n_epochs"]
        if not 1 <= n_done <= n_epochs:
            raise ArgumentError(f"costs has {n_done} passes of {n_epochs}")
        check_arrays(
            arrays,
            {
                **self._wanted(""),
                "mean_costs": ((self._n_pairs,), np.float32),
                "costs": ((n_done,), np.float64),
                "validation": ((n_done if self._is_judged else 0,), np.float64),
            },
        )
        state = State(_factors("", arrays), arrays["mean_costs"])
        history = History(costs=arrays["costs"].tolist(), validation=arrays["validation"].tolist())
        if history.validation:
            earlier = history.best_epoch < history.n_done
            check_arrays(arrays, self._wanted("best_") if earlier else {})
            history.best = _factors("best_", arrays) if earlier else state.factors.copy()
        return state, history

    def _wanted(self, prefix: str) -> dict[str, Any]:
        """Return the shape and the type of factors."""
        n_factors = self._of["settings"]["n_factors"]
        n_users, n_items = self._shape
        shapes = ((n_users, n_factors), (n_items, n_factors), (n_items,))
        names = (prefix + name for name in _FACTORS)
        return {name: (shape, np.float32) for name, shape in zip(names, shapes, strict=True)}

    def _refuse_other(self, found: Any) -> None:
        other = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        for part, what in (
            ("podium", "by podium {theirs}, and this is {ours}"),
            ("data", "of other interactions"),
            ("settings", "of other settings: {differences}"),
            ("eval_set", "of another eval_set, eval_metric or patience"),
        ):
            theirs, ours = other.get(part), self._of[part]
            if theirs != ours:
                differences = _differences(theirs, ours) if part == "settings" else ""
                told = what.format(theirs=theirs, ours=ours, differences=differences)
                raise DataError(
                    f"checkpoint {os.fspath(self.path)} is {told}. Give another checkpoint, or "
                    "begin anew without resume."
                )


def resumed(checkpoint: Checkpoint | None) -> tuple[State, History] | None:
    """Return what a fit goes on from; None, with a warning, where nothing is there yet."""
    if checkpoint is None:
        raise ArgumentError("resume wants a checkpoint to go on from. Pass checkpoint=PATH.")
    begun = checkpoint.read()
    if begun is None:
        place = os.fspath(checkpoint.path)
        warnings.warn(
            f"There is no checkpoint {place}: the fit begins anew.", PodiumWarning, stacklevel=3
        )
    return begun


def _differences(theirs: Any, ours: dict[str, Any]) -> str:
    if not isinstance(theirs, dict):
        return "they are not told"
    before = cast("dict[str, Any]", theirs)
    other = [name for name, value in ours.items() if before.get(name) != value]
    return ", ".join(f"{name} was {before.get(name)!r}, is {ours[name]!r}" for name in other)


def _fingerprint(pairs: Pairs) -> str:
    """Return what tells these pairs from others: a sum of their shape, places and weights."""
    digest = blake2b(repr((pairs.shape, pairs.scale)).encode(), digest_size=16)
    for array in (pairs.offsets, pairs.items, pairs.weights, pairs.user_labels, pairs.item_labels):
        digest.update(b"" if array is None else np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _judged(judge: Judge) -> dict[str, Any]:
    return {
        "pairs": _fingerprint(judge.pairs),
        "measure": str(judge.measure),
        "patience": judge.patience,
    }


def _named(prefix: str, factors: Factors) -> Arrays:
    return {prefix + name: getattr(factors, name) for name in _FACTORS}


def _factors(prefix: str, arrays: Arrays) -> Factors:
    users, items, bias = (arrays[prefix + name] for name in _FACTORS)
    rows = [aligned(*each.shape) for each in (users, items)]
    rows[0][:], rows[1][:] = users, items
    return Factors(rows[0], rows[1], bias)
