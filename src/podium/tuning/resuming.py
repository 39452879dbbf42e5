"""The file of finished fits, from which an interrupted search of a recommender continues."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, cast

from podium._arrays import check_target
from podium._files import replacing
from podium._json import plain
from podium.errors import ArgumentError, DataError, arg, warn
from podium.tuning.candidates import Params
from podium.tuning.halving import Fit
from podium.tuning.results import Trial

_KIND = "podium_search"
_SAVED = ("n_groups", "seconds", "warning", "error")
_FIELDS = {
    *("candidate", "rung", "mean", "std_error", "fit_seconds", "iterations", "stop_reasons"),
    *_SAVED,
}
_PARTS = {
    "podium": "was written by another version of podium",
    "pairs": "belongs to a search with other interactions or validation pairs",
    "recommender": "belongs to a search with another recommender or other parameters",
    "space": "belongs to a search with another space",
    "measure": "belongs to a search by another measure",
    "seed": "belongs to a search with another seed",
}


class FitFile:
    """JSON lines: the identity of a search, and one line per finished fit.

    Parameters
    ----------
    path : path, optional
        The file; None keeps nothing.
    identity : dict of str
        The texts that identify the search, by the names of `_PARTS`.
    """

    def __init__(self, path: str | os.PathLike[str] | None, identity: dict[str, str]) -> None:
        self._path = None if path is None else Path(path)
        if self._path is not None:
            check_target(self._path)
        self._identity = identity
        self._lines: dict[tuple[int, int], dict[str, Any]] = {}

    def read(self) -> None:
        """Read the finished fits; warn if there is no file.

        Raises
        ------
        ArgumentError
            If no path was given.
        DataError
            If the file is damaged, or belongs to another search.
        """
        if self._path is None:
            raise ArgumentError(
                f"{arg.resume(True)} requires a checkpoint. Pass {arg.checkpoint()}PATH."
            )
        if not self._path.exists():
            warn(f"There is no checkpoint {self._path}. The search starts from the first fit.")
            return
        identity, *lines = self._parsed(self._path)
        for part, reason in _PARTS.items():
            if identity.get(part) != self._identity[part]:
                raise DataError(
                    f"checkpoint {self._path} {reason}. Pass another checkpoint, or start again "
                    f"without {arg.resume}."
                )
        self._lines = {(line["candidate"], line["rung"]): line for line in lines}

    def get(self, candidate: int, rung: int, params: Params, with_passes: Params) -> Fit | None:
        """Return a finished fit, or None; its trial gets the parameters with its passes."""
        line = self._lines.get((candidate, rung))
        if line is None:
            return None
        mean, std_error = (math.nan if line[x] is None else line[x] for x in ("mean", "std_error"))
        trial = Trial(
            candidate,
            with_passes,
            by_fold=(mean,),
            mean=mean,
            std_error=std_error,
            iterations=tuple(line["iterations"]),
            stop_reasons=tuple(line["stop_reasons"]),
            **{name: line[name] for name in _SAVED},
        )
        return Fit(candidate, rung, params, trial, line["fit_seconds"])

    def add(self, fit: Fit) -> None:
        """Replace the file by one that also has this fit."""
        trial = fit.trial
        self._lines[fit.candidate, fit.rung] = {
            "candidate": fit.candidate,
            "rung": fit.rung,
            "params": {name: str(value) for name, value in trial.params.items()},
            "mean": plain(trial.mean),
            "std_error": plain(trial.std_error),
            "fit_seconds": fit.fit_seconds,
            "iterations": trial.iterations,
            "stop_reasons": trial.stop_reasons,
            **{name: getattr(trial, name) for name in _SAVED},
        }
        if self._path is None:
            return
        lines = [{"kind": _KIND, **self._identity}, *self._lines.values()]
        with replacing(self._path) as beside:
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            beside.write_text(text, encoding="utf-8")

    def remove(self) -> None:
        """Remove the file: no fit has succeeded, so that there is nothing to continue."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _parsed(self, path: Path) -> list[dict[str, Any]]:
        try:
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            first, *others = cast("list[dict[str, Any]]", lines)
            if first["kind"] == _KIND and all(set(line) >= _FIELDS for line in others):
                return lines
        except (KeyError, TypeError, ValueError):
            pass  # the error below
        raise DataError(
            f"checkpoint {path} is damaged, or is not a file of a search. Pass another checkpoint, "
            f"or start again without {arg.resume}."
        )
