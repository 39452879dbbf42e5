"""RoBiRank's factorization of the Million Song Dataset's taste profile: quality against seconds."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.errors import DataError
from podium.executors import Threads
from podium.recommenders import Factorization, Popularity
from podium.report import Figure
from podium_studies import archive, views
from podium_studies.archive import Context, Matrix
from podium_studies.cells import generator, mean, repeats, results, sweep
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study
from podium_studies.yun2014.fits import measured


def read(lines: IO[bytes], name: str) -> Matrix:
    """Read lines of user, song and count, separated by tabs, into a matrix of ones.

    Notes
    -----
    Cost: about a minute and 2 GB of memory for the 48 million lines of the published file.
    """
    users: dict[bytes, int] = {}
    songs: dict[bytes, int] = {}
    user, song = array("i"), array("i")
    for line in lines:
        try:
            user_id, song_id, _ = line.split(b"\t")
        except ValueError:
            raise DataError(
                f"{name}, line {len(user) + 1} must be user, song and count, separated by tabs."
            ) from None
        user.append(users.setdefault(user_id, len(users)))
        song.append(songs.setdefault(song_id, len(songs)))
    codes = np.frombuffer(user, np.int32), np.frombuffer(song, np.int32)
    plays: Matrix = csr_array((np.ones(len(user), np.int8), codes), shape=(len(users), len(songs)))
    plays.sum_duplicates()
    return plays


FILE = "train_triplets.txt"
POPULARITY = "popularity"
"""The method that recommends the most popular songs to every user."""


Judged: TypeAlias = tuple[Context, NDArray[np.int64]]
"""The parts of the pairs, and the users on whom methods are measured."""


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Judged:
    """Read the triplets, hold out songs, and draw the users on whom methods are measured."""
    (data,) = recipe.data
    (file,) = archive.find(paths[data.folder], data, FILE)
    with file.open() as lines:
        plays = read(lines, file.name)
    share = recipe.parameters["held_out"]
    parts = archive.hold_out(plays, share, lambda block: generator(recipe, "split", block))
    users_with_test = np.flatnonzero(np.diff(parts.test.indptr))
    n_judged = min(recipe.parameters["judged"], users_with_test.size)
    drawn = generator(recipe, "judged").choice(users_with_test, n_judged, replace=False)
    return parts, np.sort(drawn).astype(np.int64)


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each seed, method and number of passes."""
    for seed in repeats(recipe):
        for name, method in recipe.parameters["methods"].items():
            yield from sweep(seed=[seed], method=[name], passes=method["passes"])


def run(recipe: Recipe, context: Judged, seed: int, method: str, passes: int) -> Result:
    """Fit a method, and measure it on the held-out songs of the judged users."""
    settings, (parts, judged) = recipe.parameters, context
    options = {**settings["model"], **settings["methods"][method]["options"]}

    def fit(train: Matrix) -> Any:
        if method == POPULARITY:
            return Popularity().fit(train)
        model = Factorization(**options, n_epochs=passes, random_state=seed)
        return model.fit(train, executor=Threads(settings["threads"]))

    names, depth = settings["measures"], settings["depth"]
    found = measured(fit, parts.train, parts.test, names, depth, judged)
    values: dict[str, Any] = {name: found["values"][name].round(6) for name in names}
    return {"seconds": found["clock"], "cpu": found["seconds"], **values}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return means over judged users, and paired differences of the first method from others."""
    measures: Sequence[str] = recipe.parameters["measures"]
    figures: dict[str, Measured] = {}
    for method, passes in _fits(recipe):
        fits, label = results(cells, method=method, passes=passes), _label(method, passes)
        figures |= {f"{label}: {m}": mean(_per_user(fits, m)) for m in measures}
        for name, clock in {"seconds": "seconds", "CPU seconds": "cpu"}.items():
            figures[f"{label}: {name}"] = mean(fit[clock] for fit in fits)
    most = {method: results(cells, method=method, passes=n) for method, n in _fits(recipe)}
    first, *others = most
    for name in others:
        for measure in measures:
            gaps = _per_user(most[first], measure) - _per_user(most[name], measure)
            figures[f"{first} − {name}: {measure}"] = mean(gaps)
    return figures


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid | Figure]:
    """Yield all fits, the differences, and plots against threads × seconds, as on the poster."""
    measures, threads = recipe.parameters["measures"], recipe.parameters["threads"]
    labels = [_label(*fit) for fit in _fits(recipe)]
    title = "Means over the judged users ± standard errors, and seconds of a complete fit"
    yield Grid(title, labels, [*measures, "seconds", "CPU seconds"], "{}: {}", digits=4)
    first, *others = recipe.parameters["methods"]
    title = f"{first} less another method on the same users, each with most passes"
    yield Grid(title, others, measures, f"{first} − {{}}: {{}}", digits=4, head="other")
    caption = "Each point is a separate fit with a step that decreases to zero over its passes, "
    caption += "not an intermediate state of a longer fit."
    for measure in measures:
        series: list[views.Row] = []
        for name in recipe.parameters["methods"]:
            points = [_label(*fit) for fit in _fits(recipe) if fit[0] == name]
            seconds = [threads * figures[f"{label}: seconds"].value for label in points]
            values = [figures[f"{label}: {measure}"].value for label in points]
            series.append(views.curve(name, seconds, values))
        title, clock = f"{measure} against threads × seconds", "threads × seconds of a complete fit"
        yield views.lines(title, (clock, measure), series, log_x=True, caption=caption)


def _fits(recipe: Recipe) -> list[tuple[str, int]]:
    """Return each method with each of its numbers of passes, the most at last."""
    methods = recipe.parameters["methods"].items()
    return [(name, passes) for name, method in methods for passes in sorted(method["passes"])]


def _per_user(fits: Sequence[Result], measure: str) -> NDArray[np.float64]:
    """Return the mean over seeds for each judged user."""
    return np.mean([fit[measure] for fit in fits], axis=0)


def _label(name: str, passes: int) -> str:
    return f"{name}, {passes} passes" if passes else name


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of quality against seconds. Times are results here, and differ between runs."""
