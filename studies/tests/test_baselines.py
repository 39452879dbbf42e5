"""Each baseline is the method it is named after; and what all of them owe."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import piqp
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.oracles.loss_oracles import orderings

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.metrics import parse
from podium.rankers.objective import Labels
from podium.rankers.validation import validator
from podium.ranking import Ranking
from podium.testing.contracts import LossContract
from podium_studies.hiranandani2020.baselines import GreedyPAp, SelectPAp, SVMpAUC
from podium_studies.hiranandani2020.surrogates import PrecisionAverage

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")

BASELINES: list[Any] = [GreedyPAp(3), SelectPAp(3), SVMpAUC(3)]
every = pytest.mark.parametrize("baseline", BASELINES, ids=lambda b: type(b).__name__)


def problem(seed: int = 0, n: int = 300, noise: float = 1.0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3]) + noise * rng.standard_normal(n)
    return X, (utility > 0.8).astype(float), np.arange(n) % 12


X, Y, QID = problem()


def mean_of(measure: str, scores: Any, data: tuple[Any, Any, Any] = (X, Y, QID)) -> float:
    """Return the mean over groups, as rankers measure it."""
    rows = Labels(data[1], Groups.from_qid(data[2]))
    return validator(measure, rows, min_relevance=1.0)(scores)


def pap(scores: Any, data: tuple[Any, Any, Any] = (X, Y, QID), k: int = 3) -> float:
    return mean_of(f"pap@{k}", scores, data)


# --- SGD@k-avg's loss ---


class TestPrecisionAverageClipped(LossContract):
    def make(self) -> Any:
        return PrecisionAverage(3, clip=True, min_relevance=2)


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


def test_precision_average_is_the_maximum_over_all_lists() -> None:
    """With fewer negatives than k, positives fill what they lack."""
    lists = list(small_lists())
    assert any(len(s) > k for s, _, k in lists)
    assert any({*s} & {*t} for s, t, _ in lists)
    for s, t, k in [*lists, *((s, t, 4) for s, t, _ in lists[:100])]:
        value = evaluated(s, t, PrecisionAverage(k, clip=True))
        assert value == pytest.approx(float(precision_average(s, t, k)), abs=1e-12)


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


# --- SVM-pAUC ---


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
    assert (C, k) != (3.0, 2) or np.linalg.norm(w) > 0.1  # the optimum is off zero


# --- Greedy and Select ---


def greedy_bases(model: GreedyPAp, y: Any = Y) -> Iterator[Any]:
    """Yield the base classifiers' coefficients, drawn again as the docstring says."""
    rng = np.random.default_rng(model.random_state)
    for i in range(model.n_base):
        weights = np.ones(12) if i == 0 else np.bincount(rng.integers(0, 12, 12), minlength=12)
        peer = LogisticRegression(C=model.C, tol=1e-10, max_iter=10_000)
        yield peer.fit(X, y, sample_weight=weights[QID].astype(float)).coef_[0]


def test_greedy_merge_is_the_best_of_the_grid_by_the_mean_over_users() -> None:
    """And not by raw counts of pairs, which would let users with many positives decide."""
    users = X, noisy_labels(), QID
    grid, improved, differed = np.linspace(0, 1, 11), 0, 0
    for seed in range(4):
        ranker = GreedyPAp(8, n_base=2, n_grid=11, random_state=seed).fit(*users)
        w, v = sorted(greedy_bases(ranker, users[1]), key=lambda coef: -pap(X @ coef, users, 8))
        merged = [a * w + v for a in grid] + [w + a * v for a in grid]
        values = [pap(X @ coef, users, 8) for coef in merged]
        before = pap(X @ w, users, 8)
        expected = [before, max(before, *values)]
        assert ranker.history_["measure"].tolist() == pytest.approx(expected)
        improved += expected[1] > before
        by_pairs = np.argmax([correct_pairs(X @ coef, users[1], 8) for coef in merged])
        differed += values[int(by_pairs)] < max(values)
    assert improved > 0
    assert differed > 0


def correct_pairs(scores: Any, y: Any, k: int) -> float:
    measure, ranking = parse(f"pap@{k}"), Ranking.from_scores(scores, y, QID)
    pairs = measure.weights(ranking)
    assert pairs is not None
    assert len(set(pairs)) > 1
    return float(np.nansum(measure(ranking) * pairs))


def noisy_labels() -> Any:
    """Return labels with many positives of some users and few of others."""
    noise = 3.0 * np.random.default_rng(7).standard_normal(300)
    return (X[:, 0] + noise > np.linspace(0.0, 5.0, 12)[QID]).astype(float)


def test_greedy_never_loses_and_says_what_it_mixed() -> None:
    y, most = noisy_labels(), 0
    for seed in range(4):
        ranker = GreedyPAp(8, n_base=6, random_state=seed).fit(X, y, QID)
        gains = np.diff(ranker.history_["measure"])
        assert (gains >= 0).all()
        most = max(most, int(np.count_nonzero(gains)))
        assert ranker.score(X, y, QID) == pytest.approx(ranker.history_["measure"][-1])
        mixed = sum(a * w for a, w in zip(ranker.weights_, greedy_bases(ranker, y), strict=True))
        np.testing.assert_allclose(ranker.coef_, mixed, rtol=1e-4, atol=1e-5)
    assert most > 1


