"""The objectives that are compared, and all that each is tried with on one split."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check, losses
from podium.data import pooled_relevance
from podium.errors import ArgumentError
from podium.papers.rows import Parts, Rows
from podium.rankers import LinearRanker, LogisticRanker
from podium.rankers.boosting import lightgbm_objective
from podium.types import PerRow

Options: TypeAlias = Mapping[str, Any]
Features: TypeAlias = NDArray[Any]

LINEAR, OWN, PODIUM, ABLATION = "linear", "LightGBM's own", "podium in LightGBM", "ablation"


@dataclass(frozen=True, eq=False)
class Split:
    """The scaled rows of one split, and the item of each training, validation and test row."""

    parts: Parts
    items: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model's scores of the validation and the test rows, and the options that gave them."""

    options: Options
    valid: PerRow
    test: PerRow


Candidates: TypeAlias = Callable[[Split, Options, int], Iterator[Candidate]]


@dataclass(frozen=True)
class Method:
    """An objective with its model.

    Attributes
    ----------
    kind : str
        LINEAR, OWN, PODIUM or ABLATION.
    candidates : (split, parameters, seed) -> iterator of Candidate
        Everything that is tried; none of it depends on the cutoff.
    """

    kind: str
    candidates: Candidates


def _linear(name: str, make: Callable[[Options, float, int], Any]) -> Candidates:
    """Fit one model per penalty; `make` gets the parameters, l2 and the number of rows."""

    def candidates(split: Split, parameters: Options, seed: int) -> Iterator[Candidate]:
        train, valid, test = split.parts
        for l2 in parameters["l2"][name]:
            model = make(parameters, l2, train.y.size).fit(train.X, train.y, train.qid)
            yield Candidate({"l2": l2}, model.predict(valid.X), model.predict(test.X))

    return candidates


def _logistic(parameters: Options, l2: float, n_rows: int) -> LogisticRanker:
    """Return scikit-learn's, with the penalty in its own unit."""
    return LogisticRanker(C=1.0 / (l2 * n_rows))


def _group_logistic(parameters: Options, l2: float, n_rows: int) -> LinearRanker:
    return LinearRanker(losses.GroupLogistic(), l2=l2, **parameters["lbfgs"])


def _pap_logistic(name: str) -> Callable[[Options, float, int], LinearRanker]:
    """Return what makes a ranker of the loss whose constants the recipe has by this name."""

    def make(parameters: Options, l2: float, n_rows: int) -> LinearRanker:
        loss = losses.PApLogistic(**parameters[name])
        return LinearRanker(loss, l2=l2, **parameters["lbfgs"])

    return make


def _boosted(
    objective: str | losses.GroupLogistic, *, pooled: bool = False, with_item: bool = False
) -> Candidates:
    """Grow trees with each configuration, and look at them every few trees."""

    def candidates(split: Split, parameters: Options, seed: int) -> Iterator[Candidate]:
        features = _features(split, with_item=with_item)
        train, target = split.parts.train, split.parts.train.y
        if pooled:
            share = parameters["pooled_share"]
            target = pooled_relevance(train.y, train.qid, split.items[0], share=share)
        for options in parameters["trees"]:
            fixed = {**parameters["fixed"], **options, "seed": seed}
            booster = _grown(
                fixed,
                objective,
                features[0],
                target,
                qid=train.qid,
                init_score=np.full(target.size, _log_odds(train)),
                categorical_feature=[train.X.shape[1]] if with_item else "auto",
            )
            yield from _stages(booster, features[1:], parameters["look_every"], options)

    return candidates


def _features(split: Split, *, with_item: bool) -> Sequence[Features]:
    """Return the features of the three parts, the item as one more column if asked."""
    if not with_item:
        return [part.X for part in split.parts]
    pairs = zip(split.parts, split.items, strict=True)
    return [np.column_stack([part.X, item]).astype(part.X.dtype) for part, item in pairs]


def _log_odds(train: Rows) -> float:
    share = float(train.y.mean())
    return float(np.log(share / (1.0 - share)))


def _grown(
    options: Options,
    objective: str | losses.GroupLogistic,
    features: Features,
    target: PerRow,
    *,
    qid: NDArray[Any],
    **columns: Any,
) -> Any:
    """Grow trees by LightGBM itself; what differs between objectives is this one argument."""
    library = _check.extra("lightgbm", "boosting", "The recipe pap-objectives")
    asked = objective if isinstance(objective, str) else lightgbm_objective(objective)
    _, starts, sizes = np.unique(qid, return_index=True, return_counts=True)
    if not np.array_equal(starts, np.cumsum(sizes) - sizes):
        raise ArgumentError("qid must rise from row to row: LightGBM reads sizes of groups.")
    data = library.Dataset(features, target, group=sizes, params={"verbosity": -1}, **columns)
    return library.train({**options, "objective": asked}, data)


def _stages(
    booster: Any, features: Sequence[Features], every: int, options: Options
) -> Iterator[Candidate]:
    """Yield the scores after each few trees; a constant start moves no order."""
    scores = [np.zeros(part.shape[0]) for part in features]
    for done in range(0, booster.num_trees(), every):
        part = {"start_iteration": done, "num_iteration": every, "raw_score": True}
        scores = [
            before + booster.predict(X, num_threads=1, **part)
            for before, X in zip(scores, features, strict=True)
        ]
        trees = min(done + every, booster.num_trees())
        yield Candidate({**options, "trees": trees}, *scores)


METHODS: dict[str, Method] = {
    "logistic regression": Method(LINEAR, _linear("logistic regression", _logistic)),
    "group-logistic, linear": Method(LINEAR, _linear("group-logistic, linear", _group_logistic)),
    "pap-logistic": Method(LINEAR, _linear("pap-logistic", _pap_logistic("pap_logistic"))),
    "pap-logistic, sharper": Method(
        LINEAR, _linear("pap-logistic, sharper", _pap_logistic("pap_logistic_sharper"))
    ),
    "LightGBM binary": Method(OWN, _boosted("binary")),
    "LightGBM lambdarank": Method(OWN, _boosted("lambdarank")),
    "LightGBM rank_xendcg": Method(OWN, _boosted("rank_xendcg")),
    "group-logistic, pooled": Method(
        PODIUM, _boosted(losses.GroupLogistic(soft=True), pooled=True)
    ),
    "group-logistic, labels": Method(ABLATION, _boosted(losses.GroupLogistic())),
    "LightGBM cross_entropy, pooled": Method(ABLATION, _boosted("cross_entropy", pooled=True)),
    "LightGBM binary, item as category": Method(ABLATION, _boosted("binary", with_item=True)),
    "group-logistic, pooled, item as category": Method(
        ABLATION, _boosted(losses.GroupLogistic(soft=True), pooled=True, with_item=True)
    ),
}
"""Every method by its name in tables."""
