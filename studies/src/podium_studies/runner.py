"""Running a recipe cell by cell, with checkpoints, in one process or several."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from podium.errors import ArgumentError, ConvergenceWarning, DataError, PodiumError
from podium.progress import silent
from podium.types import Progress
from podium_studies import archive, checkpoint, checks, page
from podium_studies.cells import parts
from podium_studies.checkpoint import Checkpoint, RunPlan
from podium_studies.page import Finished
from podium_studies.recipe import Recipe, load, names
from podium_studies.study import Cells, Result, Study
from podium_studies.verdict import Verdict, judge

FOLDER = "reproduce"
"""The default folder of results; each recipe has a subfolder."""

_Timed: TypeAlias = tuple[Result, float]
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a complete run of a recipe.

    Attributes
    ----------
    done : Finished
        The recipe, its cells, figures and verdict.
    page : Path
        The path of the HTML page.
    resumed : int
        The number of cells that an earlier run had finished.
    others : int
        The number of unused cells in the checkpoint, of other parameters, data or versions.
    """

    done: Finished
    page: Path
    resumed: int
    others: int

    @property
    def verdict(self) -> Verdict:
        return self.done.verdict

    @property
    def cells(self) -> Cells:
        return self.done.cells


@dataclass(frozen=True)
class Status:
    """A recipe and its state in a folder of results."""

    recipe: Recipe
    text: str


def reproduce(
    recipe: Recipe | str,
    out: Path | str = FOLDER,
    *,
    data: Path | str | None = None,
    repeats: int | None = None,
    jobs: int = 1,
    fresh: bool = False,
    progress: Progress = silent,
) -> Outcome:
    """Run a recipe and compare its figures with those that the paper printed.

    Parameters
    ----------
    recipe : Recipe or str
        A recipe, or a name from `recipe.names`.
    out : path
        The folder of results. The files are written to ``out / recipe.name``: ``cells.jsonl``
        (the checkpoint), ``report.html``, ``table.md``, ``results.json`` and one SVG per plot.
        All except the checkpoint are written atomically at the end.
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
    folder = _prepared(Path(out) / recipe.name, paths)
    study = study_of(recipe)
    keys = list(study.cells(recipe))
    plan = RunPlan(recipe.fingerprint, _hash(recipe, checksums), recipe.repeats, len(keys))
    with contextlib.closing(Checkpoint(folder, plan, fresh=fresh)) as cell_store:
        todo = [key for key in keys if key not in cell_store.done]
        resumed = len(keys) - len(todo)
        if todo:
            note = f"resumed after {resumed} cells" if resumed else "preparing"
            progress(resumed, len(keys), note)
        finished = _finished(recipe, paths, todo, jobs)
        for n_done, (key, (result, seconds)) in enumerate(finished, resumed + 1):
            cell_store.add(key, result, seconds)
            progress(n_done, len(keys), key)
        cells = {key: cell_store.done[key] for key in keys}
    figures = study.fold(recipe, cells)
    done = Finished(
        recipe,
        cells,
        figures,
        judge(recipe, figures),
        shown=[*page.shown(study, recipe, cells, figures)],
        run=vars(plan),
        seconds=cell_store.seconds,
        checksums=checksums,
    )
    return Outcome(done, page.write(done, folder), resumed, cell_store.others)


def study_of(recipe: Recipe) -> Study:
    """Return the study of a recipe: "module", or "module:NAME" if the module has several.

    A module without a dot belongs to the paper's package.
    """
    module, _, name = recipe.study.partition(":")
    home = module if "." in module else f"podium_studies.{recipe.paper}.{module}"
    return getattr(import_module(home), name or "STUDY")


def status(out: Path | str = FOLDER) -> list[Status]:
    """Return every recipe with its state in a folder of results."""
    return [Status(recipe, _status(recipe, Path(out))) for recipe in map(load, names())]


def _status(recipe: Recipe, out: Path) -> str:
    last_run = checkpoint.last(out / recipe.name)
    if last_run is None:
        return "never run"
    plan, n_done = last_run
    if plan.fingerprint != recipe.fingerprint:
        return "run by another version"
    overall = page.finished(out / recipe.name, vars(plan))
    if overall is None:
        return f"{n_done} of {plan.cells} cells"
    repeats_note = (
        "" if plan.repeats == recipe.repeats else f" ({plan.repeats} of {recipe.repeats})"
    )
    return f"done: {overall}{repeats_note}"


def _prepared(folder: Path, paths: Mapping[str, Path]) -> Path:
    """Create the folder and check that pages can be rendered, before any cell is computed."""
    page.require_renderer()
    for path in paths.values():
        if path.resolve().is_relative_to(folder.resolve()):
            raise ArgumentError(
                f"data must be outside of {folder}, where results are written, got {path}. "
                "Pass another out."
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} can't be written: {error.strerror or error}.") from error
    return folder


def _hash(recipe: Recipe, checksums: Mapping[str, str]) -> str:
    parts = json.dumps([recipe.fingerprint, dict(checksums)], sort_keys=True)
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _finished(
    recipe: Recipe, paths: Mapping[str, Path], todo: Sequence[str], jobs: int
) -> Iterator[tuple[str, _Timed]]:
    """Yield the results of cells as they are finished."""
    if jobs > 1 and todo:
        yield from _side_by_side(recipe, paths, todo, jobs)
    elif todo:
        worker = _Worker(recipe, paths)
        yield from ((key, worker(key)) for key in todo)


def _side_by_side(
    recipe: Recipe, paths: Mapping[str, Path], todo: Sequence[str], jobs: int
) -> Iterator[tuple[str, _Timed]]:
    """Compute cells in new processes of one thread each; if one fails, the others are stopped."""
    earlier_processes = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs, len(todo)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_process,
        initargs=(recipe, dict(paths)),
    )
    try:
        with _one_thread_each():
            futures = {pool.submit(_run_cell, key): key for key in todo}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool as error:
        raise PodiumError(
            f"A process of {recipe.name} was killed, most often because memory ran out. Run it "
            "again with fewer jobs. It continues after the finished cells."
        ) from error
    finally:
        for process in set(multiprocessing.active_children()) - earlier_processes:
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _one_thread_each() -> Generator[None]:
    """Set one thread for new processes, so that they do not share cores."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _Worker:
    """A study with its data, called with the key of a cell."""

    def __init__(self, recipe: Recipe, paths: Mapping[str, Path]) -> None:
        self._recipe, self._study = recipe, study_of(recipe)
        self._context = self._study.prepare(recipe, paths)

    def __call__(self, key: str) -> _Timed:
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                # The number of iterations is the paper's; a warning per cell has no use.
                warnings.simplefilter("ignore", ConvergenceWarning)
                result = self._study.run(self._recipe, self._context, **parts(key))
        except PodiumError as error:
            raise ArgumentError(f"{self._recipe.name}, cell {key}: {error}") from error
        return result, time.perf_counter() - started


_pool_task: list[tuple[Recipe, Mapping[str, Path]]] = []  # the work of a process of a pool


def _start_process(recipe: Recipe, paths: Mapping[str, Path]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interrupts
    _pool_task[:] = [(recipe, paths)]


@functools.cache
def _worker() -> _Worker:
    """Read the data at the first cell, so that the pool returns an error to the parent."""
    return _Worker(*_pool_task[0])


def _run_cell(key: str) -> _Timed:
    return _worker()(key)
