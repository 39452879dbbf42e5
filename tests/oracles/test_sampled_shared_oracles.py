"""Whole rankings from shared samples, against all samples of small catalogues."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import podium
from podium.sampled import BV, SampledRanks, SharedRanks, evaluate, sample_ranks
from podium.sampled.design import Design
from podium.sampled.fits import EstimatorFit

N_OTHERS, N_DRAWN = 8, 4
ABOVE = {"a": (0, 2, 2), "b": (1,), "c": (0, 0, 3, 7)}
"""The number of the eight other items above each target, by user."""
MEASURES = ("pap@3", "ndcg@3", "recall@3", "precision@4", "ap@4", "rr@4", "hit_rate@2", "auc")


def samples(n: int, *, replacement: bool) -> list[tuple[int, ...]]:
    """Return all equally likely samples of the other items, which are numbered by rank."""
    if replacement:
        return list(itertools.product(range(N_OTHERS), repeat=n))
    return list(itertools.combinations(range(N_OTHERS), n))


def sampled_above(sample: tuple[int, ...], above: tuple[int, ...]) -> list[int]:
    return [sum(item < n for item in sample) for n in above]


def shared_of(drawn: dict[str, tuple[int, ...]], *, replacement: bool = False) -> SharedRanks:
    rows = [
        (above, len(drawn[user]), N_OTHERS + len(targets), user)
        for user, targets in ABOVE.items()
        for above in sampled_above(drawn[user], targets)
    ]
    above, sizes, n_items, user = zip(*rows, strict=True)
    ranks = np.array(above) + 1
    return SharedRanks(SampledRanks(ranks, sizes, n_items, user=user, replacement=replacement))


def exact(measure: str) -> float:
    """Measure the whole rankings with podium.measure."""
    scores: list[float] = []
    relevance: list[float] = []
    qid: list[str] = []
    for user, targets in ABOVE.items():
        ranks = {above + i for i, above in enumerate(targets, 1)}
        n_items = N_OTHERS + len(targets)
        scores += [-float(rank) for rank in range(1, n_items + 1)]
        relevance += [float(rank in ranks) for rank in range(1, n_items + 1)]
        qid += [user] * n_items
    ranking = podium.Ranking.from_scores(scores, relevance, qid=qid)
    return float(podium.metrics.parse(measure)(ranking).mean())


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("method", ["auto", "naive", "bv(gamma=0.1)", "cls", "mle"])
def test_sample_of_all_items_gives_the_exact_value(method: str, measure: str) -> None:
    shared = shared_of({user: tuple(range(N_OTHERS)) for user in ABOVE})
    assert shared.is_exact
    found = evaluate(shared, measure, estimator=method, n_bootstrap=2, bounds=False)
    estimate = found.summary(measure)
    assert estimate.mean == pytest.approx(exact(measure), abs=1e-12)
    assert not estimate.biased
    assert estimate.interval_of == "exact"


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("n", [1, 2, N_DRAWN])
def test_counts_of_each_target_have_the_distribution_of_its_design(
    n: int, replacement: bool
) -> None:
    if replacement and n == N_DRAWN:
        n = 3  # 512 samples
    design = Design(n, N_OTHERS + 1, replacement)
    for targets in ABOVE.values():
        counts = np.array([sampled_above(s, targets) for s in samples(n, replacement=replacement)])
        assert (np.diff(counts, axis=1) >= 0).all()  # the order of the targets is known
        for above, column in zip(targets, counts.T, strict=True):
            frequencies = np.bincount(column, minlength=n + 1) / column.size
            np.testing.assert_allclose(frequencies, design.probabilities([above + 1])[0])


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("replacement", [False, True])
def test_expectation_over_all_samples_is_that_of_the_terms(measure: str, replacement: bool) -> None:
    estimator, n = BV(gamma=0.1), 3
    parsed = podium.metrics.parse(measure)
    counts = Counter(tuple(sorted(s)) for s in samples(n, replacement=replacement))
    all_shared = [shared_of(dict.fromkeys(ABOVE, s), replacement=replacement) for s in counts]
    values = [EstimatorFit(estimator, s).user_values(estimator, parsed) for s in all_shared]
    means = np.average(values, axis=0, weights=list(counts.values()))
    for user, targets, found in zip(ABOVE, ABOVE.values(), means, strict=True):
        expected = 0.0
        for i, above in enumerate(targets, 1):
            design = Design(n, N_OTHERS + 1, replacement)
            term = podium.metrics.Terms.of(parsed, (i, len(targets), 1.0))
            expected += float(design.probabilities([above + 1])[0] @ estimator.values(design, term))
        assert found == pytest.approx(expected, abs=1e-12), user


def test_groups_weight_users_by_the_size_of_their_terms() -> None:
    rng = np.random.default_rng(0)
    n_targets = rng.integers(1, 5, 500)
    user = np.repeat(np.arange(500), n_targets)
    above = rng.geometric(0.05 * n_targets[user]) - 1
    sizes = 50, 50 + n_targets[user]
    ranks = SampledRanks(1 + np.minimum(above, 50), *sizes, user=user, replacement=False)
    shared = SharedRanks(ranks)
    for measure in ("recall@10", "ndcg@10", "pap@10", "ap@10", "rr@10"):
        parsed = podium.metrics.parse(measure)
        found = 0.0
        for part in shared.parts(parsed):
            ranks = part.ranks
            weights = podium.metrics.rank_weights(part.measure, 51)
            values = np.pad(weights, (0, 51 - weights.size))[ranks.ranks - 1]
            found += float(ranks.weights @ values) * part.sizes.sum() / shared.n_users
        wanted = evaluate(shared, measure, bounds=False).means[measure]
        assert found == pytest.approx(wanted, abs=1e-9), measure


def test_targets_of_a_user_are_ranked_among_the_same_items() -> None:
    rng = np.random.default_rng(1)
    scores, draws = rng.normal(size=(40, 60)), rng.random((40, 60))
    is_target, is_seen = draws < 0.1, draws > 0.9
    held_out, seen = csr_array(is_target.astype(float)), csr_array(is_seen.astype(float))
    options: dict[str, Any] = {"replacement": False, "exclude": seen, "seed": 3}
    shared = sample_ranks(scores, held_out, 30, shared=True, **options)
    first = 0
    for user in np.flatnonzero(is_target.any(axis=1)).tolist():  # one set of 30 other items
        others = scores[user][~is_target[user] & ~is_seen[user]]
        above = (others > scores[user][is_target[user]][:, None]).sum(axis=1)
        rows = np.arange(first, first + above.size)[np.argsort(above)]
        first += above.size
        above, drawn = np.sort(above), shared.targets.ranks[rows] - 1
        assert (np.diff(drawn) >= 0).all()
        assert (np.diff(drawn) <= np.diff(above)).all()
        assert (drawn <= above).all()
        assert (above - drawn <= others.size - 30).all()
        assert shared.n_items[rows].tolist() == [others.size + above.size] * rows.size
    assert first == shared.targets.n_rows
