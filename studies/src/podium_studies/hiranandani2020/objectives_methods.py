"""The compared objectives, and the candidates that each of them fits on one split.

To add a method, add its line to METHODS, and its name to the recipes that run it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import losses
from podium.data import pooled_relevance
from podium.errors import ArgumentError
from podium.rankers import LinearRanker, LogisticRanker
from podium.rankers.boosting import lightgbm_objective
from podium_studies.folds import Candidate
from podium_studies.rows import Parts

Options: TypeAlias = Mapping[str, Any]

LINEAR, OWN, PODIUM, ABLATION = "linear", "LightGBM's own", "podium in LightGBM", "ablation"


@dataclass(frozen=True, eq=False)
class Split:
    """The scaled rows of one split, and the items of the training, validation and test rows."""

    parts: Parts
    items: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True)
class Method:
    """An objective with its model.

    Attributes
    ----------
    kind : str
        LINEAR, OWN, PODIUM or ABLATION.
    candidates : (split, parameters, seed) -> iterator of Candidate
        The fitted candidates, which do not depend on the cutoff.
    """

    kind: str
    candidates: Callable[[Split, Options, int], Iterator[Candidate]]


def _penalised(name: str, split: Split, parameters: Options, seed: int) -> Iterator[Candidate]:
    """Fit one linear model per penalty."""
    train, valid, test = split.parts
    for l2 in parameters["l2"][name]:
        model = _LINEAR[name](parameters, l2, train.y.size).fit(train.X, train.y, train.qid)
        yield Candidate({"l2": l2}, model.predict(valid.X), model.predict(test.X))


def _logistic(parameters: Options, l2: float, n_rows: int) -> LogisticRanker:
    """Return scikit-learn's logistic regression, with l2 converted to its C."""
    return LogisticRanker(C=1.0 / (l2 * n_rows))


def _group_logistic(parameters: Options, l2: float, n_rows: int) -> LinearRanker:
    return LinearRanker(losses.GroupLogistic(), l2=l2, **parameters["lbfgs"])


def _pap_logistic(constants: str, parameters: Options, l2: float, n_rows: int) -> LinearRanker:
    loss = losses.PApLogistic(**parameters[constants])
    return LinearRanker(loss, l2=l2, **parameters["lbfgs"])


_LINEAR: dict[str, Callable[[Options, float, int], Any]] = {
    "logistic regression": _logistic,
    "group-logistic, linear": _group_logistic,
    "pap-logistic": partial(_pap_logistic, "pap_logistic"),
    "pap-logistic, sharper": partial(_pap_logistic, "pap_logistic_sharper"),
}
"""Functions that make a linear model from the recipe's parameters, l2 and the number of rows."""


def _boosted(
    objective: str | losses.GroupLogistic,
    split: Split,
    parameters: Options,
    seed: int,
    *,
    pooled: bool = False,
    with_item: bool = False,
) -> Iterator[Candidate]:
    """Train LightGBM with each configuration, and yield a candidate every few trees.

    Objectives differ only in the argument `objective`.
    """
    library = import_module("lightgbm")
    train, *_ = split.parts
    features, target, categorical_features = [part.X for part in split.parts], train.y, "auto"
    if with_item:
        categorical_features = [train.X.shape[1]]
        pairs = zip(features, split.items, strict=True)
        features = [np.column_stack([X, item]).astype(X.dtype) for X, item in pairs]
    if pooled:
        share = parameters["pooled_share"]
        target = pooled_relevance(train.y, train.qid, split.items[0], share=share)
    _, starts, sizes = np.unique(train.qid, return_index=True, return_counts=True)
    if not np.array_equal(starts, np.cumsum(sizes) - sizes):
        raise ArgumentError(
            "qid must be sorted, because LightGBM reads sizes of groups. Sort the rows by qid."
        )
    positive_share = float(train.y.mean())
    log_odds = float(np.log(positive_share / (1.0 - positive_share)))
    for options in parameters["trees"]:
        dataset = library.Dataset(
            features[0],
            target,
            group=sizes,
            init_score=np.full(target.size, log_odds),
            categorical_feature=categorical_features,
            params={"verbosity": -1},
        )
        objective_argument = (
            objective if isinstance(objective, str) else lightgbm_objective(objective)
        )
        fixed = {**parameters["fixed"], **options, "seed": seed, "objective": objective_argument}
        yield from _stages(
            library.train(fixed, dataset), features[1:], parameters["look_every"], options
        )


def _stages(
    booster: Any, features: Sequence[NDArray[Any]], n_trees_per_stage: int, options: Options
) -> Iterator[Candidate]:
    """Yield the scores after every few trees, without the constant start, which moves no order."""
    scores = [np.zeros(part.shape[0]) for part in features]
    for n_done in range(0, booster.num_trees(), n_trees_per_stage):
        part = {"start_iteration": n_done, "num_iteration": n_trees_per_stage, "raw_score": True}
        scores = [
            previous + booster.predict(X, num_threads=1, **part)
            for previous, X in zip(scores, features, strict=True)
        ]
        n_trees = min(n_done + n_trees_per_stage, booster.num_trees())
        yield Candidate({**options, "trees": n_trees}, *scores)


def _trees(kind: str, objective: str | losses.GroupLogistic, **more: bool) -> Method:
    return Method(kind, partial(_boosted, objective, **more))


_SOFT = losses.GroupLogistic(soft=True)
METHODS: dict[str, Method] = {
    **{name: Method(LINEAR, partial(_penalised, name)) for name in _LINEAR},
    "LightGBM binary": _trees(OWN, "binary"),
    "LightGBM lambdarank": _trees(OWN, "lambdarank"),
    "LightGBM rank_xendcg": _trees(OWN, "rank_xendcg"),
    "group-logistic, pooled": _trees(PODIUM, _SOFT, pooled=True),
    "group-logistic, labels": _trees(ABLATION, losses.GroupLogistic()),
    "LightGBM cross_entropy, pooled": _trees(ABLATION, "cross_entropy", pooled=True),
    "LightGBM binary, item as category": _trees(ABLATION, "binary", with_item=True),
    "group-logistic, pooled, item as category": _trees(
        ABLATION, _SOFT, pooled=True, with_item=True
    ),
}
"""Every method by its name in tables."""
