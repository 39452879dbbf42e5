"""Table 2 of hiranandani2020, and its variation on slide 14: one user, made up 300 times.

Methods of the paper under three protocols, all judged on the rows that they were fitted on:
descent with the settings of the paper's code, the paper's algorithm 1 run long from zero, and
the minimum of each surrogate, which is certified by a duality gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.experiments.papers import _pap_table2_figures as figures_of
from podium.experiments.recipe import Recipe
from podium.experiments.study import Result, Study, generator, key, parts
from podium.losses import Loss, PApAverage
from podium.metrics import parse
from podium.rankers import LinearRanker
from podium.rankers.baselines import PrecisionAverage, SVMpAUC
from podium.ranking import Ranking

Sample = tuple[NDArray[np.float64], NDArray[np.float64]]  # features, relevance

LOSSES: dict[str, Callable[[int], Loss]] = {"GD-avg": PApAverage, "SGD@k-avg": PrecisionAverage}
"""What the methods by descent minimise, by their names in the table; SVM-pAUC is the third."""


def cells(recipe: Recipe) -> Sequence[str]:
    """Return a cell for each case and run."""
    return [
        key(case=case["name"], run=run)
        for run in range(recipe.repeats or 1)
        for case in recipe.parameters["cases"]
    ]


def run(recipe: Recipe, context: Any, cell: str) -> Result:
    """Draw one user, fit both methods under each protocol, and look at the top k."""
    asked = parts(cell)
    index = int(asked["run"])
    number, case = _case(recipe, asked["case"])
    sample, fresh = (
        draw(recipe, case, generator(recipe, purpose, number, index))
        for purpose in ("sample", "fresh sample")
    )
    found: dict[str, Any] = {}
    for protocol, settings in recipe.parameters["protocols"].items():
        for method in ("GD-avg", case["rival"]):
            ranker = _ranker(method, case["k"], index, settings[method])
            found |= _named(f"{protocol}/{method}", _judged(ranker, sample, fresh, case["k"]))
    return found


def draw(recipe: Recipe, case: Mapping[str, Any], rng: np.random.Generator) -> Sample:
    """Draw positives around `positive_mean` in each feature, a few further off, negatives around 0.

    The first `n_far` positives are drawn around `far_mean`.
    """
    d = recipe.parameters["n_features"]
    centres = np.zeros(case["n_pos"] + case["n_neg"])
    centres[: case["n_pos"]] = recipe.parameters["positive_mean"]
    centres[: recipe.parameters["n_far"]] = recipe.parameters["far_mean"]
    X = rng.standard_normal((centres.size, d)) + centres[:, np.newaxis]
    return X, (np.arange(centres.size) < case["n_pos"]).astype(np.float64)


def top(scores: NDArray[np.float64], relevance: NDArray[np.float64], k: int) -> dict[str, float]:
    """Return prec@k, and AUC@k: the area under the ROC curve among the k best-scored items.

    AUC@k is nan where these are all of one class. Ties count as errors.
    """
    best = Ranking.from_scores(scores, relevance).relevance[:k]
    among = Ranking.from_scores(-np.arange(best.size, dtype=np.float64), best)
    return {"prec": float(best.mean()), "auc": float(parse("auc")(among)[0])}


def _judged(ranker: Any, sample: Sample, fresh: Sample, k: int) -> dict[str, float]:
    ranker.fit(*sample, group=[sample[1].size])
    return {
        **top(ranker.predict(sample[0]), sample[1], k),
        "fresh": top(ranker.predict(fresh[0]), fresh[1], k)["prec"],
        "length": math.sqrt(float(np.sum(np.square(ranker.coef_)))),
    }


def _case(recipe: Recipe, name: str) -> tuple[int, Mapping[str, Any]]:
    cases: Sequence[Mapping[str, Any]] = recipe.parameters["cases"]
    return next((i, case) for i, case in enumerate(cases) if case["name"] == name)


def _named(start: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f"{start}/{name}": value for name, value in values.items()}


def _ranker(method: str, k: int, seed: int, options: Mapping[str, Any]) -> Any:
    if method in LOSSES:
        return LinearRanker(LOSSES[method](k), random_state=seed, **options)
    return SVMpAUC(k, **options)  # cutting planes draw nothing


STUDY = Study(
    cells=cells,
    run=run,
    fold=figures_of.fold,
    plots=figures_of.plots,
    tables=figures_of.tables,
)
"""Table 2, and slide 14 where `n_far` is not 0."""
