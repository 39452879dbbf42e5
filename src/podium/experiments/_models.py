"""The methods that compete: two that rank by one feature, and linear rankers by their loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from podium import losses
from podium.errors import ConvergenceWarning
from podium.evaluation import measure
from podium.experiments._features import BASELINES, Column, Lists
from podium.experiments._windows import Sparse
from podium.rankers import LinearRanker

K = 10
TARGET = f"pap@{K}"
LOGISTIC = "logistic regression"
SURROGATE = "pAp@k surrogate"
PAP = f"pAp@{K} ranker"

SURROGATES = ("pap-ramp", "pap-avg", "pap-max", "pap-ts")
CUTOFFS = (K, 3 * K, 10 * K)
_RATE = 0.2
_LIKELIHOOD_RATES = (4.0, 8.0)
_PATIENCE = 20
_MAX_ITER = 120


@dataclass(frozen=True, eq=False)
class Task:
    """A window as a ranking task: lists of candidates, and what was bought of them.

    Attributes
    ----------
    lists : Lists
    truth : CSR, (n_all_users, n_items)
        All new purchases of the window, candidates or not.
    """

    lists: Lists
    truth: Sparse

    @cached_property
    def features(self) -> Sparse:
        """The standardised features as CSR, although few are 0.

        SciPy's products with it are serial and as fast, so that the number of threads cannot
        change the last bit of a sum over rows, and with it the iterate that is kept.
        """
        return sp.csr_matrix(self.lists.X)

    @cached_property
    def bought(self) -> Column:
        """1 for candidates that were bought in the window, else 0."""
        cells = self.truth[self.lists.user, self.lists.item]
        return np.asarray(cells, np.float64).ravel()

    @property
    def found(self) -> float:
        """Share of the new purchases that are among the candidates."""
        return float(self.bought.sum() / self.truth.nnz)

    def truth_table(self) -> dict[str, Any]:
        """Return the new purchases as a truth for `podium.measure`."""
        user, item = self.truth.nonzero()
        return {"user": user.astype(np.int64), "item": item.astype(np.int64)}

    def run_table(self, scores: Column) -> dict[str, Any]:
        """Return scored candidates as a run for `podium.measure`."""
        return {"user": self.lists.user, "item": self.lists.item, "score": scores}

    def value(self, scores: Column) -> float:
        """Mean pAp@10 of the scores, against all new purchases."""
        return measure(self.truth_table(), self.run_table(scores), TARGET).means[TARGET]


@dataclass(frozen=True)
class Settings:
    """What a ranker is trained with: the loss and its parameters, and the solver's."""

    loss: str
    params: tuple[tuple[str, Any], ...]
    learning_rate: float
    l2: float = 0.0

    def __str__(self) -> str:
        text = ", ".join(f"{name}={value}" for name, value in self.params if name != "clip")
        penalty = f", l2={self.l2:g}" if self.l2 else ""
        return f"{self.loss}({text}), learning_rate={self.learning_rate:g}{penalty}"


@dataclass(frozen=True, eq=False)
class Trial:
    """A ranker trained with some settings, and what the validation window thinks of it.

    `value` is its mean pAp@10 there; `coef` belongs to the standardised features;
    `validation` has the early-stopping measure of every iteration, and `best` is the kept one.
    """

    settings: Settings
    value: float
    coef: NDArray[np.float64]
    objective: Column
    validation: Column
    best: int


def surrogate_settings() -> list[Settings]:
    """Return the paper's surrogates of pAp@10, and two of them at wider cutoffs.

    Of a few hundred candidates, the ten highest negatives score so high by chance that zero
    coefficients are all but optimal (the surrogates are vacuous where classes overlap). Against
    more negatives the average one has a say. Wider cutoffs need two surrogates only: where
    customers have fewer positives than k, ramp, max and tight-struct are the same.
    """
    wider = [(loss, k) for k in CUTOFFS[1:] for loss in SURROGATES[:2]]
    grid = [(loss, K) for loss in SURROGATES] + wider
    return [Settings(loss, (("k", k), ("clip", True)), _RATE) for loss, k in grid]


