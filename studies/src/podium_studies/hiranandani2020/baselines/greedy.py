"""A greedy combination of linear classifiers that maximises a measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.rankers import logistic
from podium.rankers.fitting import by_content
from podium.rankers.objective import Parameters, times
from podium.types import PerRow, Progress
from podium_studies import checks
from podium_studies.baseline import Task
from podium_studies.hiranandani2020.baselines.linear import LinearBaseline


@dataclass(frozen=True, eq=False)
class Candidate:
    """Coefficients with their scores, their measure, and their composition.

    Attributes
    ----------
    coef : float64, (n_features,)
        The coefficients.
    scores : float64, (n_eval_rows,)
        The scores of the rows on which the measure is computed.
    shares : float64, (n_base,)
        The weight of each base classifier in the coefficients.
    value : float
        The mean measure of the scores; higher is better.
    """

    coef: Parameters
    scores: PerRow
    shares: Parameters
    value: float

    def mixed(self, other: Candidate, a: float, b: float, task: Task) -> Candidate:
        """Return a times this candidate plus b times the other."""
        scores = a * self.scores + b * other.scores
        coef, shares = a * self.coef + b * other.coef, a * self.shares + b * other.shares
        return Candidate(coef, scores, shares, task.evaluate(scores))


@dataclass(eq=False, repr=False, kw_only=True)
class GreedyPAp(LinearBaseline):
    """Greedy-pAp@k: base classifiers that are combined one after the other to maximise pAp@k.

    The base classifiers are logistic regressions, the first on all rows, the others on bootstrap
    samples of the groups. They are combined in descending order of the measure. Each step replaces
    the current coefficients w by ``a * w + v`` or ``w + a * v``, where v are the coefficients of
    the next classifier and a is on a grid over [0, 1]. The step selects the combination with the
    best mean measure over groups, and keeps w if none is better.

    Parameters
    ----------
    k : int
        The cutoff of the measure.
    n_base : int
        The number of base classifiers, at least 1.
    C : float
        The inverse of the penalty of the base classifiers, > 0, as in `LogisticRanker`.
    n_grid : int
        The number of values of a, from 0 to 1; at least 2.
    eval_metric : str or Measure, optional
        The measure that is maximised and that `score` returns. The default is pap@k.
    clip : bool
        Whether to include groups with fewer than k negatives, with the negatives they have.
    min_relevance : float
        The least relevance of a positive.
    random_state : int
        The seed of the bootstrap samples.
    one_group : bool
        Whether to treat all rows as one group if `qid` is missing, instead of raising an error.

    Attributes
    ----------
    coef_ : float64, (n_features,)
        The coefficients.
    intercept_ : float
        Always 0, because an intercept does not change the order.
    weights_ : float64, (n_base,)
        The weight of each base classifier in ``coef_``. The first was learned from all rows.
    history_ : dict of float64, (n_base,)
        "measure" is the mean measure after each step, on the eval_set if there is one.
    n_features_in_, feature_names_in_
        The attributes of scikit-learn.

    Notes
    -----
    In the source, the base classifiers are given. Bootstrap samples are podium's way to make
    them. A step never lowers the measure of the training rows, or with an eval_set the measure of
    its rows. If there is only one group, its rows are sampled. Cost: n_base classifiers, and
    2 n_grid evaluations of the measure for each.

    References
    ----------
    ricamato2011.
    hiranandani2020, section 7.3.2.

    Examples
    --------
    >>> from podium_studies.hiranandani2020.baselines import GreedyPAp
        >>> ranker = GreedyPAp(k=1, one_group=True).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> ranker.score([[0.0], [1.0]], [0, 1])
    1.0
    """

    length_parameter: ClassVar[str] = "n_base"

    n_base: int = 5
    C: float = 1.0
    n_grid: int = 20
    random_state: int = 0

    def _coefficients(self, task: Task, progress: Progress) -> Parameters:
        n_base = checks.cutoff(self.n_base, name="n_base")
        seed = checks.integer(self.random_state, "random_state")
        grid = np.linspace(0.0, 1.0, checks.integer(self.n_grid, "n_grid", low=2)).tolist()
        logistic.require_both_classes(task.positive, task.weights, self.min_relevance)
        bases: list[Candidate] = []
        for i, weights in enumerate(_bootstraps(task, n_base, np.random.default_rng(seed))):
            coef, *_ = logistic.fitted(task.rows.features, task.positive, weights, C=self.C)
            scores = times(task.measured.features, coef)
            bases.append(Candidate(coef, scores, np.eye(n_base)[i], task.evaluate(scores)))
            progress(i + 1, 2 * n_base - 1, f"base classifier, {bases[-1].value:.4f}")
        best_base, *other_bases = sorted(bases, key=lambda base: -base.value)
        merged, mixtures = [best_base], [*((a, 1.0) for a in grid), *((1.0, a) for a in grid)]
        for other in other_bases:
            candidates = [merged[-1].mixed(other, a, b, task) for a, b in mixtures]
            # The first of equal ones: the combination so far, if none is better.
            merged.append(max(merged[-1], *candidates, key=lambda candidate: candidate.value))
            n_done = n_base + len(merged) - 1
            progress(n_done, 2 * n_base - 1, f"merged, {merged[-1].value:.4f}")
        self.weights_ = merged[-1].shares
        self.history_ = {"measure": np.array([step.value for step in merged])}
        return merged[-1].coef


def _bootstraps(task: Task, n: int, rng: np.random.Generator) -> Iterator[PerRow | None]:
    """Yield n row weights: first as given, then multiplied by the draws of the row's group."""
    rows = task.rows
    row_weights = np.ones(task.positive.size) if task.weights is None else task.weights
    unit_of_row, n_units = rows.groups.index, rows.groups.n_groups
    if n_units == 1:  # the rows of one group are drawn, by their positions when sorted by content
        by_position: Any = by_content(rows.features, rows.relevance, rows.groups).order
        unit_of_row, n_units = np.argsort(by_position), row_weights.size
    yield task.weights
    for _ in range(n - 1):
        draw_counts = np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)
        weights = row_weights * draw_counts[unit_of_row]
        sampled_positives = task.positive[weights > 0]
        # A sample with one class cannot be learned from, so it is replaced by all rows.
        yield weights if sampled_positives.any() and not sampled_positives.all() else task.weights
