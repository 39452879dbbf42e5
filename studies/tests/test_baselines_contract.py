"""What all baselines owe: scikit-learn's contract, one way to call them, the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.rankers import LogisticRanker
from podium.rankers.validation import validator
from podium_studies.hiranandani2020.baselines import GreedyPAp, SelectPAp, SGDAtK, SVMpAUC

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")

BASELINES: list[Any] = [
    LogisticRanker(eval_metric="pap@3"),
    GreedyPAp(3),
    SelectPAp(3),
    SGDAtK(3, learning_rate=2.0),
    SVMpAUC(3),
]
BY_GROUP = (SelectPAp, SGDAtK, SVMpAUC)  # weights are of groups

NOTHING_LEARNED = (
    *("check_fit_score_takes_y", "check_n_features_in", "check_estimators_nan_inf"),
    *(
        "check_estimator_sparse_matrix",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
    ),
    *("check_fit_idempotent", "check_fit_check_is_fitted", "check_sample_weights_list"),
)
"""The checks of scikit-learn whose random labels end SGD@k at zero coefficients, a refusal."""

every = pytest.mark.parametrize("baseline", BASELINES, ids=lambda b: type(b).__name__)


def mean_of(measure: str, scores: Any, y: Any, qid: Any) -> float:
    """Return the mean over groups, as rankers measure it."""
    return validator(measure, y, Groups.from_qid(qid), min_relevance=1.0)(scores)


def problem(seed: int = 0, n: int = 300) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3]) + 0.3 * rng.standard_normal(n)
    return X, (utility > 0.8).astype(float), rng.permutation(np.arange(n) % 12)


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return the checks that ask for weights by row, or for words about samples, of groups."""
    if not isinstance(estimator, BY_GROUP):
        return {}
    by_group = "weights must be constant within a group"
    failures = {
        f"check_sample_weight_equivalence_on_{kind}_data": by_group for kind in ("dense", "sparse")
    } | {"check_sample_weights_not_overwritten": by_group}
    if isinstance(estimator, SGDAtK):
        failures |= dict.fromkeys(NOTHING_LEARNED, "the loss learns nothing from these labels")
    if not isinstance(estimator, SelectPAp):
        failures["check_fit2d_1sample"] = "the error speaks of groups that lack a class"
    return failures


@pytest.mark.long
@parametrize_with_checks(
    [
        LogisticRanker(one_group=True),
        *(make(1, one_group=True) for make in (GreedyPAp, SelectPAp, SGDAtK, SVMpAUC)),
    ],
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
    fitted = clone(baseline).fit(*problem())
    X, y, qid = problem(seed=1)
    random = [np.random.default_rng(i).standard_normal(y.size) for i in range(20)]
    chance = np.mean([mean_of("pap@3", scores, y, qid) for scores in random])
    assert fitted.score(X, y, qid) > 0.85 > 0.6 > chance
    assert fitted.score(X, y, qid) == mean_of("pap@3", fitted.predict(X), y, qid)
    np.testing.assert_allclose(fitted.predict(X), X @ fitted.coef_ + fitted.intercept_, atol=1e-12)


@every
def test_row_order_and_names_of_groups_do_not_matter(baseline: Any) -> None:
    X, y, qid = problem()
    order = np.random.default_rng(1).permutation(y.size)
    one = clone(baseline).fit(X, y, qid).coef_
    other = clone(baseline).fit(X[order], y[order], [f"user {q:02}" for q in qid[order]]).coef_
    np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-7)


@every
def test_weight_by_group_is_weight_by_row(baseline: Any) -> None:
    X, y, qid = problem()
    weights = np.arange(1.0, 13.0) ** 2
    by_group = clone(baseline).fit(X, y, qid, sample_weight=weights).coef_
    by_row = clone(baseline).fit(X, y, qid, sample_weight=weights[qid]).coef_
    assert by_group.tobytes() == by_row.tobytes()
    assert not np.allclose(by_group, clone(baseline).fit(X, y, qid).coef_, rtol=1e-3)


@every
def test_sparse_features_give_the_dense_ranker(baseline: Any) -> None:
    X, y, qid = problem()
    X[np.abs(X) < 0.3] = 0.0
    dense, other = clone(baseline).fit(X, y, qid), clone(baseline).fit(sparse.csr_array(X), y, qid)
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(other.predict(sparse.csr_array(X)), other.predict(X), atol=1e-12)


@every
def test_threshold_moves_positives_in_training_and_in_score(baseline: Any) -> None:
    X, y, qid = problem()
    graded = clone(baseline).set_params(min_relevance=2).fit(X, 1.0 + y, qid)
    plain = clone(baseline).fit(X, y, qid)
    assert graded.coef_.tobytes() == plain.coef_.tobytes()
    assert graded.score(X, 1.0 + y, qid) == plain.score(X, y, qid)


@pytest.mark.parametrize("baseline", BASELINES[1:], ids=lambda b: type(b).__name__)
def test_clip_takes_groups_with_fewer_negatives_than_k(baseline: Any) -> None:
    X, y, qid = problem()
    model = clone(baseline).set_params(k=30)
    with pytest.raises(ArgumentError):
        model.fit(X, y, qid)
    fitted = model.set_params(clip=True).fit(X, y, qid)
    clipped = mean_of("pap(clip=true)@30", fitted.predict(X), y, qid)
    assert fitted.score(X, y, qid) == clipped > 0.9


X0, Y0, Q0 = problem()


@pytest.mark.parametrize(
    "model",
    [
        LogisticRanker(C=0.0),
        LogisticRanker(tol=0.0),
        LogisticRanker(max_iter=0),
        LogisticRanker(fit_intercept="no"),
        LogisticRanker(min_relevance=0.0),
        LogisticRanker(eval_metric="nope@3"),
        GreedyPAp(0),
        GreedyPAp(3, n_base=0),
        GreedyPAp(3, n_grid=1),
        GreedyPAp(3, C=-1.0),
        GreedyPAp(3, random_state=-1),
        SelectPAp(2.5),
        SelectPAp(3, C=-1.0),
        SelectPAp(3, start="zero"),
        SelectPAp(3, max_rounds=0),
        SelectPAp(3, random_state=None),
        SGDAtK(0),
        SGDAtK(3, solver="bundle"),
        SGDAtK(3, learning_rate=0.0),
        SVMpAUC(3, C=0.0),
        SVMpAUC(3, tol=-1.0),
        SVMpAUC(3, max_iter=0),
        SVMpAUC(3, patience=0),
    ],
)
def test_bad_parameters_are_refused(model: Any) -> None:
    with pytest.raises(ArgumentError):
        model.fit(X0, Y0, Q0)
