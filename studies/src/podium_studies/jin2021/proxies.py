"""Errors of scans with a proxy, beside the best estimator from as many random items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from podium.catalogue import ScoreFunction
from podium.report import Table
from podium.sampled import evaluate, scan
from podium_studies import views
from podium_studies.cells import repeats, results, seed_of, sweep
from podium_studies.jin2021 import evaluations
from podium_studies.jin2021.evaluations import Evaluations, Floats, Ints, estimates
from podium_studies.study import Cells, Figures, Measured, Recipe, Result, Study

BASELINE = "random items"
"""The cells in which each target is ranked among random items, without a proxy."""
RANDOM, POPULARITY, OWN = "random list", "popularity", "own items first"
_FIRST = 1e9  # is added to the popularity of own items, which then come first


def pairs(recipe: Recipe) -> list[tuple[str, str]]:
    """Return each compared method with random items, and with each proxy but itself."""
    proxies = [BASELINE, *recipe.parameters["proxies"]]
    compared = recipe.parameters["compared"]
    return [(method, proxy) for method in compared for proxy in proxies if proxy != method]


def popularity(train: Any) -> Floats:
    """Return the number of training users of each item: float64, (n_items,)."""
    return np.bincount(train.indices, minlength=train.shape[1]).astype(float)


def order(context: Evaluations, proxy: str, depth: int) -> Mapping[str, Any]:
    """Return the arguments of `scan` that give the order of a proxy."""
    train = context.train
    scores = popularity(train)
    if proxy == POPULARITY:
        return {"proxy": scores}
    if proxy == RANDOM:
        rng = np.random.default_rng(context.recipe.seed)
        return {"proxy": rng.permutation(scores.size).astype(float)}
    if proxy == OWN:

        def own_first(users: Ints) -> Floats:
            return scores + _FIRST * train[users].toarray()

        return {"proxy": ScoreFunction(own_first, *train.shape)}
    depth = min(depth, train.shape[1])
    return {"lists": evaluations.fitted(context, proxy).recommend(k=depth, exclude_seen=False)[0]}


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each method with each proxy but itself, and with random items."""
    for method, proxy in pairs(recipe):
        yield from sweep(method=[method], proxy=[proxy], repeat=repeats(recipe))


def run(recipe: Recipe, context: Evaluations, method: str, proxy: str, repeat: int) -> Result:
    """Estimate the measures once, by each estimator from random items or by a scan."""
    parameters = recipe.parameters
    exact, measures, budget = context.exact(method), parameters["measures"], parameters["budget"]
    result = {"exact": [exact.expect(measure) for measure in measures]}
    seed = seed_of(recipe, f"{method} by {proxy}", repeat)
    if proxy == BASELINE:
        readings = context.readings(method, budget, seed)
        return result | {
            "estimates": {label: estimates(by, ranks, measures) for label, by, ranks in readings}
        }
    with evaluations.quiet():  # the study also has useless proxies and small budgets
        options: dict[str, Any] = {"k": parameters["k"], "budget": budget, "seed": seed}
        options |= order(context, proxy, parameters["depth"])
        ranks = scan(evaluations.fitted(context, method).score_pairs, context.targets, **options)
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
    return {
        (method, proxy): np.min([*by_name.values()], axis=0)
        for method, proxy in pairs(recipe)
        if (by_name := evaluations.relative_errors(results(cells, method=method, proxy=proxy)))
    }


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the ratio of errors by method, proxy and measure, and its means over methods."""
    least, figures = recipe.parameters["least_error"], dict[str, Measured]()
    relative = {pair: np.maximum(error, least) for pair, error in errors(recipe, cells).items()}
    ratios: dict[str, list[float]] = {}
    for (method, proxy), error in relative.items():
        if proxy == BASELINE:
            continue
        ratio = (error / relative[method, BASELINE]).tolist()
        for measure, value in zip(recipe.parameters["measures"], ratio, strict=True):
            figures[f"{method} by {proxy}: {measure}"] = Measured(value, n=recipe.repeats or 1)
        for kind in dict.fromkeys([proxy, RANDOM if proxy == RANDOM else "proxies"]):
            ratios.setdefault(kind, []).extend(ratio)
    for name, values in ratios.items():
        mean = float(evaluations.geometric_mean(np.array(values)))
        figures[f"{name}: geometric mean"] = Measured(mean, n=len(values))
        figures[f"{name}: largest"] = Measured(max(values), n=len(values))
    return figures


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Table]:
    """Yield the relative errors by method and proxy for each measure."""
    relative = errors(recipe, cells)
    for k, measure in enumerate(recipe.parameters["measures"]):

        def per_cent(method: str, proxy: str, k: int = k) -> str:
            pair = method, proxy
            return views.fixed(100 * relative[pair][k], 1) if pair in relative else ""

        title = f"{measure}: relative error in per cent with {recipe.parameters['budget']} scored "
        title += f"items, by proxy. {BASELINE}: the estimator that is best afterwards"
        proxies = [BASELINE, *recipe.parameters["proxies"]]
        yield views.table(title, "model", recipe.parameters["compared"], proxies, per_cent)


STUDY = Study(cells, run, fold, evaluations.prepare, shown)
"""The study of errors by model and proxy."""
