"""LinearRanker on losses that put tied rows in a drawn order: in mini-batches and out of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.groups import Groups
from podium.losses.listnet import SoftmaxCrossEntropy
from podium.losses.pairwise import PairwiseHinge
from podium.losses.pointwise import Squared
from podium.rankers import LinearRanker
from podium.rankers.batches import Batches
from podium.rankers.objective import Labels, LinearObjective

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")

LOSSES = {
    "listmle": losses.ListMLE(3),
    "listnet": losses.ListNet(3),
    "rankcosine": losses.RankCosine(3),
    "listmle whole": losses.ListMLE(),
    "listmle relevant": losses.ListMLE(head="relevant"),
    "softmax": SoftmaxCrossEntropy(),
    "pairwise-hinge": PairwiseHinge(),
    "squared": Squared(),
}


def problem(seed: int = 0) -> tuple[Any, Any, Any]:
    """Return 12 lists of 6 to 17 rows with four grades; one list has a single grade."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(12), rng.integers(6, 18, 12))
    X = rng.standard_normal((qid.size, 4))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3]) + 0.3 * rng.standard_normal(qid.size)
    y = np.clip(np.floor(utility + 1.0), 0.0, 3.0)
    return X, np.where(qid == 5, 0.0, y), qid


@dataclass(frozen=True)
class Recording(losses.ListMLE):
    """A loss that draws, and keeps the labels and the keys that it was given."""

    seen: list[Any] = field(default_factory=list[Any])

    def prepare(self, relevance: Any, groups: Any, *, rng: Any = None, **given: Any) -> Any:
        keys = given.pop("keys", None)
        keys = self.draw(groups, rng) if keys is None else keys
        self.seen.append((relevance, keys))
        return super().prepare(relevance, groups, keys=keys, **given)


def recorded(random_state: int = 0) -> list[Any]:
    """Fit two passes in batches of 5 groups, and return the keys by row: of the fit, of each."""
    X, _, qid = problem()
    rows, seen = np.arange(qid.size, dtype=float), list[Any]()
    LinearRanker(
        Recording(seen=seen),
        solver="stochastic",
        batch_size=5,
        max_iter=3,
        random_state=random_state,
    ).fit(X, rows, qid)
    n_batches = 3  # of 12 groups
    assert len(seen) == 1 + 2 * n_batches
    found: list[Any] = []
    for part in (seen[:1], seen[1:4], seen[4:]):
        by_row = np.full(qid.size, np.nan)
        for relevance, keys in part:
            by_row[relevance.astype(int)] = keys[:, 0]
        found.append(by_row)
    return found


def test_keys_are_those_of_the_whole_fit_in_every_batch() -> None:
    whole, first, second = recorded()
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(first, whole)
    np.testing.assert_array_equal(second, whole)
    assert not np.array_equal(recorded(random_state=1)[0], whole)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_mini_batches_add_up_to_the_objective(
    loss: Any, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean over a pass of one list each is the whole."""
    X, y, qid = problem()
    weights = (1.0 + qid % 3) if weighted else None
    labels = Labels(y, Groups.from_qid(qid), weights)
    rng = np.random.default_rng(0)
    keys = {"keys": rng.random((qid.size, 1))} if loss.draws else {}
    monkeypatch.setattr(type(loss), "draw", lambda *_: keys.get("keys"))
    target = loss.prepare(y, labels.groups, weights=weights, **keys)
    whole = LinearObjective(X, loss, target, labels=labels)
    at = rng.standard_normal(4)
    batches = Batches.of(loss, target, labels, seed=3)
    parts = [
        replace(whole, rows=batch.rows, target=batch.target, scale=batch.scale).evaluate(at)
        for batch in batches.epoch(1, 1)
    ]
    assert len(parts) >= 11
    assert np.mean([part.loss for part in parts]) == pytest.approx(whole.evaluate(at).loss)
    np.testing.assert_allclose(
        np.mean([part.grad for part in parts], axis=0), whole.evaluate(at).grad, atol=1e-12
    )


def test_a_batch_of_a_squared_loss_without_relevant_rows_has_its_share() -> None:
    """At scores of 0 that batch's loss is 0, which says nothing of its size."""
    y, sizes = np.array([0.0] * 8 + [1.0, 0.0]), [8, 2]
    labels, loss = Labels(y, Groups.from_sizes(sizes)), Squared()
    target = loss.prepare(y, labels.groups)
    batches = Batches.of(loss, target, labels, seed=0)
    scales = {batch.rows.size: batch.scale for batch in batches.epoch(1, 1)}
    assert scales == pytest.approx({8: 8 / 5, 2: 2 / 5})  # rows of the group by the mean group's


@pytest.mark.parametrize("k", [None, 3])
def test_cosine_is_minimised_from_zero_although_it_is_not_defined_there(k: int | None) -> None:
    """Not convex, and yet no worse than at the coefficients that made the grades."""
    X, _, qid = problem()
    made = np.array([1.0, -0.5, 0.0, 0.3])
    y = X @ made - (X @ made).min()
    loss = losses.RankCosine(k)
    ranker = LinearRanker(loss, l2=0.0, tol=1e-8).fit(X, y, qid)
    groups = Groups.from_qid(qid)
    target = loss.prepare(y, groups)
    at_made = np.mean(loss.value_and_grad(X @ made, target)[0])
    assert ranker.stop_reason_ == "converged"
    assert ranker.objective_ <= at_made + 1e-9 < 0.5 == ranker.history_["objective"][0]