def pool(scores: Any, k: int) -> Any:
    """Return the rows of each group's top positives and top negatives."""
    rows: list[Any] = []
    for g in range(12):
        for label in (1.0, 0.0):
            inside = np.flatnonzero((g == QID) & (label == Y))
            rows += sorted(inside, key=lambda row: -scores[row])[:k]
    return np.sort(rows)


def test_select_fits_the_pool_of_the_round_before() -> None:
    ranker = SelectPAp(3, C=10.0, max_rounds=4).fit(X, Y, QID)
    coef = LogisticRegression(C=10.0, tol=1e-10, max_iter=10_000).fit(X, Y).coef_[0]
    values: list[float] = []
    for _ in range(ranker.n_iter_):
        rows = pool(X @ coef, 3)
        peer = LogisticRegression(C=10.0, tol=1e-10, max_iter=10_000)
        coef = peer.fit(X[rows], Y[rows]).coef_[0]
        values.append(pap(X @ coef))
    assert ranker.history_["measure"].tolist() == pytest.approx(values)
    assert ranker.score(X, Y, QID) == max(ranker.history_["measure"])
    assert ranker.best_iteration_ == int(np.argmax(values))


def test_select_stops_at_a_pool_it_has_seen() -> None:
    ranker = SelectPAp(3, max_rounds=1000).fit(X, Y, QID)
    assert ranker.stop_reason_ == "repeated"
    assert ranker.n_iter_ < 1000
    short = SelectPAp(3, max_rounds=1).fit(X, Y, QID)
    assert (short.stop_reason_, short.n_iter_) == ("max_rounds", 1)


# --- what all owe ---


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return the checks that ask for weights by row, or for words about samples, of groups."""
    if isinstance(estimator, GreedyPAp):
        return {}
    by_group = "weights must be constant within a group"
    checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return {
        **dict.fromkeys([*checks, "check_sample_weights_not_overwritten"], by_group),
        "check_fit2d_1sample": "the error speaks of groups that lack a class",
    }


@pytest.mark.long
@parametrize_with_checks(
    [make(1, one_group=True) for make in (GreedyPAp, SelectPAp, SVMpAUC)],
    expected_failed_checks=expected_failures,
)
def test_baseline_follows_scikit_learn(estimator: Any, check: Any) -> None:
    """The checks' labels vary: each must pass at a threshold that leaves it both classes."""
    for low in (2, 4, 8):
        try:
            return check(clone(estimator).set_params(min_relevance=low))
        except Exception as error:  # whatever a check raises
            last = error
    raise last


@every
def test_baseline_ranks_new_users(baseline: Any) -> None:
    fitted = clone(baseline).fit(*problem(noise=0.3))
    users = problem(seed=1, noise=0.3)
    random = [np.random.default_rng(i).standard_normal(users[1].size) for i in range(20)]
    assert fitted.score(*users) > 0.85 > 0.6 > np.mean([pap(scores, users) for scores in random])
    assert fitted.score(*users) == pap(fitted.predict(users[0]), users)
    np.testing.assert_allclose(fitted.predict(X), X @ fitted.coef_, atol=1e-12)


def test_weight_by_group_is_weight_by_row() -> None:
    """Of Greedy, which the law of all rankers leaves out, because it draws groups."""
    weights = np.arange(1.0, 13.0) ** 2
    by_group = GreedyPAp(3).fit(X, Y, QID, sample_weight=weights).coef_
    by_row = GreedyPAp(3).fit(X, Y, QID, sample_weight=weights[QID]).coef_
    assert by_group.tobytes() == by_row.tobytes()
    assert not np.allclose(by_group, GreedyPAp(3).fit(X, Y, QID).coef_, rtol=1e-3)


@every
def test_sparse_features_give_the_dense_ranker(baseline: Any) -> None:
    thin = np.where(np.abs(X) < 0.3, 0.0, X)
    dense, other = (clone(baseline).fit(f(thin), Y, QID) for f in (np.asarray, sparse.csr_array))
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(other.predict(sparse.csr_array(X)), other.predict(X), atol=1e-12)


@every
def test_threshold_moves_positives_in_training_and_in_score(baseline: Any) -> None:
    graded = clone(baseline).set_params(min_relevance=2.0).fit(X, 1.0 + Y, QID)
    plain = clone(baseline).fit(X, Y, QID)
    assert graded.coef_.tobytes() == plain.coef_.tobytes()
    assert graded.score(X, 1.0 + Y, QID) == plain.score(X, Y, QID)


@every
def test_clip_takes_groups_with_fewer_negatives_than_k(baseline: Any) -> None:
    users = problem(noise=0.3)
    model = clone(baseline).set_params(k=30)
    with pytest.raises(ArgumentError):
        model.fit(*users)
    fitted = model.set_params(clip=True).fit(*users)
    clipped = mean_of("pap(clip=true)@30", fitted.predict(X), users)
    assert fitted.score(*users) == clipped > 0.9


@pytest.mark.parametrize(
    "model",
    [
        GreedyPAp(0),
        GreedyPAp(3, n_base=0),
        GreedyPAp(3, n_grid=1),
        GreedyPAp(3, C=-1.0),
        GreedyPAp(3, random_state=-1),
        SelectPAp(2.5),
        SelectPAp(3, start="zero"),
        SelectPAp(3, max_rounds=0),
        SVMpAUC(3, C=0.0),
        SVMpAUC(3, tol=-1.0),
        SVMpAUC(3, max_iter=0),
        SVMpAUC(3, patience=0),
    ],
)
def test_bad_parameters_are_refused(model: Any) -> None:
    with pytest.raises(ArgumentError):
        model.fit(X, Y, QID)
