"""Pairs of users and items in two parts, and fits that are measured on the part left out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.catalogue import rank_blocks
from podium.data import splits
from podium.errors import DataError
from podium.evaluation import evaluate
from podium_studies import archive, views
from podium_studies.cells import mean
from podium_studies.study import DataSet, Figures, Grid, Measured, Recipe

_NEAREST = 6  # methods per figure


def read(recipe: Recipe, paths: Mapping[str, Path]) -> archive.Context:
    """Read or draw the two parts of the pairs, as the recipe's parameters say.

    ``format`` is "split" for published parts, or a name in `FORMATS`. ``shape`` contains the
    expected numbers of users, items, training pairs and test pairs; [] disables the check.
    """
    (source,) = recipe.data
    place, settings = paths[source.folder], recipe.parameters
    if settings["format"] == "split":
        context = _published(place, source)
    else:
        user, item = archive.numbered(*FORMATS[settings["format"]](place, source))
        is_kept = np.bincount(user)[user] >= settings["least"]
        user, item = archive.numbered(user[is_kept], item[is_kept])
        context = split(user, item, settings["test"], settings["split_seed"])
    shape = [*context.train.shape, context.train.nnz, context.test.nnz]
    if settings["shape"] not in ([], shape):
        raise DataError(
            f"{place} has {shape} users, items, training pairs and test pairs, which is not "
            f"{source.title}. Download it from {source.url}."
        )
    return context


def split(
    user: archive.Ints,
    item: archive.Ints,
    share: float,
    seed: int,
    shape: tuple[int, int] | None = None,
) -> archive.Context:
    """Divide pairs at random, with this share of each user's pairs to measure on."""
    shape = shape or (int(user.max()) + 1, int(item.max()) + 1)
    drawn = splits.random(user.size, user=user, test=share, seed=seed)
    parts = (drawn.train, drawn.test)
    return archive.Context(*(archive.matrix(user[rows], item[rows], shape) for rows in parts))


def _published(place: Path, source: DataSet) -> archive.Context:
    """Return the published parts; test pairs that are also training pairs are left out."""
    parts = [*map(archive.lists, archive.find(place, source, "train.txt", "test.txt"))]
    users, items = (np.unique(np.concatenate(ids)) for ids in zip(*parts, strict=True))
    shape = users.size, items.size
    codes = ((np.searchsorted(users, user), np.searchsorted(items, item)) for user, item in parts)
    train, test = (archive.matrix(*pairs, shape) for pairs in codes)
    for part in (train, test):
        part.data[:] = 1.0  # the matrix has summed repeated pairs
    only_test = test - test.multiply(train)
    only_test.eliminate_zeros()
    return archive.Context(train, sparse.csr_array(only_test))


def _ratings(place: Path, source: DataSet) -> archive.Pairs:
    """Read the publisher's ratings, or a file that contains only the pairs."""
    file = archive.pick(archive.members(place, source.title, source.url), ["pairs.csv"])
    if file is not None:
        return archive.pairs(file, b",", skip=1)
    (file,) = archive.find(place, source, "ratings.dat")
    return archive.pairs(file, b"::")


FORMATS: dict[str, Callable[[Path, DataSet], archive.Pairs]] = {
    "movielens-1m": _ratings,
    "citeulike-a": archive.counted,
    "movietweetings": _ratings,
}
"""Readers of pairs without a published split, by name."""


def measured(
    fit: Callable[[archive.Matrix], Any],
    train: archive.Matrix,
    test: archive.Matrix,
    measures: Iterable[str],
    depth: int,
    users: NDArray[np.int64] | None = None,
) -> dict[str, Any]:
    """Fit a model, and measure its lists for users with test pairs, or for some of them.

    Returns
    -------
    dict
        "seconds" and "clock": processor and elapsed time of the fit; "means" of the measures, and
        their "values" by user.
    """
    cpu, clock = time.process_time(), time.perf_counter()
    model = fit(train)
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    users = np.flatnonzero(np.diff(test.indptr)) if users is None else users
    lists = rank_blocks(model.as_scores(users), test[users], exclude=train[users], depth=depth)
    evaluation = evaluate(lists, measures)
    found = {"means": evaluation.means, "values": evaluation.values}
    return {"seconds": cpu, "clock": clock, **found}


def levels(runs: Mapping[str, Any], measures: Iterable[str], times: Mapping[str, str]) -> Figures:
    """Return the means over seeds of each method's measures and times, by their names."""
    figures: dict[str, Measured] = {}
    for name, run in runs.items():
        figures |= {f"{name} {measure}": mean(run["means"][measure]) for measure in measures}
        figures |= {f"{name}, {title}": mean(run[time]) for title, time in times.items()}
    return figures


def differences(runs: Mapping[str, Any], first: str, measures: Sequence[str]) -> Figures:
    """Return the mean differences of a method from all others over users.

    The values of users are means over seeds, and the errors include the variance of the seeds.
    """
    return {
        f"{first} − {name} {measure}": mean_gap(
            np.subtract(runs[first]["values"][measure], runs[name]["values"][measure]),
            [runs[one]["means"][measure] for one in (first, name)],
        )
        for name in runs
        if name != first
        for measure in measures
    }


def grids(recipe: Recipe, figures: Figures, first: str, times: Iterable[str]) -> Iterator[Grid]:
    """Yield the levels and times of all methods, and the differences of a method from others."""
    measures, validation = recipe.parameters["measures"], recipe.parameters["validation"]
    falling = views.falling(recipe.parameters["methods"], figures, validation)
    title = f"Mean over seeds on the test pairs, best first by {validation}; seconds of training"
    columns = {**{m: f" {m}" for m in measures}, **{time: f", {time}" for time in times}}
    yield Grid(title, falling, columns, "{}{}", digits=4)
    title = f"{first} less another method for the same users, with 95 % intervals"
    others = [name for name in falling if name != first]
    gaps = Grid(title, others, measures, f"{first} − {{}} {{}}", "gap", digits=4, head="other")
    yield gaps
    # Worse methods would compress the scale.
    yield replace(gaps, rows=others[:_NEAREST], text="", plot="intervals", axis="difference")


def mean_gap(gaps: NDArray[np.float64], seeds: Iterable[Any]) -> Measured:
    """Return the mean of the users' gaps that are defined.

    The squared standard error is the sum of the variances over users and over the seeds of both
    methods; `seeds` has the means of each method by seed.
    """
    gaps = gaps[np.isfinite(gaps)]
    variance = float(gaps.var(ddof=1)) / gaps.size
    for means in seeds:
        variance += float(np.var(means, ddof=1)) / len(means) if len(means) > 1 else 0.0
    return Measured(float(gaps.mean()), math.sqrt(variance), int(gaps.size))
