"""The study: three windows of time, five methods, and the form of each that validation chooses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from podium import losses
from podium.data import OnlineRetail
from podium.demo.features import DAY, Sparse, between, bought, describe, select, standardised
from podium.errors import ArgumentError, ConvergenceWarning
from podium.evaluation import Comparison, Evaluation, compare_evaluations, measure, stats
from podium.rankers import LinearRanker
from podium.types import PerRow, RowIndex

K = 10
TARGET = f"pap@{K}"
MEASURES = (TARGET, f"precision@{K}", f"recall@{K}", f"ndcg@{K}")
WINDOW_DAYS = 56  # whole weeks, so that all windows have the same number of Sundays

LOGISTIC = "logistic regression"
SURROGATE = "pAp@k surrogate"
PAP = f"pAp@{K} ranker"
BASELINES = {
    "popularity": ("popularity", "popularity_28d", "popularity_56d"),
    "item similarity": ("similar_mean", "similar_top5", "similar_recent"),
}
"""The features of each baseline, each of which ranks alone; validation chooses one."""


# A surrogate with k = 10 compares positives only with the ten highest negatives. Among a few
# hundred candidates these score so high by chance that zero coefficients are nearly optimal. With a
# larger k, average negatives count too. Larger cutoffs need only two surrogates: for customers with
# fewer positives than k, ramp, max and tight-struct are equal.
_SURROGATES = {
    10: ("pap-ramp", "pap-avg", "pap-max", "pap-tight-struct"),
    30: ("pap-ramp", "pap-avg"),
    100: ("pap-ramp", "pap-avg"),
}
GRIDS = {
    LOGISTIC: [(f"logistic(per={per})", rate) for per in ("row", "group") for rate in (4.0, 8.0)],
    SURROGATE: [
        (f"{loss}(clip=true)@{k}", 0.2) for k, losses in _SURROGATES.items() for loss in losses
    ],
    PAP: [(loss, rate) for loss in ("pap-logistic", "pap-logistic@100") for rate in (4.0, 8.0)],
}
"""Losses and learning rates by method; logistic regression and the pAp@10 ranker have four each."""
REFINEMENTS = ((0.1, 0.0), (0.5, 0.0), (0.2, 0.1))
"""The learning rates and l2 penalties to try with the best surrogate."""
N_TRIALS = sum(map(len, GRIDS.values())) + len(REFINEMENTS)


@dataclass(frozen=True, eq=False)
class Task:
    """A window of time as a ranking task: lists of candidates, and the products bought.

    Attributes
    ----------
    start, stop : int
        The first minute of the window, and the first minute after it.
    users : int64, (n_users,)
        The numbers of the customers who bought something new in the window, in ascending order.
    row, item : int64, (n_rows,)
        The position of each candidate's customer in `users`, and the product.
    features : dict of str to float64 (n_rows,)
        The features, computed from purchases before `start`.
    truth : CSR, (n_users, n_items)
        All new purchases of the window, whether they are candidates or not.
    """

    start: int
    stop: int
    users: RowIndex
    row: RowIndex
    item: RowIndex
    features: dict[str, PerRow]
    truth: Sparse

    @cached_property
    def X(self) -> Sparse:
        """The standardised features."""
        return standardised(self.features, self.row)

    @cached_property
    def y(self) -> PerRow:
        """1 for candidates that were bought in the window, else 0."""
        return np.asarray(self.truth[self.row, self.item], np.float64).ravel()

    def truth_table(self) -> dict[str, Any]:
        """Return the new purchases as a truth for `podium.measure`."""
        row, item = self.truth.nonzero()
        return {"user": self.users[row], "item": item.astype(np.int64)}

    def run_table(self, scores: PerRow) -> dict[str, Any]:
        """Return scored candidates as a run for `podium.measure`."""
        return {"user": self.users[self.row], "item": self.item, "score": scores}

    def pap(self, scores: PerRow) -> float:
        """Return the mean pAp@10 of the scores, measured on all new purchases."""
        return measure(self.truth_table(), self.run_table(scores), TARGET).means[TARGET]


class Trial(NamedTuple):
    """A trained ranker, and its mean pAp@10 on the validation window."""

    ranker: LinearRanker
    value: float

    @property
    def loss(self) -> Any:
        return losses.get(str(self.ranker.loss))

    @property
    def settings(self) -> str:
        """The loss, the learning rate and the penalty, in words."""
        penalty = f", l2={self.ranker.l2:g}" if self.ranker.l2 else ""
        return f"{self.ranker.loss}, learning_rate={self.ranker.learning_rate:g}{penalty}"

    def scores(self, task: Task) -> PerRow:
        """Return the scores of a task's candidates, without the intercept, which is constant."""
        return task.X @ self.ranker.coef_


class Duel(NamedTuple):
    """The paired test of better - worse by pAp@10, with a p value corrected for all pairs."""

    better: str
    worse: str
    test: stats.PairedTest
    p_value: float


@dataclass(frozen=True, eq=False)
class Results:
    """The trained rankers, the choices on validation, and the measures on the test window.

    Attributes
    ----------
    forms : dict of str to str
        The feature that validation chose for each baseline.
    trials : dict of str to list of Trial
        The trials by method, the best on validation first.
    scores, evaluations : dict by method
        The scores and measures on the test window.
    comparison : Comparison
        The comparison of all methods with the baseline. The baseline is the best method on
        validation among those whose loss is not made for pAp@k.
    duels : list of Duel
        All pairs of methods, those of the best method first.
    """

    shop: OnlineRetail
    tasks: dict[str, Task]
    forms: dict[str, str]
    trials: dict[str, list[Trial]]
    scores: dict[str, PerRow]
    evaluations: dict[str, Evaluation]
    comparison: Comparison
    duels: list[Duel]


