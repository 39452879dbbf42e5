"""The factorization's costs and steps, held to their definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium._kernels import kernel
from podium.recommenders._pairs import Pairs, read
from podium.recommenders.factorization import LOSSES
from podium.recommenders.factorization._arithmetic_kernels import logarithm, power, stream
from podium.recommenders.factorization._batch_kernels import draw_negatives
from podium.recommenders.factorization._descent import Factors
from podium.recommenders.factorization._parts import _sampling, descend
from podium.recommenders.factorization._plan import Block, Blocks, Cells
from podium.recommenders.factorization._settings import Settings

Doubles = NDArray[np.float64]

LIKES = np.array([[3, 0, 1, 0, 0], [0, 2, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 1, 2, 0]], float)
N_ITEMS = LIKES.shape[1]
AVERAGED = [name for name in LOSSES if name != "softmax"]


def _settings(**changes: Any) -> Settings:
    plain: dict[str, Any] = {
        "loss": "robirank",
        "n_factors": 3,
        "n_negatives": 1,
        "learning_rate": 0.1,
        "decay": "none",
        "l2": 0.0,
        "n_epochs": 1,
        "n_blocks": 2,
        "seed": 0,
        "memory": 0.0,
        "only_unseen": True,
        "item_bias": True,
        "prior": 0.0,
        "cosine": False,
        "popularity": 0.0,
    }
    given = {**plain, **changes}
    return Settings(**{**given, "loss": LOSSES.parse(given["loss"])})


def _problem(seed: int = 0, scale: float = 1.5) -> tuple[Pairs, Factors]:
    pairs = read(csr_array(LIKES), "value")
    rng = np.random.default_rng(seed)
    drawn = [scale * rng.standard_normal(s) for s in ((4, 3), (N_ITEMS, 3), (N_ITEMS,))]
    return pairs, Factors(*(each.astype(np.float32) for each in drawn))


def _scores(factors: Factors) -> Doubles:
    users, items, bias = (f.astype(float) for f in (factors.users, factors.items, factors.bias))
    return users @ items.T + bias


def _pairs_of(likes: Doubles, unseen: bool) -> Iterator[tuple[int, int, list[int]]]:
    """Yield each positive and the items that it is held to."""
    for x, y in np.argwhere(likes > 0).tolist():
        others = [z for z in range(likes.shape[1]) if z != y and not (unseen and likes[x, z] > 0)]
        yield x, y, others


def _cost(gap: float, loss: str = "robirank") -> float:
    """Return sigma(gap), the bound of gap < 0."""
    return math.log2(1 + math.exp(-gap) if loss == "bpr" else 1 + 2**-gap)


def _mean_cost(factors: Factors, loss: str, x: int, y: int) -> Doubles:
    """Return the mean cost of one positive beside all other items."""
    row = _scores(factors)[x]
    costs = [_cost(row[y] - row[z], loss) for z in range(N_ITEMS) if z != y]
    return np.full(1, sum(costs) / len(costs))


def _moves(
    pairs: Pairs, factors: Factors, settings: Settings, costs: Doubles, rate: float, seed: int
) -> tuple[Factors, NDArray[np.float32]]:
    """Take the steps of all positives inside one block that holds all items."""
    cells = Cells.lay_out(Blocks.single(N_ITEMS), pairs.offsets, pairs.items)
    moved, mean = factors.copy(), costs.astype(np.float32)
    bits = np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    block = Block(moved.items, moved.bias)
    state = (pairs, mean, moved.users, block)
    descend(settings, (cells, 0), *state, np.zeros(2), rate=rate, seed=bits)
    return moved, mean


def _single(x: int, y: int) -> Pairs:
    """Return the pairs of one user with one positive of weight 1; other items are unseen."""
    likes = np.zeros(LIKES.shape)
    likes[x, y] = 1
    return read(csr_array(likes), "value")


def _exact_gradient(scores: Doubles, x: int, y: int, loss: str) -> Doubles:
    """Return the derivative of one positive's loss by its user's scores, by differences."""

    def value(row: Doubles) -> float:
        costs = [_cost(row[y] - row[z], loss) for z in range(N_ITEMS) if z != y]
        total = sum(costs)
        if loss == "robirank":
            return math.log2(1 + total)
        if loss == "type2":
            return 1 - 1 / math.log2(total + 2)
        mean = total / len(costs)
        return mean * math.log(2) if loss == "bpr" else mean

    gradient = np.zeros(N_ITEMS)
    for z in range(N_ITEMS):
        shift = np.zeros(N_ITEMS)
        shift[z] = 1e-5
        gradient[z] = (value(scores[x] + shift) - value(scores[x] - shift)) / 2e-5
    return gradient


@pytest.mark.parametrize("loss", AVERAGED)
def test_mean_of_all_steps_is_the_exact_gradient(loss: str) -> None:
    """Every negative that may be drawn, each once: their mean is the objective's gradient."""
    _, factors = _problem()
    x, y, rate = 3, 2, 1.0  # one step is linear in its rate
    pairs, settings = _single(x, y), _settings(loss=loss)
    costs = _mean_cost(factors, loss, x, y)
    gradient = _exact_gradient(_scores(factors), x, y, loss)
    before = [f.astype(float) for f in (factors.users, factors.items, factors.bias)]
    expected = [gradient @ before[1], np.outer(gradient, before[0][x]), gradient]
    steps = _mean_step(pairs, factors, settings, costs, rate, y)
    np.testing.assert_allclose(steps[0][x] / -rate, expected[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(steps[1] / -rate, expected[1], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(steps[2] / -rate, expected[2], rtol=1e-4, atol=1e-6)
    assert np.abs(expected[0]).max() > 0.01  # neither side is near zero by accident


def _mean_step(
    pairs: Pairs, factors: Factors, settings: Settings, costs: Doubles, rate: float, y: int
) -> list[Doubles]:
    """Return the mean move of users, items and biases over all negatives of one positive."""
    by_negative: dict[int, Factors] = {}
    for seed in itertools.count():
        moved, _ = _moves(pairs, factors, settings, costs, rate, seed)
        touched = set(np.flatnonzero((moved.items != factors.items).any(axis=1)).tolist()) - {y}
        for negative in touched:  # none if the positive itself was drawn
            by_negative[negative] = moved
        if len(by_negative) == N_ITEMS - 1:
            break
    return [
        np.mean([getattr(m, name) - getattr(factors, name) for m in by_negative.values()], axis=0)
        for name in ("users", "items", "bias")
    ]


@pytest.mark.parametrize("memory", [0.7, 0.0])
def test_mean_step_is_along_the_gradient_only_if_its_own_sample_does_not_count(
    memory: float,
) -> None:
    _, factors = _problem()
    x, y = 3, 2
    factors.bias[y] = 6.0  # few items stand before it, so that one sample is most of its T
    pairs, settings = _single(x, y), _settings(memory=memory)
    costs = _mean_cost(factors, "robirank", x, y)
    step = -_mean_step(pairs, factors, settings, costs, 1.0, y)[2]
    gradient = _exact_gradient(_scores(factors), x, y, "robirank")
    cosine = step @ gradient / np.sqrt((step @ step) * (gradient @ gradient))
    assert (cosine > 0.9999) == (memory == 0.0), cosine


@pytest.mark.parametrize("n_negatives", [1, 3, 8])
def test_running_mean_takes_the_costs_that_were_drawn(n_negatives: int) -> None:
    _, factors = _problem()
    pairs, settings = _single(1, 1), _settings(n_negatives=n_negatives, memory=1.0)
    scores = _scores(factors)
    possible = [_cost(scores[1, 1] - scores[1, z]) for z in range(N_ITEMS) if z != 1]
    means = {
        float(_moves(pairs, factors, settings, np.ones(1), 1e-6, seed)[1][0]) for seed in range(300)
    }
    if n_negatives == 1:
        means -= {1.0}  # the initial value, where the positive itself was drawn
        assert len(means) == len(possible)
        np.testing.assert_allclose(sorted(means), sorted(possible), rtol=1e-5)
    assert min(possible) - 1e-6 < min(means) <= max(means) < max(possible) + 1e-6
    assert np.mean(list(means)) == pytest.approx(np.mean(possible), abs=0.6)


@pytest.mark.parametrize("likes", [[1, 1, 1, 1, 0], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]])
def test_negatives_are_the_unseen_items_and_all_of_them(likes: list[int]) -> None:
    pairs = read(csr_array(np.array([likes, [0] * 5], float)), "value")
    drawn: set[int] = set()
    factors = _problem()[1]
    factors.bias[:] = 0
    for seed in range(60):
        moved, _ = _moves(pairs, factors, _settings(), np.ones(pairs.items.size), 0.1, seed)
        drawn |= set(np.flatnonzero(moved.bias < 0).tolist())
    assert drawn == set(np.flatnonzero(np.array(likes) == 0).tolist())


def _pair_loss(loss: Any, score: float, others: Doubles) -> float:
    """Return the loss of a positive beside the items that it is compared with, by definition."""
    gaps = others - score
    if loss.name in AVERAGED:
        scale = np.log2(np.e) if loss.name == "bpr" else 1.0
        total = np.log2(1 + 2.0 ** (scale * gaps)).sum()
        mean = total / gaps.size
        return {
            "robirank": math.log2(1 + total),
            "type2": 1 - 1 / math.log2(total + 2),
            "identity": mean,
            "bpr": mean * math.log(2),
        }[loss.name]
    return math.log1p(np.exp(gaps / (loss.temperature or 1.0)).sum())


def _objective(factors: list[Doubles], loss: Any, cosine: bool, unseen: bool) -> float:
    """Return the sum over all pairs."""
    users, items, bias = factors
    if cosine:
        users, items = (f / np.linalg.norm(f, axis=1, keepdims=True) for f in (users, items))
    scores = users @ items.T + (0.0 if cosine else bias)
    weights = LIKES / LIKES[LIKES > 0].mean()
    total = 0.0
    for x, y, others in _pairs_of(LIKES, unseen):
        total += weights[x, y] * _pair_loss(loss, scores[x, y], scores[x, others])
    return total


@pytest.mark.parametrize("unseen", [True, False])
@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("text", [*AVERAGED, "softmax(temperature=0.7)"])
def test_step_of_a_batch_is_the_gradient_of_its_losses(
    text: str, cosine: bool, unseen: bool
) -> None:
    """All pairs in one batch with all items as negatives: nothing is left to chance."""
    pairs, factors = _problem(seed=3, scale=0.8)
    factors.users[2] = 1.0  # the user without pairs
    loss = LOSSES.parse(text)
    settings = _settings(
        loss=text, n_negatives=9, only_unseen=unseen, cosine=cosine, item_bias=not cosine,
        memory=1.0,
    )  # fmt: skip
    if cosine:
        factors.bias[:] = 0
    states = np.ones(pairs.items.size, np.float32)
    before = [f.astype(float) for f in (factors.users, factors.items, factors.bias)]
    cells = Cells.lay_out(Blocks.single(N_ITEMS), pairs.offsets, pairs.items)
    moved = factors.copy()
    block = Block(moved.items, moved.bias)
    sums = np.zeros(2)
    descend(
        settings, (cells, 0), pairs, states, moved.users, block, sums,
        rate=1.0, seed=np.uint64(5),
    )  # fmt: skip
    assert sums[1] == pairs.items.size
    for side, after in enumerate((moved.users, moved.items, moved.bias)):
        for place in np.ndindex(after.shape):
            values: list[float] = []
            for shift in (1e-5, -1e-5):
                shifted = [f.copy() for f in before]
                shifted[side][place] += shift
                values.append(_objective(shifted, loss, cosine, unseen))
            slope = (values[0] - values[1]) / 2e-5
            assert before[side][place] - after[place] == pytest.approx(slope, rel=2e-3, abs=2e-4)


def test_popular_items_are_drawn_more_often_and_weigh_less() -> None:
    counts = np.array([100, 20, 5, 1, 1])
    settings = _settings(popularity=1.0, n_negatives=2, only_unseen=False)
    sampling = _sampling(settings, counts)
    deck, drawn = np.arange(5, dtype=np.int32), np.empty(2, np.int32)
    times = np.zeros(5)
    for seed in range(4000):
        n = draw_negatives(sampling, deck, drawn, np.uint64(stream(np.uint64(seed), 0)))
        assert len(set(drawn[:n].tolist())) == n
        times[drawn[:n]] += 1
    assert deck.tolist() == list(range(5))
    assert (np.diff(times[:4]) < 0).all()
    np.testing.assert_allclose(times / 4000 * sampling.weights, 2 / 5, rtol=0.15)


@kernel
def _powers(numbers: Any, powers: Any, logarithms: Any) -> None:
    for i in range(numbers.size):
        powers[i] = power(numbers[i])
        logarithms[i] = logarithm(powers[i])


def test_powers_and_logarithms_are_those_of_the_library() -> None:
    numbers = np.concatenate([np.linspace(-40, 40, 5001), np.linspace(-2, 2, 5001)])
    numbers = numbers.astype(np.float32)
    powers, logarithms = np.empty(numbers.size, np.float32), np.empty(numbers.size, np.float32)
    _powers(numbers, powers, logarithms)
    held = np.clip(numbers.astype(float), -30, 30)
    np.testing.assert_allclose(powers, 2.0**held, rtol=2e-6)
    np.testing.assert_allclose(logarithms, np.log2(powers.astype(float)), rtol=1e-6, atol=3e-7)
