"""The data of sampled evaluations, the recommenders by name, and the ranks of held-out items.

To add a recommender, add its line to METHODS, and its options to the recipes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from podium import data, recommenders, sampled
from podium.errors import DataError, PodiumWarning
from podium_studies import archive, rivals
from podium_studies.cells import generator, seed_of
from podium_studies.rivals.with_cornac import MultiVAE, NeuMF
from podium_studies.rivals.with_implicit import ALS
from podium_studies.study import DataSet, Measured, Recipe

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


def read(recipe: Recipe, paths: Mapping[str, Path]) -> archive.Context:
    """Read a recipe's data set and hold out one item of each user.

    ``recipe.parameters["protocol"]`` has the settings. ``format`` is a name in `FORMATS`.
    ``users`` is the number of users to draw at random (0 keeps all), and ``least`` the smallest
    number of pairs of a user who is kept. ``shape`` contains the expected numbers of users, items
    and pairs after that; [] disables the check.

    Raises
    ------
    DataError
        If a file is absent or malformed, or if the numbers differ from ``shape``.
    """
    user, item, last, shape = _pairs(recipe, paths)
    if last is None:
        sizes = np.bincount(user)
        starts = np.cumsum(sizes) - sizes
        last = item[starts + generator(recipe, "held-out").integers(sizes)]
    kept = item != last[user]
    train = archive.matrix(user[kept], item[kept], shape)
    return archive.Context(train, archive.matrix(np.arange(shape[0]), last, shape))


def split(recipe: Recipe, paths: Mapping[str, Path], share: float) -> archive.Context:
    """Read a recipe's data set and hold out a random share of each user's items, rounded down."""
    user, item, _, shape = _pairs(recipe, paths)
    pairs = archive.matrix(user, item, shape)
    return archive.hold_out(
        pairs, share, lambda block: generator(recipe, "held-out", *range(1, block + 1))
    )


def _pairs(
    recipe: Recipe, paths: Mapping[str, Path]
) -> tuple[Ints, Ints, Ints | None, tuple[int, int]]:
    """Return the pairs of the selected users, the held-out items if known, and the shape.

    Users and items are numbered from 0, and pairs are sorted by user.
    """
    settings: Mapping[str, Any] = recipe.parameters["protocol"]
    (source,) = recipe.data
    place = paths[source.folder]
    user, item, *ends = FORMATS[settings["format"]](place, source)
    last = np.searchsorted(np.unique(item), item[ends[0]]) if ends else None
    user, item = archive.numbered(user, item)
    users = np.flatnonzero(np.bincount(user) >= max(2, settings["least"]))
    if 0 < settings["users"] < users.size:
        drawn = generator(recipe, "users").choice(users, settings["users"], replace=False)
        users = np.sort(drawn)
    selected = np.isin(user, users)
    items, item = np.unique(item[selected], return_inverse=True)
    user = np.searchsorted(users, user[selected])
    shape = [users.size, items.size, user.size]
    if settings["shape"] not in ([], shape):
        raise DataError(
            f"{place} has {shape} users, items and pairs, but {source.title} has "
            f"{settings['shape']}. Download it again from {source.url}"
        )
    last = None if last is None else np.searchsorted(items, last[users])
    return user, item, last, (users.size, items.size)


def _movielens(place: Path, source: DataSet) -> tuple[Ints, ...]:
    """Read MovieLens 1M; the held-out item is each user's last, as in the test file of NCF.

    The files are the publisher's ratings.dat (among equal times, the largest item id is the
    last), or those of NCF (ml-1m.train.rating, ml-1m.test.rating).
    """
    files = archive.members(place, source.title, source.url)
    if archive.pick(files, ["ml-1m.train.rating"]):
        names = ["ml-1m.train.rating", "ml-1m.test.rating"]
        user, item = _union(place, source, names, partial(archive.pairs, delimiter=b"\t"))
        n_users = np.unique(user).size
        return user, item, np.argsort(user[-n_users:]) + user.size - n_users
    ratings = archive.movielens(place, "1m")
    user, item = np.asarray(ratings.user), np.asarray(ratings.item)
    order = np.lexsort((item, np.asarray(ratings.timestamp), user))
    return user, item, order[np.flatnonzero(np.diff(user[order], append=-1))]


def _union(
    place: Path,
    source: DataSet,
    names: Iterable[str],
    pairs: Callable[[archive.Member], archive.Pairs],
) -> tuple[Ints, ...]:
    """Return the pairs of several files."""
    parts = map(pairs, archive.find(place, source, *names))
    return tuple(np.concatenate(ids) for ids in zip(*parts, strict=True))


def _table(place: Path, source: DataSet) -> tuple[Ints, ...]:
    """Read a table of users and items, or the only table in a folder."""
    files = archive.members(place, source.title, source.url)
    if len(files) != 1:
        raise DataError(
            f"{place} must be a table with a column of users and a column of items, or a folder "
            f"with only this table, got {len(files)} files. Pass the file itself."
        )
    rows = data.read_interactions(Path(files[0].name))
    return np.asarray(rows.user), np.asarray(rows.item)


FORMATS: dict[str, Callable[[Path, DataSet], tuple[Ints, ...]]] = {
    "movielens-1m": _movielens,
    "citeulike-a": archive.counted,
    "citeulike": partial(
        _union,
        names=["train.txt", "valid.txt", "test.txt"],
        pairs=partial(archive.pairs, delimiter=b" "),
    ),
    "lists": partial(_union, names=["train.txt", "test.txt"], pairs=archive.lists),
    "table": _table,
}
"""Readers by name; they return users, items, and the rows of the held-out pairs if known."""


METHODS: dict[str, Callable[..., Any]] = {
    "EASE": recommenders.EASE,
    "MultiVAE": MultiVAE,
    "NeuMF": NeuMF,
    "itemKNN": recommenders.ItemKNN,
    "ALS": ALS,
    "RoBiRank": partial(recommenders.Factorization, prior=0.0),
}
"""Every recommender by its name in the paper's tables."""


