"""Scans: exact where everything is scored, honest about the rest, resumable, and refused if bad."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tests.raised import raises

from podium import sampled
from podium.catalogue import target_ranks
from podium.errors import DataError, PodiumWarning
from podium.sampled import ScannedRanks, compare, evaluate, scan
from podium.sampled.scanning import measured as open_targets
from podium.sampled.scanning.measured import combined

N_USERS, N_ITEMS, K = 300, 400, 5
MEASURES = ["recall@5", "ndcg@5", "ap@3"]
Matrix = NDArray[np.float64]


def look_up(scores: Any) -> Any:
    """Return a scorer that reads a matrix of scores."""
    return lambda rows, items: scores[rows, items]


@pytest.fixture(scope="module")
def scores() -> Matrix:
    return np.random.default_rng(1).normal(size=(N_USERS, N_ITEMS))


@pytest.fixture(scope="module")
def proxy(scores: Matrix) -> Matrix:
    return scores + np.random.default_rng(2).normal(size=scores.shape)


@pytest.fixture(scope="module")
def targets(scores: Matrix) -> Any:
    """A relevant item per user, which is often near the top, and a second one for some users."""
    rng = np.random.default_rng(3)
    places = np.minimum(rng.geometric(0.05, N_USERS), N_ITEMS) - 1
    items = np.argsort(-scores, axis=1)[np.arange(N_USERS), places]
    truth = np.zeros(scores.shape)
    truth[np.arange(N_USERS), items] = 1
    truth[: N_USERS // 3, 7] = 1
    return csr_array(truth)


@pytest.fixture(scope="module")
def seen(targets: Any) -> Any:
    drawn: NDArray[np.bool_] = np.random.default_rng(4).random((N_USERS, N_ITEMS)) < 0.1
    return csr_array(drawn & (targets.toarray() == 0))


def _exact_ranks(scores: Matrix, targets: Any, seen: Any) -> NDArray[np.int64]:
    return np.asarray(target_ranks(scores, targets, exclude=seen)).astype(np.int64)


def test_scan_of_all_items_is_exact(scores: Matrix, proxy: Matrix, targets: Any, seen: Any) -> None:
    found = scan(look_up(scores), targets, k=K, proxy=proxy, exclude=seen, budget=10 * N_ITEMS)
    ranks = _exact_ranks(scores, targets, seen)
    assert not found.is_open.any()
    best = ranks <= K
    np.testing.assert_array_equal(found.above[best] + 1, ranks[best])
    assert (found.above[~best] >= K).all()
    result = evaluate(found, MEASURES)
    recall = found.means_of_users((ranks <= 5).astype(float))
    assert result.means["recall@5"] == pytest.approx(recall.mean())
    estimate = result.estimates["recall@5"]
    assert estimate.std_error == pytest.approx(recall.std(ddof=1) / np.sqrt(recall.size))
    assert estimate.bounds == pytest.approx((recall.mean(), recall.mean()))
    assert (estimate.error_from, estimate.biased) == ("users", False)


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_scan_counts_what_it_scored(
    scores: Matrix, proxy: Matrix, targets: Any, seen: Any, share: float
) -> None:
    asked: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def scorer(rows: NDArray[np.int64], items: NDArray[np.int64]) -> Matrix:
        asked.append((rows, items))
        return scores[rows, items]

    found = scan(
        scorer, targets, k=K, proxy=proxy, exclude=seen, budget=40, list_share=share, seed=5
    )
    (rows, own), *rounds = asked
    np.testing.assert_array_equal(own, targets.tocsr().indices)
    assert len(rounds) < 30
    n_pairs = sum(items.size for _, items in rounds)
    assert n_pairs == found.n_scored.sum() <= 40 * rows.size
    pairs = np.concatenate([np.stack(pair, axis=1) for pair in rounds])
    assert not seen.toarray()[pairs[:, 0], pairs[:, 1]].any()
    assert (found.is_open | (found.above >= K) | (found.n_rest == 0)).all()
    single = rows >= N_USERS // 3  # users with one target: each pair is asked once
    of_single = pairs[pairs[:, 0] >= N_USERS // 3]
    assert np.unique(of_single, axis=0).shape == of_single.shape
    truth = scores[rows, own]
    above = np.bincount(
        of_single[:, 0],
        scores[of_single[:, 0], of_single[:, 1]] >= truth[np.searchsorted(rows, of_single[:, 0])],
        minlength=N_USERS,
    )
    np.testing.assert_array_equal(found.above[single], above[rows[single]])


def test_listed_items_are_the_top_of_the_proxy(scores: Matrix, proxy: Matrix, targets: Any) -> None:
    found = scan(look_up(scores), targets, k=K, proxy=proxy, budget=20, list_share=1.0)
    rows, items = np.repeat(np.arange(N_USERS), np.diff(targets.indptr)), targets.indices
    for target in range(0, rows.size, 17):
        row, item = rows[target], items[target]
        order = np.argsort(-proxy[row], kind="stable")
        listed = order[order != item][: found.n_listed[target]]
        above = (scores[row, listed] >= scores[row, item]).sum()
        assert found.above_listed[target] == above


def test_forms_of_proxies_and_scorers_agree(targets: Any) -> None:
    rng = np.random.default_rng(6)
    users, items = rng.normal(size=(N_USERS, 4)), rng.normal(size=(N_ITEMS, 4))
    popularity = rng.permutation(N_ITEMS).astype(float)
    everyone = np.broadcast_to(popularity, (N_USERS, N_ITEMS))
    lists = np.argsort(-everyone, axis=1)
    matrix = np.einsum("uf,if->ui", users, items)
    options: dict[str, Any] = {"k": K, "budget": 25}
    results = [
        scan(look_up(matrix), targets, proxy=popularity, **options),
        scan(lambda u, i: (users[u] * items[i]).sum(axis=1), targets, proxy=everyone, **options),
        scan(lambda u, i: matrix[u, i], targets, lists=lists, **options),
    ]
    first = results[0]
    for other in results[1:]:
        for name in ("above_listed", "n_listed", "above_drawn", "n_drawn"):
            np.testing.assert_array_equal(getattr(other, name), getattr(first, name))


def test_order_of_users_changes_nothing(scores: Matrix, proxy: Matrix, targets: Any) -> None:
    turned = np.random.default_rng(7).permutation(N_USERS)
    options: dict[str, Any] = {"k": K, "budget": 25, "seed": 3}
    a = scan(look_up(scores), targets, proxy=proxy, **options)
    b = scan(look_up(scores[turned]), targets[turned], proxy=proxy[turned], users=turned, **options)
    order_a, order_b = (np.argsort(found.user, kind="stable") for found in (a, b))
    np.testing.assert_array_equal(a.above[order_a], b.above[order_b])
    np.testing.assert_array_equal(a.n_drawn[order_a], b.n_drawn[order_b])


def test_interrupted_scan_resumes_to_the_same_counts(
    scores: Matrix, proxy: Matrix, targets: Any, seen: Any, tmp_path: Path
) -> None:
    path = tmp_path / "scan.checkpoint"
    options: dict[str, Any] = {"k": K, "proxy": proxy, "budget": 30, "seed": np.int64(0)}
    whole = scan(look_up(scores), targets, **options)
    n_left = 4

    def failing(rows: NDArray[np.int64], items: NDArray[np.int64]) -> Matrix:
        nonlocal n_left
        n_left -= 1
        if n_left < 0:
            raise KeyboardInterrupt
        return scores[rows, items]

    found = None
    while found is None:
        n_left = 4
        try:
            found = scan(failing, targets, **options, checkpoint=path, resume=True)
        except KeyboardInterrupt:
            assert path.exists()
    np.testing.assert_array_equal(found.above, whole.above)
    np.testing.assert_array_equal(found.n_drawn, whole.n_drawn)
    for change in ({"seed": 1}, {"exclude": seen}):
        with raises(DataError, "resume"):
            scan(look_up(scores), targets, **{**options, **change}, checkpoint=path, resume=True)


def _random_scan(seed: int = 0) -> ScannedRanks:
    """Return counts of targets whose share of items above them has a beta distribution."""
    rng = np.random.default_rng(seed)
    n = 4000
    listed = rng.integers(0, 4, n)
    share = rng.beta(0.5, 0.5 / (0.01 * (1 + listed)))
    rest = rng.binomial(500, share)
    drawn = rng.hypergeometric(rest, 500 - rest, 60)
    return ScannedRanks(listed, np.full(n, 20), drawn, np.full(n, 60), 521, k=K)


def test_fit_finds_the_parameters() -> None:
    fit = open_targets.OpenTargets.fit(_random_scan())
    # log(alpha / beta) = log 0.01 + log(1 + c), log alpha = log 0.5
    truth = np.array([np.log(0.5), 0.0, np.log(0.01), 1.0])
    assert (np.abs(fit.coefficients - truth) < 4 * np.sqrt(np.diag(fit.covariance))).all()


def test_comparison_is_paired(scores: Matrix, proxy: Matrix, targets: Any) -> None:
    options: dict[str, Any] = {"k": K, "proxy": proxy, "budget": 40}
    a = scan(look_up(scores), targets, **options)
    b = scan(look_up(proxy), targets, **options)
    found = compare({"a": a, "same": a, "b": b}, ["recall@5", "ndcg@5"])
    same, other = (found.summary("recall@5", name) for name in ("same", "b"))
    assert (same.difference, same.sign_probability) == (0.0, 0.5)
    assert other.difference == pytest.approx(other.b - other.a)
    errors = [found.evaluations[name].summary("recall@5").std_error for name in ("a", "b")]
    assert 0 < other.std_error < float(np.linalg.norm(errors))
    assert "recall@5" in str(found)
    assert found.to_dict()["b - a/recall@5"] == pytest.approx(other.difference)


def test_draws_stop_where_a_target_has_no_more_candidates() -> None:
    found = sampled.scan(
        look_up(np.arange(12.0).reshape(2, 6)),
        csr_array(([1.0, 1.0], ([0, 1], [5, 5])), shape=(2, 6)),
        k=3,
        lists=[[0], [1]],
        exclude=csr_array(([1.0] * 3, ([0, 0, 0], [1, 2, 3])), shape=(2, 6)),
        budget=5,
    )
    assert found.n_scored.tolist() == [2, 5]
    assert not found.is_open.any()


def test_proxy_that_knows_the_targets_is_named(scores: Matrix, targets: Any) -> None:
    leaked = np.random.default_rng(10).normal(size=scores.shape) + 9 * targets.toarray()
    with pytest.warns(PodiumWarning, match="The proxy ranks [78][0-9]% of the targets first"):
        scan(look_up(scores), targets, k=K, proxy=leaked, budget=20)


def test_budget_that_is_too_small_for_k_is_named(
    scores: Matrix, proxy: Matrix, targets: Any
) -> None:
    with pytest.warns(PodiumWarning, match="at k = 20.* Pass a budget of at least 60, or"):
        found = scan(look_up(scores), targets, k=20, proxy=proxy, budget=40)
    low, high = evaluate(found, "recall@20").estimates["recall@20"].interval
    exact = (_exact_ranks(scores, targets, None) <= 20).astype(float)
    assert low < found.means_of_users(exact).mean() < high
    assert evaluate(found, "recall@20").estimates["recall@20"].prior_decides


def test_list_in_random_order_is_named(scores: Matrix, proxy: Matrix, targets: Any) -> None:
    noise = np.random.default_rng(12).normal(size=scores.shape)
    good, bad = (scan(look_up(scores), targets, k=K, proxy=by, budget=40) for by in (proxy, noise))
    with pytest.warns(PodiumWarning, match="hardly better than a random one"):
        evaluate(bad, "recall@5")
    with pytest.warns(PodiumWarning, match="the proxy lists for b, "):
        compare({"a": good, "b": bad}, "recall@5")


def _changed(ranks: ScannedRanks, **changes: Any) -> ScannedRanks:
    names = ("above_listed", "n_listed", "above_drawn", "n_drawn", "n_items", "k", "user")
    return ScannedRanks(**{**{name: getattr(ranks, name) for name in names}, **changes})


def test_targets_that_the_list_settles_do_not_change_a_fit() -> None:
    open_ones = _random_scan()
    n = open_ones.above.size
    columns = {
        "above_listed": np.r_[open_ones.above_listed, np.full(n, K)],
        "above_drawn": np.r_[open_ones.above_drawn, np.full(n, 50)],
    }
    columns |= {name: np.tile(getattr(open_ones, name), 2) for name in ("n_listed", "n_drawn")}
    both = _changed(open_ones, **columns, n_items=521, user=np.arange(2 * n))
    fits = [open_targets.OpenTargets.fit(ranks).coefficients for ranks in (open_ones, both)]
    np.testing.assert_array_equal(*fits)


def test_influences_vary_like_the_error_of_the_fit() -> None:
    ranks, weights = _random_scan(), np.ones(K)
    fit = open_targets.OpenTargets.fit(ranks)
    gradient = fit.gradient(ranks, weights)
    influences = fit.influences(ranks, gradient)
    wanted = float(np.sqrt(gradient @ fit.covariance @ gradient))
    assert np.linalg.norm(influences) == pytest.approx(wanted, rel=0.1)
    assert abs(influences.sum()) < 0.2 * wanted  # 0 but for the prior


def test_penalties_of_long_lists_have_no_warning() -> None:
    rng = np.random.default_rng(0)
    listed, drawn = np.minimum(rng.geometric(0.1, 60) - 1, 30), rng.binomial(20, 0.05, 60)
    ranks = ScannedRanks(listed, [30] * 60, drawn, [20] * 60, 100, k=100)
    found = evaluate(ranks, "ndcg@100").summary("ndcg@100")  # a warning is an error
    assert found.bounds is not None
    assert 0 < found.bounds.low < found.mean < found.bounds.high


def test_known_parts_of_an_error_add_degrees_of_freedom() -> None:
    effects = np.tile([-1.0, 1.0], 8)  # of variance 16 / 15
    own = 1 / 15  # of their mean
    assert combined(effects) == pytest.approx((np.sqrt(own), 16))
    assert combined(effects, 0.0) == pytest.approx((np.sqrt(own), 16))
    assert combined(effects, own, 2 * own) == pytest.approx((np.sqrt(4 * own), 16 * 15 + 1))
    assert combined(np.zeros(5)) == (0.0, np.inf)
    error, _ = combined(np.ones(1))
    assert np.isnan(error)
