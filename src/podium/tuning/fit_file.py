"""The file of the finished fits of a search, with which an interrupted one continues."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from podium._arrays import check_target
from podium._files import replacing
from podium.errors import ArgumentError, DataError, arg, warn
from podium.tuning.candidates import Params
from podium.tuning.results import Trial

_KIND = "podium_search"


@dataclass(frozen=True)
class Fit:
    """A measured fit of a candidate on a rung.

    Attributes
    ----------
    candidate, rung : int
        The position of the candidate in the order of the draws, and of the rung, from 0.
    params : dict
        The parameters of the candidate, with the passes of the last rung.
    trial : Trial
    fit_seconds : float
        The part of the seconds of the trial that grows with the number of passes.
    """

    candidate: int
    rung: int
    params: Params
    trial: Trial
    fit_seconds: float


class FitFile:
    """JSON lines: the identity of a search, and one line per finished fit.

    Parameters
    ----------
    path : path, optional
        The file; None keeps nothing.
    identity : dict of str
        The texts that identify the search, by what they are of.
    """

    def __init__(self, path: str | os.PathLike[str] | None, identity: dict[str, str]) -> None:
        self._path = None if path is None else Path(path)
        if self._path is not None:
            check_target(self._path)
        self._identity = identity
        self._fits: dict[tuple[int, int], Fit] = {}

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
        identity, fits = self._parsed(self._path)
        for part, text in self._identity.items():
            if identity.get(part) != text:
                raise DataError(
                    f"checkpoint {self._path} is of a search with another {part}. Pass another "
                    f"checkpoint, or start again without {arg.resume}."
                )
        self._fits = {(fit.candidate, fit.rung): fit for fit in fits}

    def get(self, candidate: int, rung: int, params: Params, with_passes: Params) -> Fit | None:
        """Return a finished fit, or None; its trial gets the parameters with its passes."""
        fit = self._fits.get((candidate, rung))
        if fit is None:
            return None
        return replace(fit, params=params, trial=replace(fit.trial, params=with_passes))

    def add(self, fit: Fit) -> None:
        """Replace the file by one that also has this fit; there is none until a fit succeeds."""
        self._fits[fit.candidate, fit.rung] = fit
        if self._path is None or all(fit.trial.error for fit in self._fits.values()):
            return
        lines = [{"kind": _KIND, **self._identity}, *map(asdict, self._fits.values())]
        with replacing(self._path) as beside:
            text = "".join(f"{json.dumps(line, default=str)}\n" for line in lines)
            beside.write_text(text, encoding="utf-8")

    def _parsed(self, path: Path) -> tuple[dict[str, Any], list[Fit]]:
        try:
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            first, *others = cast("list[dict[str, Any]]", lines)
            if first["kind"] == _KIND:
                return first, [_fit(**line) for line in others]
        except (KeyError, TypeError, ValueError):
            pass  # the error below
        raise DataError(
            f"checkpoint {path} is damaged, or is not a file of a search. Pass another checkpoint, "
            f"or start again without {arg.resume}."
        )


def _fit(*, trial: dict[str, Any], **others: Any) -> Fit:
    return Fit(trial=Trial(**trial), **others)