@dataclass(frozen=True, eq=False)
class Evaluations:
    """The training and the held-out pairs of a recipe's data, and samples of the ranks."""

    recipe: Recipe
    train: sparse.csr_array[Any]
    targets: sparse.csr_array[Any]

    @property
    def n_items(self) -> int:
        return self.train.shape[1]

    def exact(self, method: str) -> sampled.RankDistribution:
        """Return the distribution of the ranks among all items."""
        return sampled.RankDistribution.of_ranks(ranks(self, method), self.n_items)

    def readings(
        self, method: str, n_negatives: int, seed: int
    ) -> Iterator[tuple[str, sampled.Estimator, sampled.SampledRanks]]:
        """Draw one sampled evaluation, with and without the users' numbers of training items.

        Yield each estimator: its label, itself, and its ranks.
        """
        all_ranks, history = ranks(self, method), np.diff(self.train.indptr).astype(np.int64)
        draw = partial(sampled.simulate_ranks, all_ranks, self.n_items, n_negatives, seed=seed)
        samples = [draw(history=known) for known in (None, history)]
        for label, text in self.recipe.parameters["estimators"].items():
            yield label, sampled.get(text), samples[label in self.recipe.parameters["with_history"]]


def sample_seed(recipe: Recipe, method: str, n_negatives: int, repeat: int) -> int:
    """Return the seed of a sample, which differs by repeat, method and size."""
    return seed_of(recipe, f"{n_negatives} negatives for {method}", repeat)


@cache
def fitted(context: Evaluations, method: str) -> Any:
    """Return a method with the recipe's options, fitted once to the training pairs.

    A fit uses one thread, because the last digits of its results depend on the number of threads.
    """
    model = METHODS[method](**context.recipe.parameters["methods"][method])
    if "random_state" in model.get_params():
        model.set_params(random_state=seed_of(context.recipe, f"model {method}"))
    with threadpool_limits(1):
        return model.fit(context.train)