def refinements(chosen: Settings) -> list[Settings]:
    """Return the same loss with other steps, and with a penalty."""
    around = [(_RATE / 2, 0.0), (_RATE * 2.5, 0.0), (_RATE, 0.1)]
    return [Settings(chosen.loss, chosen.params, rate, l2) for rate, l2 in around]


def logistic_settings() -> list[Settings]:
    """Return logistic regression over pooled rows, and with equal weight for each customer."""
    return _likelihoods("logistic", "per", ("row", "group"))


def pap_settings() -> list[Settings]:
    """Return the likelihood with the risk of pAp@k on top, as many settings as logistic's.

    Its k is the whole list or the widest cutoff of the surrogates, its weight the default.
    """
    return _likelihoods("pap-logistic", "k", (None, CUTOFFS[-1]))


def _likelihoods(loss: str, param: str, values: Sequence[Any]) -> list[Settings]:
    return [
        Settings(loss, ((param, value),), rate) for value in values for rate in _LIKELIHOOD_RATES
    ]


def train(train: Task, valid: Task, settings: Settings) -> Trial:
    """Fit on one window, stop early by pAp@10 on the next.

    Every loss has the same solver, smooth or not: steps that are short enough for stopping early
    to choose among their iterates.
    """
    loss = losses.get(settings.loss, **dict(settings.params))
    ranker = LinearRanker(
        loss,
        l2=settings.l2,
        solver="subgradient",
        learning_rate=settings.learning_rate,
        max_iter=_MAX_ITER,
        tol=0.0,
        eval_metric=TARGET,
        patience=_PATIENCE,
    )
    held_out = (valid.features, valid.bought, valid.lists.row)
    with warnings.catch_warnings():
        # Stopping before the loss's minimum is the point here, not a failure.
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker.fit(train.features, train.bought, qid=train.lists.row, eval_set=held_out)
    history = ranker.history_
    value = valid.value(valid.features @ ranker.coef_)
    path = (history["objective"], history["validation"], ranker.best_iteration_)
    return Trial(settings, value, ranker.coef_, *path)


def search(train_task: Task, valid: Task, step: Callable[[str], None]) -> dict[str, list[Trial]]:
    """Train every setting; the trials of each method, best on validation first.

    `step` is called before each of the `N_TRIALS` trainings, with what is trained.
    """
    grids = _grids()
    trials: dict[str, list[Trial]] = {method: [] for method in grids}

    def attempt(method: str, tried: Settings) -> None:
        step(f"training {tried}")
        trials[method].append(train(train_task, valid, tried))

    for method, grid in grids.items():
        for tried in grid:
            attempt(method, tried)
    for tried in refinements(_best_first(trials[SURROGATE])[0].settings):
        attempt(SURROGATE, tried)
    return {method: _best_first(tried) for method, tried in trials.items()}


def _grids() -> dict[str, list[Settings]]:
    return {
        LOGISTIC: logistic_settings(),
        SURROGATE: surrogate_settings(),
        PAP: pap_settings(),
    }


N_TRIALS = sum(map(len, _grids().values())) + len(refinements(surrogate_settings()[0]))


def choose_baselines(valid: Task) -> dict[str, tuple[str, float]]:
    """Return each baseline's form that did best on validation, as (feature, mean pAp@10)."""
    return {name: max(_forms(valid, forms), key=_value) for name, forms in BASELINES.items()}


def _forms(valid: Task, names: Sequence[str]) -> Iterator[tuple[str, float]]:
    for name in names:
        yield name, valid.value(valid.lists.features[name])


def _value(form: tuple[str, float]) -> float:
    return form[1]


def _best_first(trials: list[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: -trial.value)