def train_and_compare(shop: OnlineRetail, step: Callable[[str], None]) -> Results:
    """Train on the first window, choose on the second, and measure once on the third.

    `step` is called with the name of each step when it begins.
    """
    shop = select(shop, shop.quantity > 0)  # cancellations are left out
    tasks: dict[str, Task] = {}
    for name, (start, stop) in windows(shop).items():
        step(f"features of the {name} window")
        users, truth = new_purchases(shop, start, stop)
        tasks[name] = Task(start, stop, users, *describe(shop, start, users), truth)
    train, valid, test = tasks.values()

    trials = search(train, valid, step)
    forms = {
        name: max(features, key=lambda feature: valid.pap(valid.features[feature]))
        for name, features in BASELINES.items()
    }
    values = {name: valid.pap(valid.features[feature]) for name, feature in forms.items()}
    values[LOGISTIC] = trials[LOGISTIC][0].value
    baseline = max(values, key=lambda name: values[name])

    step("measuring the test window")
    scores = {name: test.features[feature] for name, feature in forms.items()}
    scores |= {name: method_trials[0].scores(test) for name, method_trials in trials.items()}
    evaluations = {
        name: evaluate(shop, test, method_scores) for name, method_scores in scores.items()
    }
    undivided = {name: replace(evaluations[name], segments=()) for name in evaluations}
    comparison = compare_evaluations({baseline: undivided[baseline], **undivided})
    pairs = duels(undivided)
    return Results(shop, tasks, forms, trials, scores, evaluations, comparison, pairs)


def windows(shop: OnlineRetail, days: int = WINDOW_DAYS) -> dict[str, tuple[int, int]]:
    """Return (start, stop) of the last three windows of the data: "train", "valid", "test"."""
    end, length = int(shop.minute.max()) + 1, days * DAY
    if end - 3 * length <= shop.minute.min():
        raise ArgumentError(
            f"days must be small enough to leave purchases before the windows, got {days}."
        )
    return {
        name: (end - n * length, end - (n - 1) * length)
        for name, n in (("train", 3), ("valid", 2), ("test", 1))
    }


def new_purchases(shop: OnlineRetail, start: int, stop: int) -> tuple[RowIndex, Sparse]:
    """Return the customers who bought products new to them in the window, and these products.

    The second value is CSR, (n_users, n_items). Customers without an earlier purchase are left out,
    because no recommendation to them could be personal.
    """
    bought_before, bought_during = (
        bought(between(shop, 0, start)),
        bought(between(shop, start, stop)),
    )
    is_new = (bought_during > bought_before).astype(np.float32)
    users = np.flatnonzero((bought_before.getnnz(axis=1) > 0) & (is_new.getnnz(axis=1) > 0))
    return users, is_new[users]


def search(train: Task, valid: Task, step: Callable[[str], None]) -> dict[str, list[Trial]]:
    """Train with all settings, then with variations of the best surrogate.

    The trials of each method are returned with the best on validation first.
    """

    def attempt(loss: str, rate: float, l2: float = 0.0) -> Trial:
        step(f"training {loss}, learning_rate={rate:g}")
        return fit(train, valid, loss, rate, l2)

    trials = {method: [attempt(*settings) for settings in grid] for method, grid in GRIDS.items()}
    best = str(max(trials[SURROGATE], key=lambda trial: trial.value).ranker.loss)
    trials[SURROGATE] += [attempt(best, rate, l2) for rate, l2 in REFINEMENTS]
    return {
        name: sorted(method_trials, key=lambda trial: -trial.value)
        for name, method_trials in trials.items()
    }


def fit(train: Task, valid: Task, loss: str, rate: float, l2: float) -> Trial:
    """Fit on one window and stop early by pAp@10 on the next.

    All losses, smooth or not, use the same solver, with steps short enough that early stopping can
    choose among many iterates.
    """
    ranker = LinearRanker(
        loss,
        l2=l2,
        solver="subgradient",
        learning_rate=rate,
        max_iter=120,
        tol=0.0,
        eval_metric=TARGET,
        patience=20,
    )
    with warnings.catch_warnings():
        # Stopping before the minimum of the loss is intended here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker.fit(train.X, train.y, qid=train.row, eval_set=(valid.X, valid.y, valid.row))
    return Trial(ranker, valid.pap(valid.X @ ranker.coef_))


def evaluate(shop: OnlineRetail, test: Task, scores: PerRow) -> Evaluation:
    """Measure scores on the test window, also by engagement and by country."""
    truth, run = test.truth_table(), test.run_table(scores)
    evaluation = measure(truth, run, MEASURES, by="engagement")
    is_home = shop.country[evaluation.labels] == "United Kingdom"
    return evaluation.segmented("country", np.where(is_home, "United Kingdom", "elsewhere"))


def duels(evaluations: Mapping[str, Evaluation]) -> list[Duel]:
    """Return the tests of all pairs of methods, because the results decide which pairs matter."""
    order = sorted(evaluations, key=lambda name: -evaluations[name].means[TARGET])
    pairs = list(combinations(order, 2))
    tests = [
        compare_evaluations({worse: evaluations[worse], better: evaluations[better]})
        .difference(TARGET, better)
        .test
        for better, worse in pairs
    ]
    p_values = stats.holm([test.randomisation_p_value for test in tests]).tolist()
    return [Duel(*pair, test, p) for pair, test, p in zip(pairs, tests, p_values, strict=True)]
