"""Running a recipe cell by cell, with checkpoints, in one process or several."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from podium.data.appending import writing
from podium.errors import ArgumentError, ConvergenceWarning, DataError, PodiumError
from podium.progress import silent
from podium.report import check_installed
from podium.types import Progress
from podium_studies import archive, checks, page
from podium_studies.cells import parts
from podium_studies.recipe import load, names
from podium_studies.study import Recipe, Result, Study
from podium_studies.verdict import judge

FOLDER, FILE = "reproduce", "cells.jsonl"
"""The default folder of results; each recipe has a subfolder."""

_Finished: TypeAlias = tuple[str, Result, float]
"""The key of a cell, its result, and the seconds that it took."""


def reproduce(
    recipe: Recipe | str,
    out: Path | str = FOLDER,
    *,
    data: Path | str | None = None,
    repeats: int | None = None,
    jobs: int = 1,
    fresh: bool = False,
    progress: Progress = silent,
) -> page.Outcome:
    """Run a recipe and compare its figures with those that the paper printed.

    Parameters
    ----------
    recipe : Recipe or str
        A recipe, or a name from `recipe.names`.
    out : path
        The folder of results. The files are written to ``out / recipe.name``: ``cells.jsonl``
        (the checkpoint), ``report.html``, ``results.json`` and one SVG per plot. All except the
        checkpoint are written atomically at the end.
    data : path, optional
        The folder that contains the recipe's data sets, or the data set itself.
    repeats : int, optional
        The number of seeded repeats, instead of the recipe's number.
    jobs : int
        The number of processes that compute cells in parallel.
    fresh : bool
        Whether to delete the cells that earlier runs finished.
    progress : callable
        A function called as ``progress(done, total, note)``.

    Returns
    -------
    Outcome

    Raises
    ------
    ArgumentError, DataError
        If the recipe is unknown, if data are absent or differ from the recipe's, or if a cell
        fails.
    MissingExtraError
        If jinja2, the extra ``report``, is not installed.

    Notes
    -----
    Every cell is written to disk when it is finished. A run that was interrupted or killed, or
    that has more repeats than the last one, continues with the remaining cells. Neither
    interruptions nor `jobs` change the result.

    Examples
    --------
    >>> reproduce("pap-table1", "results").verdict.overall  # doctest: +SKIP
    'reproduced'
    """
    recipe = (load(recipe) if isinstance(recipe, str) else recipe).repeated(repeats)
    jobs = checks.cutoff(jobs, name="jobs")
    paths, checksums = archive.locate(recipe, None if data is None else Path(data))
    check_installed()
    folder = Path(out) / recipe.name
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    study = study_of(recipe)
    keys = list(study.cells(recipe))
    inputs = json.dumps([recipe.fingerprint, checksums], sort_keys=True)
    run_hash = hashlib.sha256(inputs.encode()).hexdigest()[:16]
    store = Checkpoint(folder, run_hash, fresh=fresh)
    todo = [key for key in keys if key not in store.done]
    resumed = len(keys) - len(todo)
    if todo:
        progress(resumed, len(keys), f"resumed after {resumed} cells" if resumed else "preparing")
        for n_done, cell in enumerate(_finished(recipe, paths, todo, jobs), resumed + 1):
            store.add(*cell)
            progress(n_done, len(keys), cell[0])
    cells = {key: store.done[key] for key in keys}
    figures = study.fold(recipe, cells)
    verdict, shown = judge(recipe, figures), [*page.shown(study, recipe, cells, figures)]
    outcome = page.Outcome(
        recipe, folder, cells, verdict, shown, store.seconds, checksums, resumed, store.others
    )
    page.write(outcome)
    return outcome


def study_of(recipe: Recipe) -> Study:
    """Return the study of a recipe: "module", or "module:NAME" if the module has several.

    A module without a dot belongs to the paper's package.
    """
    module, _, name = recipe.study.partition(":")
    home = module if "." in module else f"podium_studies.{recipe.paper}.{module}"
    return getattr(import_module(home), name or "STUDY")


def status(out: Path | str = FOLDER) -> list[tuple[Recipe, str]]:
    """Return every recipe with its state in a folder of results."""
    return [(recipe, _status(recipe, Path(out) / recipe.name)) for recipe in map(load, names())]


def _status(recipe: Recipe, folder: Path) -> str:
    stored = page.stored(folder)
    if stored is None:
        return "begun" if (folder / FILE).exists() else "never run"
    if stored.get("fingerprint") != recipe.fingerprint:
        return "run by another version"
    repeats = stored["repeats"]
    note = "" if repeats == recipe.repeats else f" ({repeats} of {recipe.repeats})"
    return f"done: {stored['verdict']['overall']}{note}"


def _finished(
    recipe: Recipe, paths: Mapping[str, Path], todo: Sequence[str], jobs: int
) -> Iterator[_Finished]:
    """Yield cells as they are finished, by this process or by others of one thread each."""
    joblib = import_module("joblib")
    started = time.time()  # processes of an earlier run read their data again
    try:
        if jobs == 1:
            context = study_of(recipe).prepare(recipe, paths)
            yield from (_run(recipe, context, key) for key in todo)
            return
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            options = {"batch_size": 1, "return_as": "generator_unordered"}
            pool = joblib.Parallel(min(jobs, len(todo)), **options)
            run = joblib.delayed(_in_process)
            yield from pool(run(recipe, paths, key, started) for key in todo)
    except BrokenProcessPool as error:
        raise PodiumError(
            f"A process of {recipe.name} was killed, most often because memory ran out. Run it "
            "again with fewer jobs or smaller settings. It continues after the finished cells."
        ) from error


_contexts: dict[float, Any] = {}  # the data that this process has read, by the start of the run


def _in_process(recipe: Recipe, paths: Mapping[str, Path], key: str, started: float) -> _Finished:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interrupts
    if started not in _contexts:
        _contexts.clear()
        _contexts[started] = study_of(recipe).prepare(recipe, paths)
    return _run(recipe, _contexts[started], key)


def _run(recipe: Recipe, context: Any, key: str) -> _Finished:
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            # The number of iterations is the paper's; a warning per cell has no use.
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = study_of(recipe).run(recipe, context, **parts(key))
    except PodiumError as error:
        raise ArgumentError(f"{recipe.name}, cell {key}: {error}") from error
    return key, result, time.perf_counter() - started


class Checkpoint:
    """The finished cells of one hash, and the file to which new cells are appended."""

    def __init__(self, folder: Path, run_hash: str, *, fresh: bool = False) -> None:
        self._path, self._hash = folder / FILE, run_hash
        if fresh:
            self._path.unlink(missing_ok=True)
        cells = [record for record in _records(self._path) if "cell" in record]
        used = [record for record in cells if record["hash"] == run_hash]
        self.seconds = sum(record["seconds"] for record in used)
        self.done = {record["cell"]: record["result"] for record in used}
        self.others = len(cells) - len(used)
        if self._path.exists():  # the next record starts on a new line
            os.truncate(self._path, sum(map(len, _whole_lines(self._path))))

    def add(self, cell: str, result: Mapping[str, Any], seconds: float) -> None:
        """Append a finished cell to the file; `done` has it as a later run will read it."""
        record = {"hash": self._hash, "cell": cell, "seconds": round(seconds, 3), "result": result}
        text = json.dumps(record, ensure_ascii=False, default=lambda array: array.tolist())
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(f"{text}\n")
        self.done[cell] = json.loads(text)["result"]
        self.seconds += seconds


def _whole_lines(path: Path) -> list[bytes]:
    """Return the lines of a file without an incomplete last one, from a killed process."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith(b"\n")]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_whole_lines(path), 1):
        try:
            yield json.loads(line)
        except ValueError:
            raise DataError(
                f"{path}: line {number} is damaged, or is not a finished cell. Delete the file, or "
                "pass fresh=True."
            ) from None
