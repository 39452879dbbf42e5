"""The cells of a sweep: their keys, their random numbers, and means over them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from podium_studies import checks
from podium_studies.study import Cells, Measured, Recipe, Result


def key(**parts: Any) -> str:
    """Return the key of a cell.

    Examples
    --------
    >>> key(seed=3, k=8, method="logistic")
    'seed=3/k=8/method=logistic'
    """
    return "/".join(f"{name}={value}" for name, value in parts.items())


def sweep(**axes: Iterable[Any]) -> Iterator[str]:
    """Yield the keys of all combinations of values; the last axis changes fastest.

    Examples
    --------
    >>> [*sweep(data=["ml-1m"], method=["EASE", "ALS"])]
    ['data=ml-1m/method=EASE', 'data=ml-1m/method=ALS']
    """
    return (key(**chosen) for chosen in product({name: [*axis] for name, axis in axes.items()}))


def parts(cell: str) -> dict[str, Any]:
    """Return the parts of a cell's key, the inverse of `key`; whole numbers become int.

    Examples
    --------
    >>> parts("seed=3/k=8")
    {'seed': 3, 'k': 8}
    """
    pairs = (part.partition("=") for part in cell.split("/"))
    return {name: int(value) if value.isdecimal() else value for name, _, value in pairs}


def select(cells: Cells, **key_parts: Any) -> list[tuple[Mapping[str, Any], Result]]:
    """Return the parts of the key and the result of every cell whose key has these parts.

    Examples
    --------
    >>> select({"part=test/seed=0": {"x": 1}, "part=fit/seed=0": {"x": 2}}, part="fit")
    [({'part': 'fit', 'seed': 0}, {'x': 2})]
    """
    tidy = ((parts(cell), result) for cell, result in cells.items())
    return [entry for entry in tidy if key_parts.items() <= entry[0].items()]


def results(cells: Cells, **key_parts: Any) -> list[Result]:
    """Return the results of the cells whose keys have these parts."""
    return [result for _, result in select(cells, **key_parts)]


def repeats(recipe: Recipe) -> range:
    """Return the numbers of the repeats; 0 only if there is nothing to repeat."""
    return range(recipe.repeats or 1)


def generator(recipe: Recipe, purpose: str, *index: int) -> np.random.Generator:
    """Return a generator that depends only on the recipe's seed, the purpose and the index."""
    return np.random.default_rng([recipe.seed, *index, *purpose.encode()])


def seed_of(recipe: Recipe, purpose: str, *index: int) -> int:
    """Return an integer seed that depends only on the recipe's seed, the purpose and the index."""
    return int(generator(recipe, purpose, *index).integers(2**31))


def methods(recipe: Recipe, known: Iterable[str]) -> list[str]:
    """Return the names of the recipe's methods; raise ArgumentError for an unknown one."""
    known_names = list(known)
    return [checks.choice(name, "methods", known_names) for name in recipe.parameters["methods"]]


def product(grid: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield every combination of a grid's values.

    Examples
    --------
    >>> list(product({"l2": [0.0, 1.0]}))
    [{'l2': 0.0}, {'l2': 1.0}]
    """
    for chosen in itertools.product(*grid.values()):
        yield dict(zip(grid, chosen, strict=True))


def mean(values: Iterable[float]) -> Measured:
    """Return the mean of the defined values, with its standard error.

    Examples
    --------
    >>> mean([1.0, 3.0, float("nan")])
    Measured(value=2.0, std_error=1.0, n=2)
    """
    defined = np.array([value for value in values if np.isfinite(value)])
    if not defined.size:
        return Measured(float("nan"), n=0)
    spread = float(defined.std(ddof=1)) if defined.size > 1 else float("nan")
    return Measured(float(defined.mean()), spread / defined.size**0.5, int(defined.size))
