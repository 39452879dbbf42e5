"""Linear classifiers merged by pairs, as the measure itself likes best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.rankers.baseline import Coefficients, LinearBaseline, Task
from podium.rankers.content import by_content
from podium.rankers.fitting import seed_of
from podium.rankers.logistic import Classifier, require_both_classes
from podium.rankers.objective import times
from podium.types import PerRow, Progress, RowIndex


@dataclass(frozen=True, eq=False)
class Candidate:
    """Coefficients, the scores and the measure they give, and what they were merged from.

    Attributes
    ----------
    coef : float64, (n_features,)
    scores : float64, (n_judged,)
    value : float
        Mean measure of the scores, higher is better.
    shares : float64, (n_base,)
        How much of each base classifier is in them.
    """

    coef: Coefficients
    scores: PerRow
    value: float
    shares: Coefficients


_FINEST = 1_000_000  # points of the grid; far more would fill memory


class GreedyPAp(LinearBaseline):
    """Greedy-pAp@k: base classifiers, best first, merged one after the other by pAp@k itself.

    The base classifiers are logistic regressions, the first on all rows, the others on bootstrap
    samples of the groups. Sorted by the measure, each is merged into the current coefficients w
    as ``a * w + v`` or ``w + a * v``, a on a grid over [0, 1], whichever has the best mean of
    the measure over groups, w alone included.

    Parameters
    ----------
    k : int
        Cutoff of the measure.
    n_base : int
        Base classifiers, at least 1.
    C : float
        Inverse of their penalty, > 0, as in `LogisticRanker`.
    n_grid : int
        Values of a, from 0 to 1; at least 2 and at most 1,000,000.
    eval_measure : str or Measure, optional
        What is maximised and what `score` returns; pap at k without one.
    clip : bool
        Count groups with fewer than k negatives too, by those they have.
    min_relevance : float
        Relevance from which a row is a positive.
    random_state : int
        Seed of the bootstrap samples.
    one_group : bool
        Take all rows as one group where no qid arrives, instead of refusing.

    Attributes
    ----------
    coef_ : float64, (n_features,)
    intercept_ : float
        0: an intercept changes no order.
    weights_ : float64, (n_base,)
        How much of each base classifier is in coef_; the first was learned from all rows.
    history_ : dict of float64, (n_base,)
        "measure": the mean measure after each merge, on the eval_set if there is one.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The source merges classifiers that it is given; bootstrap samples are podium's choice for
    making some. The measure of the training rows never falls in a merge; given an eval_set,
    that one's. A single group is sampled by rows. Cost: n_base classifiers, and 2 n_grid
    evaluations of the measure for each.

    References
    ----------
    ricamato2011.
    hiranandani2020, section 7.3.2.

    Examples
    --------
    >>> from podium.papers.hiranandani2020.baselines import GreedyPAp
    >>> ranker = GreedyPAp(k=1, one_group=True).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> ranker.score([[0.0], [1.0]], [0, 1])
    1.0
    """

    def __init__(
        self,
        k: int = 10,
        *,
        n_base: int = 5,
        C: float = 1.0,
        n_grid: int = 20,
        eval_measure: str | Measure | None = None,
        clip: bool = False,
        min_relevance: float = 1.0,
        random_state: int = 0,
        one_group: bool = False,
    ) -> None:
        self.k = k
        self.n_base = n_base
        self.C = C
        self.n_grid = n_grid
        self.eval_measure = eval_measure
        self.clip = clip
        self.min_relevance = min_relevance
        self.random_state = random_state
        self.one_group = one_group

    def _learn(self, X: Any, y: Any, qid: Any, data: dict[str, Any], progress: Progress) -> None:
        n_base, seed = _check.cutoff(self.n_base, name="n_base"), seed_of(self.random_state)
        grid = _grid(self.n_grid)
        classifier = Classifier(C=self.C)
        task = self._task(X, y, qid, data)
        require_both_classes(task.positive, task.weights, self.min_relevance)
        bases: list[Candidate] = []
        for i, weights in enumerate(_bootstraps(task, n_base, np.random.default_rng(seed))):
            coef, *_ = classifier.fit(task.rows.features, task.positive, weights)
            scores = times(task.judged, coef)
            bases.append(Candidate(coef, scores, task.judge(scores), np.eye(n_base)[i]))
            progress(i + 1, 2 * n_base - 1, f"base classifier, {bases[-1].value:.4f}")
        first, *others = sorted(bases, key=lambda base: -base.value)
        steps = [first]
        for other in others:
            steps.append(_merged(steps[-1], other, grid, task.judge))
            done = n_base + len(steps) - 1
            progress(done, 2 * n_base - 1, f"merged, {steps[-1].value:.4f}")
        self.coef_, self.intercept_, self.weights_ = steps[-1].coef, 0.0, steps[-1].shares
        self.history_ = {"measure": np.array([step.value for step in steps])}


def _merged(
    one: Candidate, other: Candidate, grid: PerRow, judge: Callable[[PerRow], float]
) -> Candidate:
    """Return the best of a * one + other and one + a * other; one itself where none is better."""
    mixtures = [(float(a), 1.0) for a in grid] + [(1.0, float(a)) for a in grid]
    values = [judge(a * one.scores + b * other.scores) for a, b in mixtures]
    best = int(np.argmax(values))
    if values[best] <= one.value:
        return one
    a, b = mixtures[best]
    return Candidate(
        a * one.coef + b * other.coef,
        a * one.scores + b * other.scores,
        values[best],
        a * one.shares + b * other.shares,
    )


def _bootstraps(task: Task, n: int, rng: np.random.Generator) -> Iterator[PerRow | None]:
    """Yield n weights by row: as given, and then times how often a row's group was drawn."""
    given = np.ones(task.positive.size) if task.weights is None else task.weights
    n_groups = task.rows.groups.n_groups
    unit = task.rows.groups.index if n_groups > 1 else _places(task)
    n_units = n_groups if n_groups > 1 else given.size
    yield task.weights
    for _ in range(n - 1):
        drawn = np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)
        weights = given * drawn[unit]
        counted = task.positive[weights > 0]
        # A sample with one class cannot be learned from; the sample of all rows can.
        yield weights if counted.any() and not counted.all() else task.weights


def _places(task: Task) -> RowIndex:
    """Return the place of each row of one group in the order of what rows hold."""
    rows = task.rows
    places = np.empty(rows.relevance.size, np.int64)
    places[by_content(rows.features, rows.relevance, rows.groups).order] = np.arange(places.size)
    return places


def _grid(n_grid: Any) -> PerRow:
    n = _check.cutoff(n_grid, name="n_grid")
    if not 2 <= n <= _FINEST:
        raise ArgumentError(
            f"n_grid must be at least 2, for 0 and 1, and at most {_FINEST}, got {n}."
        )
    return np.linspace(0.0, 1.0, n)
