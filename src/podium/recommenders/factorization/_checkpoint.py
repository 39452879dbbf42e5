"""Checkpoints: the state of a fit in a file that is replaced after each pass, to resume from."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import Any, cast

import numpy as np

import podium
from podium._arrays import Arrays, ArraySpecs, check_arrays, read_arrays, write_arrays
from podium.errors import ArgumentError, DataError, arg, warn
from podium.recommenders._pairs import Pairs
from podium.recommenders.factorization._descent import Factors, State
from podium.recommenders.factorization._passes import History, Validation
from podium.recommenders.factorization._settings import Settings

_KIND, _FORMAT = "podium_factorization_checkpoint", 2
_FACTORS = ("users", "items", "bias")


class Checkpoint:
    """A file with the state and the history of a fit, and with data that identify the fit.

    Parameters
    ----------
    path : path
        The file.
    pairs, settings, validation
        The pairs, settings and validation of the fit. A file of another fit is refused.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        pairs: Pairs,
        settings: Settings,
        validation: Validation | None,
    ) -> None:
        self.path = path
        self._pairs, self._settings = pairs, settings
        self._identity: dict[str, Any] = {
            "podium": podium.__version__,
            "data": _fingerprint(pairs),
            "eval_set": None if validation is None else _validation_identity(validation),
            **vars(settings),
            "loss": str(settings.loss),
        }

    def write(self, state: State, history: History) -> None:
        """Replace the file by one with this state; if that fails, the old file stays."""
        arrays: Arrays = {
            "states": state.states,
            "costs": np.array(history.costs),
            "validation": np.array(history.validation),
            **_with_prefix("", state.factors),
        }
        if history.best is not None and history.best_epoch < history.n_done:
            arrays |= _with_prefix("best_", history.best)
        write_arrays(self.path, _KIND, _FORMAT, arrays, {"of": self._identity})

    def read(self) -> tuple[State, History] | None:
        """Return the state and history in the file; None, with a warning, if there is no file.

        Raises
        ------
        DataError
            If the file belongs to another fit or is damaged.
        """
        if not os.path.lexists(self.path):
            path = os.fspath(self.path)
            warn(f"There is no checkpoint {path}. The fit starts from the first pass.")
            return None
        header, arrays = read_arrays(self.path, _KIND, _FORMAT, noun="checkpoint")
        saved = header.get("of")
        self._refuse_other_fit(cast("dict[str, Any]", saved) if isinstance(saved, dict) else {})
        try:
            return self._restored(arrays)
        except ArgumentError as error:
            raise self._refusal(f"is not of this fit ({error})") from None

    def _restored(self, arrays: Arrays) -> tuple[State, History]:
        """Return the state and the history, after shapes and types are checked."""
        n_done = min(max(arrays.get("costs", np.empty(0)).size, 1), self._settings.n_epochs)
        n_validated = 0 if self._identity["eval_set"] is None else n_done
        specs: ArraySpecs = {
            "costs": ((n_done,), np.float64),
            "validation": ((n_validated,), np.float64),
            "states": (self._pairs.items.shape, np.float32),
            **self._factor_specs(""),
        }
        check_arrays(arrays, specs)
        state = State(_factors("", arrays), arrays["states"])
        history = History(costs=arrays["costs"].tolist(), validation=arrays["validation"].tolist())
        if history.validation:
            best_is_earlier = history.best_epoch < history.n_done
            check_arrays(arrays, self._factor_specs("best_") if best_is_earlier else {})
            history.best = _factors("best_", arrays) if best_is_earlier else state.factors.copy()
        return state, history

    def _factor_specs(self, prefix: str) -> ArraySpecs:
        """Return the shapes and types of the arrays of `_FACTORS`."""
        n_users, n_items = self._pairs.shape
        shapes = *((n, self._settings.n_factors) for n in (n_users, n_items)), (n_items,)
        return {
            prefix + name: (shape, np.float32) for name, shape in zip(_FACTORS, shapes, strict=True)
        }

    def _refuse_other_fit(self, saved: dict[str, Any]) -> None:
        differ = {
            name: f"{arg[name]} was {saved.get(name)!r}, is {value!r}"
            for name, value in self._identity.items()
            if saved.get(name) != value
        }
        owners = {
            "podium": f"podium {saved.get('podium')}, and this is podium {podium.__version__}",
            "data": "a fit with other interactions",
            "eval_set": f"a fit with another {arg.eval_set}, seen, {arg.eval_metric} or "
            f"{arg.patience}",
        }
        if differ:
            settings = f"a fit with other settings: {', '.join(differ.values())}"
            owner = next((owners[part] for part in owners if part in differ), settings)
            raise self._refusal(f"belongs to {owner}")

    def _refusal(self, reason: str) -> DataError:
        return DataError(
            f"checkpoint {os.fspath(self.path)} {reason}. Pass another checkpoint, or start again "
            f"without {arg.resume}."
        )


def resumed(checkpoint: Checkpoint | None) -> tuple[State, History] | None:
    """Return what to continue from, see `Checkpoint.read`; raise without a checkpoint."""
    if checkpoint is None:
        raise ArgumentError(
            f"{arg.resume(True)} requires a checkpoint. Pass {arg.checkpoint()}PATH."
        )
    return checkpoint.read()


def _fingerprint(pairs: Pairs) -> str:
    """Return a digest that identifies the pairs by their shape, items, weights and labels."""
    digest = blake2b(repr((pairs.shape, pairs.scale)).encode(), digest_size=16)
    for array in (pairs.offsets, pairs.items, pairs.weights, pairs.user_labels, pairs.item_labels):
        digest.update(b"" if array is None else np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _validation_identity(validation: Validation) -> dict[str, Any]:
    return {
        "pairs": _fingerprint(validation.pairs),
        "seen": _fingerprint(validation.seen),
        "measure": str(validation.measure),
        "patience": validation.patience,
    }


def _with_prefix(prefix: str, factors: Factors) -> Arrays:
    return {prefix + name: vars(factors)[name] for name in _FACTORS}


def _factors(prefix: str, arrays: Arrays) -> Factors:
    return Factors(*(arrays[prefix + name] for name in _FACTORS)).copy()
