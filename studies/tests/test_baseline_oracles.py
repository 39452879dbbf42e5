"""Baselines against what their definitions say, every subset and every ordering tried."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import piqp
import pytest

from podium.groups import Groups
from podium.metrics import parse
from podium.ranking import Ranking
from podium.testing.loss_oracles import orderings
from podium_studies.hiranandani2020.baselines import PrecisionAverage, SVMpAUC

Scores = tuple[Fraction, ...]


def precision_average(positives: Scores, negatives: Scores, k: int) -> Fraction:
    """Return the surrogate as its source has it: a maximum over lists of K = min(k, n_pos)."""
    n_pos = len(positives)
    size = min(k, n_pos)
    best = Fraction(-(10**9))
    for chosen in combinations(range(n_pos + len(negatives)), size):
        hits = [i for i in chosen if i < n_pos]
        missed = [s for i, s in enumerate(positives) if i not in hits]
        wrong = [negatives[i - n_pos] for i in chosen if i >= n_pos]
        ratio = Fraction(len(wrong), len(missed)) if missed else Fraction(0)
        best = max(best, len(wrong) - ratio * sum(missed) + sum(wrong))
    return best / k


def small_lists(n: int = 300) -> Iterator[tuple[Scores, Scores, int]]:
    """Yield positives and negatives on a coarse grid, hence with ties, and k <= n_neg."""
    for seed in range(n):
        rng = np.random.default_rng(seed)
        n_pos, n_neg = (int(i) for i in rng.integers(1, 5, 2))
        halves = [Fraction(int(i), 2) for i in rng.integers(-4, 5, n_pos + n_neg)]
        yield tuple(halves[:n_pos]), tuple(halves[n_pos:]), int(rng.integers(1, n_neg + 1))


def evaluated(positives: Scores, negatives: Scores, loss: Any) -> float:
    scores = np.array([*positives, *negatives], dtype=np.float64)
    relevance = np.repeat([1.0, 0.0], [len(positives), len(negatives)])
    return float(
        loss.value_and_grad(scores, loss.prepare(relevance, Groups.single(scores.size)))[0][0]
    )


def test_small_lists_have_ties_and_both_sides_of_k() -> None:
    lists = list(small_lists())
    assert any(len(s) > k for s, _, k in lists)
    assert any(len(s) < k for s, _, k in lists)
    assert any(set(s) & set(t) for s, t, _ in lists)


def test_precision_average_is_the_maximum_over_all_lists() -> None:
    for s, t, k in small_lists():
        assert evaluated(s, t, PrecisionAverage(k)) == pytest.approx(
            float(precision_average(s, t, k)), abs=1e-12
        )


def test_precision_average_with_fewer_negatives_than_k() -> None:
    """Lists of K still hold: what negatives lack, positives fill."""
    for s, t, _ in small_lists(100):
        value = evaluated(s, t, PrecisionAverage(4, clip=True))
        assert value == pytest.approx(float(precision_average(s, t, 4)), abs=1e-12)


def test_precision_average_bounds_what_precision_falls_short_of_its_best() -> None:
    precision, tight = parse("precision@2"), 0
    for s, t, _ in small_lists():
        if len(t) < 2:
            continue
        ranking = Ranking.from_scores([float(x) for x in (*s, *t)], [1] * len(s) + [0] * len(t))
        short = min(2, len(s)) / 2 - precision(ranking)[0]
        value = evaluated(s, t, PrecisionAverage(2))
        assert value >= short - 1e-12
        tight += value <= short + 1e-12
    assert tight > 0


def svm_problem(seed: int) -> tuple[Any, Any, Any]:
    """Return three groups of 3, 1 and 2 positives and 3, 4 and 2 negatives in two features."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, 0.0] * 3, [3, 3, 1, 4, 2, 2])
    X = rng.standard_normal((y.size, 2)) + 0.7 * y[:, None]
    return X, y, np.repeat([0, 1, 2], [6, 5, 4])


def constraints(X: Any, y: Any, qid: Any, k: int) -> Iterator[tuple[int, Any, float]]:
    """Yield (group, psi, delta) of each ordering: its slack is at least delta - w.psi."""
    for g in np.unique(qid):
        pos, neg = X[(qid == g) & (y > 0)], X[(qid == g) & (y == 0)]
        for top in combinations(neg, k):
            for pi in orderings(len(pos), k):
                errors = np.array(pi) / (len(pos) * k)
                gaps = pos[:, None, :] - np.array(top)[None, :, :]
                yield int(g), np.einsum("ij,ijd->d", errors, gaps), float(errors.sum())


def structural_svm(X: Any, y: Any, qid: Any, k: int, C: float) -> tuple[Any, float]:
    """Solve ``w.w / 2 + C mean(slack)`` under every constraint, one slack a group."""
    rows = list(constraints(X, y, qid, k))
    n_groups, d = np.unique(qid).size, X.shape[1]
    matrix = np.zeros((len(rows), d + n_groups))
    for i, (g, psi, _) in enumerate(rows):
        matrix[i, :d], matrix[i, d + g] = psi, 1.0
    delta = np.array([delta for _, _, delta in rows])

    quadratic, linear = (
        np.diag([1.0] * d + [0.0] * n_groups),
        np.repeat([0.0, C / n_groups], [d, n_groups]),
    )
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-12
    solver.setup(quadratic, linear, G=matrix, h_l=delta)
    assert solver.solve() == piqp.PIQP_SOLVED
    z = np.array(solver.result.x)
    return z[:d], float(z @ quadratic @ z / 2 + linear @ z)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("C", [0.3, 3.0, 100.0])
@pytest.mark.parametrize("seed", range(4))
def test_svm_pauc_is_the_structural_svm_of_all_orderings(seed: int, C: float, k: int) -> None:
    X, y, qid = svm_problem(seed)
    w, value = structural_svm(X, y, qid, k, C)
    ranker = SVMpAUC(k, C=C, tol=1e-9).fit(X, y, qid)
    assert C * ranker.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(ranker.coef_, w, rtol=1e-3, atol=1e-4)
    assert ranker.objective_ - ranker.gap_ <= value / C + 1e-9


def test_structural_svm_reaches_no_corner_only() -> None:
    """The problems above have optima off zero, and with slack left."""
    solved = [structural_svm(*svm_problem(seed), 2, 3.0) for seed in range(4)]
    assert all(np.linalg.norm(w) > 0.1 for w, _ in solved)
    assert any(value - w @ w / 2 > 0.1 for w, value in solved)
