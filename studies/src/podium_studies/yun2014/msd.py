"""RoBiRank's factorization of the Million Song Dataset's taste profile: quality against seconds."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.catalogue import rank_blocks
from podium.errors import DataError
from podium.evaluation import evaluate
from podium.executors import Threads
from podium.recommenders import Factorization
from podium.report import Figure
from podium_studies import views
from podium_studies.archive import members, required
from podium_studies.cells import generator, mean, repeats, select, sweep
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study

_BLOCK = 2**16  # users per draw of held-out songs; fixed, because the draws depend on it


@dataclass(frozen=True, eq=False)
class Split:
    """Training songs and held-out songs by user; users are in order of first appearance."""

    train: csr_array[Any]
    test: csr_array[Any]


def read(lines: IO[bytes], name: str) -> csr_array[Any]:
    """Read lines of user, song and count, separated by tabs, into a matrix of play counts.

    Raises
    ------
    DataError
        If a line is malformed, if a pair is repeated, or if there are no lines.

    Notes
    -----
    Cost: about a minute and 2 GB of memory for the 48 million lines of the published file.
    """
    users: dict[bytes, int] = {}
    songs: dict[bytes, int] = {}
    user, song, count = array("i"), array("i"), array("i")
    for number, line in enumerate(lines, 1):
        try:
            user_id, song_id, plays = line.split(b"\t")
            count.append(int(plays))
        except (ValueError, OverflowError):
            raise DataError(
                f"{name}, line {number} must be user, song and count, separated by tabs, got "
                f"{line[:80].decode(errors='replace').rstrip()!r}."
            ) from None
        user.append(users.setdefault(user_id, len(users)))
        song.append(songs.setdefault(song_id, len(songs)))
    if not count:
        raise DataError(f"{name} is empty. Download it again.")
    codes = [np.frombuffer(numbers, np.int32) for numbers in (user, song)]
    return _matrix(codes[0], codes[1], np.frombuffer(count, np.int32), name)


def _matrix(
    user: NDArray[np.int32], song: NDArray[np.int32], count: NDArray[np.int32], name: str
) -> csr_array[Any]:
    if count.min() < 1:
        line = int(np.argmin(count)) + 1
        raise DataError(f"{name}, line {line}: count must be at least 1, got {count[line - 1]}.")
    shape = (int(user.max()) + 1, int(song.max()) + 1)
    plays = csr_array((count, (user, song)), shape=shape)
    n_lines = count.size
    plays.sum_duplicates()
    if plays.nnz < n_lines:
        raise DataError(f"{name} has {n_lines - plays.nnz} repeated pairs of user and song.")
    return plays


def hold_out(
    plays: csr_array[Any], share: float, draws: Callable[[int], np.random.Generator]
) -> Split:
    """Hold out a share of each user's songs, rounded down, at random.

    Parameters
    ----------
    plays : (n_users, n_items), sparse
    share : float
        The share of songs to hold out, in (0, 1).
    draws : callable
        A function from the number of a block of users to its random generator.
    """
    is_held_out = np.empty(plays.nnz, np.bool_)
    for block, first in enumerate(range(0, plays.shape[0], _BLOCK)):
        offsets = plays.indptr[first : first + _BLOCK + 1].astype(np.int64)
        sizes = np.diff(offsets)
        user = np.repeat(np.arange(sizes.size), sizes)
        order = np.lexsort((draws(block).random(user.size), user))
        rank = np.arange(user.size) - np.repeat(offsets[:-1] - offsets[0], sizes)
        part = is_held_out[offsets[0] : offsets[-1]]
        part[order] = rank < np.floor(share * sizes)[user]
    return Split(_kept(plays, ~is_held_out), _kept(plays, is_held_out))


def _kept(plays: csr_array[Any], chosen: NDArray[np.bool_]) -> csr_array[Any]:
    ends = np.concatenate([[0], np.cumsum(chosen)])[plays.indptr]
    items = plays.indices[chosen]
    return csr_array((np.ones(items.size, np.int8), items, ends), shape=plays.shape)


FILE = "train_triplets.txt"
POPULARITY = "popularity"
"""The method that recommends the most popular songs to every user."""


Factors = tuple[NDArray[np.float32], NDArray[np.float32]]
"""The factors of users and of items; their products are the scores."""


@dataclass(frozen=True, eq=False)
class Context:
    """The split, and the users on whom methods are measured, in rising order."""

    split: Split
    judged: NDArray[np.int64]


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Read the triplets, hold out songs, and draw the users on whom methods are measured."""
    (data,) = recipe.data
    path = paths[data.folder]
    member = required(members(path, data.title, data.url), FILE, path, data.url)
    with member.open() as lines:
        plays = read(lines, member.name)
    share = recipe.parameters["held_out"]
    split = hold_out(plays, share, lambda block: generator(recipe, "split", block))
    users_with_test = np.flatnonzero(np.diff(split.test.indptr))
    n_judged = min(recipe.parameters["judged"], users_with_test.size)
    drawn = generator(recipe, "judged").choice(users_with_test, n_judged, replace=False)
    return Context(split, np.sort(drawn).astype(np.int64))


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each seed, method and number of passes."""
    for seed in repeats(recipe):
        for name, method in recipe.parameters["methods"].items():
            yield from sweep(seed=[seed], method=[name], passes=method["passes"])


def run(recipe: Recipe, context: Context, seed: int, method: str, passes: int) -> Result:
    """Fit a method, and measure it on the held-out songs of the judged users."""
    settings = recipe.parameters
    train, test, judged = context.split.train, context.split.test, context.judged
    start = time.perf_counter(), time.process_time()
    if method == POPULARITY:
        users, items = _popularity(train)
    else:
        users, items = _fitted(recipe, train, method, passes, seed)
    seconds, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    scores = (users[judged], items)
    lists = rank_blocks(scores, test[judged], exclude=train[judged], depth=settings["depth"])
    evaluation = evaluate(lists, settings["measures"])
    values = {name: np.round(evaluation.values[name], 6) for name in settings["measures"]}
    return {"seconds": seconds, "cpu": cpu, **values}


def _fitted(recipe: Recipe, train: csr_array[Any], method: str, passes: int, seed: int) -> Factors:
    options: Mapping[str, Any] = recipe.parameters["methods"][method]["options"]
    model = Factorization(
        **{**recipe.parameters["model"], **options},
        n_epochs=passes,
        random_state=seed,
    )
    model.fit(train, executor=Threads(recipe.parameters["threads"]))
    ones = np.ones((train.shape[0], 1), np.float32)
    return (
        np.hstack([model.user_factors_, ones]),
        np.hstack([model.item_factors_, model.item_bias_[:, None]]),
    )


def _popularity(train: csr_array[Any]) -> Factors:
    n_users, n_items = train.shape
    n_listeners = np.bincount(train.indices, minlength=n_items).astype(np.float32)
    return np.ones((n_users, 1), np.float32), n_listeners[:, None]


Fits = Mapping[str, Mapping[int, Sequence[Result]]]
"""The results of all seeds by method and number of passes."""


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return means over judged users, and paired differences of the first method from others."""
    fits = _fits(cells)
    measures: Sequence[str] = recipe.parameters["measures"]
    figures: dict[str, Measured] = {}
    for method, by_passes in fits.items():
        for passes, results in by_passes.items():
            label = _label(method, passes)
            figures |= {f"{label}: {m}": mean(_per_user(results, m)) for m in measures}
            for name, clock in {"seconds": "seconds", "CPU seconds": "cpu"}.items():
                figures[f"{label}: {name}"] = mean(result[clock] for result in results)
    (first, first_results), *others = ((name, by[max(by)]) for name, by in fits.items())
    for name, other_results in others:
        for measure in measures:
            gaps = np.subtract(_per_user(first_results, measure), _per_user(other_results, measure))
            figures[f"{first} − {name}: {measure}"] = mean(gaps.tolist())
    return figures


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Figure]:
    """Yield all fits, the differences, and plots against threads × seconds, as on the poster."""
    fits, measures = _fits(cells), recipe.parameters["measures"]
    labels = [_label(name, n) for name, by_passes in fits.items() for n in by_passes]
    title = "Means over the judged users ± standard errors, and seconds of a complete fit"
    yield Grid(title, labels, [*measures, "seconds", "CPU seconds"], "{}: {}", digits=4)
    first, *others = fits
    title = f"{first} less another method on the same users, each with most passes"
    yield Grid(title, others, measures, f"{first} − {{}}: {{}}", digits=4, head="other")
    threads = recipe.parameters["threads"]
    for measure in measures:
        series: list[views.Row] = []
        for name, by_passes in fits.items():
            points = [_label(name, n) for n in by_passes]
            seconds = [threads * figures[f"{label}: seconds"].value for label in points]
            values = [figures[f"{label}: {measure}"].value for label in points]
            series.append(views.curve(name, seconds, values))
        yield views.lines(
            f"{measure} against threads × seconds",
            series,
            "threads × seconds of a complete fit",
            measure,
            log_x=True,
            caption="Each point is a separate fit with a step that decreases to zero over its "
            "passes, not an intermediate state of a longer fit.",
        )


def _fits(cells: Cells) -> Fits:
    fits: dict[str, dict[int, list[Result]]] = {}
    for key_parts, result in select(cells):
        by_passes = fits.setdefault(key_parts["method"], {})
        by_passes.setdefault(key_parts["passes"], []).append(result)
    return fits


def _per_user(results: Sequence[Result], measure: str) -> list[float]:
    """Return the mean over seeds for each judged user."""
    return np.mean([result[measure] for result in results], axis=0).tolist()


def _label(name: str, passes: int) -> str:
    return f"{name}, {passes} passes" if passes else name


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of quality against seconds. Times are results here, and differ between runs."""
