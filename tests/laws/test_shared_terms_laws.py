"""Laws of metrics that are sums over positives: the terms give the value of every list."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from podium import metrics
from podium.errors import ArgumentError
from podium.metrics import REGISTRY, Terms, parse, rank_weights
from podium.ranking import Ranking

N_ITEMS = 7
OPTIONS = {
    "precision": ("norm=k", "norm=min", "norm=list"),
    "recall": ("norm=n_pos", "norm=min"),
    "ap": ("norm=n_pos", "norm=min"),
    "ndcg": ("ideal=best", "ideal=full", "discount=letor"),
    "pap": ("clip=true",),
    "pauc": ("clip=true",),
}


def measures() -> list[str]:
    """Return every registered measure with terms, with its options and cutoffs."""
    names: list[str] = []
    for name, metric in REGISTRY.items():
        if metric.rank_weights is None:
            continue
        cutoffs = {"required": ["@1", "@3"], "optional": ["", "@1", "@3"], "none": [""]}
        for cutoff in cutoffs[metric.cutoff]:
            bare = name.removesuffix("@k")
            names += [f"{bare}{cutoff}"]
            names += [f"{bare}({option}){cutoff}" for option in OPTIONS.get(bare, ())]
    return names


@pytest.mark.parametrize("name", measures())
def test_terms_sum_to_the_value_of_every_list(name: str) -> None:
    measure, n_lists = parse(name), 0
    for n_pos in range(1, N_ITEMS):
        terms = [
            rank_weights(measure, N_ITEMS, position=i, n_pos=n_pos) for i in range(1, n_pos + 1)
        ]
        for ranks in itertools.combinations(range(1, N_ITEMS + 1), n_pos):
            relevance = np.isin(np.arange(1, N_ITEMS + 1), ranks).astype(float)
            value = measure(Ranking.from_scores(-np.arange(N_ITEMS), relevance))[0]
            above = [rank - i for i, rank in enumerate(ranks, 1)]
            found = sum(of[a] if a < of.size else 0.0 for of, a in zip(terms, above, strict=True))
            np.testing.assert_allclose(found, value, atol=1e-12, err_msg=f"{ranks}")
            n_lists += 1
    assert n_lists == 2**N_ITEMS - 2


@pytest.mark.parametrize("name", ["ap(norm=retrieved)@3", "err@3", "topk_loss@2", "auc@3"])
def test_measures_that_are_no_sum_are_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match="not a sum over the"):
        rank_weights(parse(name), N_ITEMS, position=1, n_pos=2)


def test_terms_are_a_measure_of_one_target() -> None:
    recall = parse("recall@3")
    both = Terms.of(recall, (1, 2, 1.0), (2, 2, 0.5))
    first, second = (rank_weights(recall, 10, position=i, n_pos=2) for i in (1, 2))
    np.testing.assert_array_equal(rank_weights(both, 9), first + 0.5 * second)
    assert both != Terms.of(recall, (1, 2, 1.0))
    assert metrics.parse(both) is both
    assert hash(both) == hash(Terms.of(recall, (1, 2, 1.0), (2, 2, 0.5)))
