"""Errors of scans with a proxy, beside the best estimator from as many random items."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from podium.catalogue import ScoreFunction
from podium.report import Figure, Table
from podium.sampled import evaluate, scan
from podium_studies import views
from podium_studies.cells import repeats, results, seed_of, sweep
from podium_studies.jin2021 import evaluations, protocol
from podium_studies.jin2021.evaluations import (
    Evaluations,
    estimates,
    geometric_mean,
    quiet,
    relative_errors,
)
from podium_studies.jin2021.protocol import Floats, Ints
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Measured, Result, Study

BASELINE = "random items"
"""The cells in which each target is ranked among random items, without a proxy."""
RANDOM, POPULARITY, OWN = "random list", "popularity", "own items first"
_FIRST = 1e9  # is added to the popularity of own items, which then come first


class Proxies(Evaluations):
    """Fitted methods, which serve as expensive models and as proxies."""

    def order(self, proxy: str, depth: int) -> Mapping[str, Any]:
        """Return the arguments of `scan` that give the order of a proxy."""
        train = self.held_out.train
        popularity: Floats = np.bincount(train.indices, minlength=train.shape[1]).astype(float)
        if proxy == POPULARITY:
            return {"proxy": popularity}
        if proxy == RANDOM:
            rng = np.random.default_rng(self.recipe.seed)
            return {"proxy": rng.permutation(popularity.size).astype(float)}
        if proxy == OWN:

            def own_first(users: Ints) -> Floats:
                return popularity + _FIRST * train[users].toarray()

            return {"proxy": ScoreFunction(own_first, *train.shape)}
        depth = min(depth, train.shape[1])
        return {"lists": self.models.fitted(proxy).recommend(k=depth, exclude_seen=False)[0]}


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Proxies:
    """Read the data, and check that every method can be fitted."""
    evaluations.load(recipe)
    return Proxies(recipe, protocol.read(recipe, paths))


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each method with each proxy but itself, and with random items."""
    for method in recipe.parameters["compared"]:
        proxies = [name for name in _candidates(recipe) if name != method]
        yield from sweep(method=[method], proxy=proxies, repeat=repeats(recipe))


def _candidates(recipe: Recipe) -> list[str]:
    return [BASELINE, *recipe.parameters["proxies"]]


def run(recipe: Recipe, context: Proxies, method: str, proxy: str, repeat: int) -> Result:
    """Estimate the measures once, by each estimator from random items or by a scan."""
    parameters = recipe.parameters
    exact, measures = context.exact(method), parameters["measures"]
    result = {"exact": [exact.expect(measure) for measure in measures]}
    seed = seed_of(recipe, f"{method} by {proxy}", repeat)
    budget = parameters["budget"]
    if proxy == BASELINE:
        samples = context.drawn(method, budget, seed)
        readings = context.readings(samples)
        return result | {
            "estimates": {label: estimates(by, ranks, measures) for label, by, ranks in readings}
        }
    with quiet():  # the study also has useless proxies and small budgets
        ranks = scan(
            context.models.fitted(method).score_pairs,
            context.held_out.targets,
            k=parameters["k"],
            **context.order(proxy, parameters["depth"]),
            budget=budget,
            seed=seed,
        )
        evaluation = evaluate(ranks, measures)
    return result | {
        "estimates": {"scan": [evaluation.means[measure] for measure in measures]},
        "scored": float(ranks.n_scored.mean()),
        "open": float(ranks.is_open.mean()),
    }


def errors(recipe: Recipe, cells: Cells) -> dict[tuple[str, str], Floats]:
    """Return the relative error by method and proxy; without a proxy, that of the best estimator.

    Returns
    -------
    dict of (method, proxy) to float64, (n_measures,)
        The root mean square over repeats of estimate / exact - 1. The best estimator is chosen
        afterwards for each measure.
    """
    pairs = itertools.product(recipe.parameters["compared"], _candidates(recipe))
    return {
        (method, proxy): np.min([*relative_errors(chosen).values()], axis=0)
        for method, proxy in pairs
        if (chosen := results(cells, method=method, proxy=proxy))
    }


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the ratio of errors by method, proxy and measure, and its means over methods."""
    relative, least = errors(recipe, cells), recipe.parameters["least_error"]
    n, figures = recipe.repeats or 1, dict[str, Measured]()
    ratios: dict[str, list[float]] = {}
    for (method, proxy), error in relative.items():
        if proxy == BASELINE:
            continue
        ratio = np.maximum(error, least) / np.maximum(relative[method, BASELINE], least)
        kind = RANDOM if proxy == RANDOM else "proxies"
        for measure, value in zip(recipe.parameters["measures"], ratio.tolist(), strict=True):
            figures[f"{method} by {proxy}: {measure}"] = Measured(value, n=n)
            ratios.setdefault(proxy, []).append(value)
            if kind == "proxies":
                ratios.setdefault(kind, []).append(value)
    for name, values in ratios.items():
        array = np.array(values)
        figures[f"{name}: geometric mean"] = Measured(float(geometric_mean(array)), n=array.size)
        figures[f"{name}: largest"] = Measured(float(array.max()), n=array.size)
    return figures


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure | Table]:
    """Yield the relative errors by method and proxy for each measure, as a table and a plot."""
    relative, methods = errors(recipe, cells), recipe.parameters["compared"]
    for k, measure in enumerate(recipe.parameters["measures"]):
        values = {pair: float(error[k]) for pair, error in relative.items()}
        yield views.table(
            f"{measure}: relative error in per cent, by proxy",
            "model",
            methods,
            _candidates(recipe),
            lambda method, proxy, values=values: views.fixed(
                100 * values.get((method, proxy), np.nan), 1
            ),
        )
        panels: dict[str, list[views.Row]] = {method: [] for method in methods}
        for (method, proxy), value in values.items():
            panels[method].append(views.point_row(proxy, value))
        yield views.intervals(
            f"{measure}: relative error with {recipe.parameters['budget']} scored items",
            panels,
            axis_label="root-mean-square error / exact value",
            digits=3,
            caption=f"{BASELINE}: the estimator that is best afterwards.",
        )


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of errors by model and proxy."""