@cache
def ranks(context: Evaluations, method: str) -> Ints:
    """Return the rank of each user's held-out item among all items, training items included.

    Returns
    -------
    int64, (n_users,)
        The ranks, from 1. Items with equal scores have a random order, which depends on the
        recipe's seed.
    """
    options = {"exclude_seen": False, "ties": "random"}
    seed = seed_of(context.recipe, f"model {method}")
    with threadpool_limits(1):
        found = fitted(context, method).ranks(context.targets, **options, seed=seed)
    return found.astype(np.int64)


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Evaluations:
    """Read the data, and check that every method can be fitted. Methods are fitted on first use."""
    load(recipe)
    return Evaluations(recipe, *read(recipe, paths))


def load(recipe: Recipe) -> None:
    """Fit each of the recipe's methods to small data; raise an error if an extra is missing."""
    methods = recipe.parameters["methods"].items()
    rivals.load(METHODS[name](**options) for name, options in methods)


def quiet() -> AbstractContextManager[None]:
    """Ignore warnings about biased estimators, because the recipes measure the bias."""
    return warnings.catch_warnings(action="ignore", category=PodiumWarning)


def estimates(
    estimator: sampled.Estimator, ranks: sampled.SampledRanks, measures: Sequence[str]
) -> list[float]:
    """Return the estimates of all measures as `Estimator.estimate` does, from a single fit."""
    with quiet():
        if isinstance(estimator, sampled.LinearEstimator):
            ((design, counts),) = ranks.designs
            shares = counts / ranks.n_users
            return [float(shares @ _values(estimator, design, measure)) for measure in measures]
        if not estimator.gives_distribution:
            return [estimator.estimate(ranks, measure) for measure in measures]
        distribution = estimator.fit(ranks)
        return [distribution.expect(measure) for measure in measures]


def geometric_mean(values: Floats) -> Floats:
    """Return the geometric mean over the first axis."""
    return np.exp(np.log(values).mean(axis=0))


def deviation(samples: Floats) -> Measured:
    """Return the mean of samples, with their standard deviation in the place of its error."""
    spread = float(samples.std(ddof=1)) if samples.size > 1 else math.nan
    return Measured(float(samples.mean()), spread, samples.size)


def jackknife(
    runs: Floats, statistics: Callable[[Floats], Mapping[str, float | Measured]]
) -> dict[str, Measured]:
    """Return statistics of the mean over runs, with their jackknife standard errors.

    Parameters
    ----------
    runs : float64, (n_runs, ...)
    statistics : (mean over runs) -> mapping of str to float or Measured
        The statistics by name. What is Measured already stays as it is.
    """
    n, total = len(runs), runs.sum(axis=0)
    others = [statistics((total - run) / (n - 1)) for run in runs] if n > 1 else []

    def measured(name: str, value: float | Measured) -> Measured:
        if isinstance(value, Measured):
            return value
        values: list[Any] = [other[name] for other in others]
        spread = float(np.std(values)) if values else math.nan
        return Measured(float(value), spread * math.sqrt(n - 1), n)

    return {name: measured(name, value) for name, value in statistics(total / n).items()}


def relative_errors(samples: Sequence[Mapping[str, Any]]) -> dict[str, Floats]:
    """Return the root mean square over samples of estimate / exact - 1, by estimator."""
    exact, errors = np.array([sample["exact"] for sample in samples]), dict[str, Floats]()
    for name in samples[0]["estimates"] if samples else ():
        found = np.array([sample["estimates"][name] for sample in samples])
        errors[name] = np.sqrt(((found / exact - 1) ** 2).mean(0))
    return errors


@lru_cache(maxsize=1024)
def _values(estimator: sampled.LinearEstimator, design: sampled.Design, measure: str) -> Floats:
    """Return the estimator's values, cached per design: for large samples they take seconds."""
    return estimator.values(design, measure)
