"""Laws of the factorization: no effect of workers, row order, or other users in fold_in."""

from __future__ import annotations

import functools
import itertools
import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.executors import Threads
from podium.recommenders import Factorization
from podium.recommenders.factorization import _descent
from podium.recommenders.factorization._plan import Blocks, Cells, choose_n_blocks, cut_users

N_USERS, N_ITEMS = 90, 200


def _likes(seed: int = 0) -> csr_array[Any]:
    rng = np.random.default_rng(seed)
    density = rng.random((N_USERS, 1)) * rng.random(N_ITEMS)
    likes = (rng.random((N_USERS, N_ITEMS)) < density) * rng.integers(1, 4, (N_USERS, N_ITEMS))
    likes[3] = 0  # a user without pairs
    likes[4] = 1  # a user with all pairs
    return csr_array(likes.astype(float))


def _model(**changes: Any) -> Factorization:
    return Factorization(
        **{"n_factors": 20, "n_epochs": 3, "n_blocks": 5, "random_state": 7, **changes}
    )


def _bits(model: Factorization) -> list[bytes]:
    return [f.tobytes() for f in (model.user_factors_, model.item_factors_, model.item_bias_)]


@pytest.mark.parametrize(
    "changes",
    [
        {"loss": "robirank"},
        {"loss": "type2"},
        {"loss": "identity", "negatives": "all"},
        {"loss": "bpr", "item_bias": False},
        {"loss": "softmax(temperature=0.2)", "similarity": "cosine", "popularity": 0.5},
        {"n_blocks": None, "gain": "log"},
    ],
    ids=str,
)
def test_factors_are_the_same_bits_for_any_number_of_threads(changes: dict[str, Any]) -> None:
    likes = _likes()
    one, two, four = (_bits(_model(**changes).fit(likes, executor=Threads(n))) for n in (1, 2, 4))
    assert one == two == four


class _Lazy(Threads):
    """An executor that computes values as late as possible, in reverse order, from copies."""

    def get(self, references: list[Any]) -> list[Any]:
        return [_made(reference) for reference in references[::-1]][::-1]

    def hold(self, things: Sequence[Any]) -> Any:
        return _LazyHeld(pickle.loads(pickle.dumps(list(things))))


class _LazyHeld:
    def __init__(self, things: list[Any]) -> None:
        self._things = things
        self._last: list[Any] = [None] * len(things)

    def call(self, number: int, method: str, *arguments: Any) -> Callable[[], Any]:
        before, thing = self._last[number], self._things[number]

        def make() -> Any:
            _made(before)
            return getattr(thing, method)(*pickle.loads(pickle.dumps(_all_made(arguments))))

        self._last[number] = functools.cache(make)
        return self._last[number]

    def release(self) -> None: ...


def _made(reference: Any) -> Any:
    return reference() if callable(reference) else reference


def _all_made(references: Iterable[Any]) -> list[Any]:
    return [_made(reference) for reference in references]


@pytest.mark.parametrize(
    "changes", [{"popularity": 0.5}, {"loss": "robirank", "n_blocks": 3}], ids=str
)
def test_calls_share_nothing_but_what_they_are_given(changes: dict[str, Any]) -> None:
    likes = _likes()
    expected = _bits(_model(**changes).fit(likes, executor=Threads(1)))
    assert _bits(_model(**changes).fit(likes, executor=_Lazy(1))) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"loss": "robirank", "negatives": "unseen"},
        {"loss": "softmax", "similarity": "cosine", "popularity": 0.5},
    ],
    ids=str,
)
def test_folded_user_does_not_depend_on_who_else_is_there(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    likes = _likes()
    model = _model(**changes).fit(likes)
    new = _likes(seed=5)
    together = model.fold_in(new)
    monkeypatch.setattr(_descent, "_CHUNK", 7)
    alone = np.vstack([model.fold_in(new[[i]]) for i in (0, 4, 17)])
    assert together[[0, 4, 17]].tobytes() == alone.tobytes()
    threads = model.fold_in(new, executor=Threads(3))
    assert threads.tobytes() == together.tobytes()


@st.composite
def _matrices(draw: st.DrawFn) -> NDArray[np.int64]:
    n_users, n_items = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    seed = draw(st.integers(0, 2**31))
    share = draw(st.sampled_from([0.1, 0.5, 1.0]))
    rng = np.random.default_rng(seed)
    return (rng.random((n_users, n_items)) < share).astype(np.int64)


@given(likes=_matrices(), n_blocks=st.integers(1, 9), seed=st.integers(0, 99))
def test_cells_hold_each_pair_once_where_it_belongs(
    likes: NDArray[np.int64], n_blocks: int, seed: int
) -> None:
    csr = csr_array(likes)
    offsets, items = csr.indptr.astype(np.int64), csr.indices.astype(np.int32)
    blocks = Blocks.draw(likes.shape[1], n_blocks, seed, 0)
    cuts = cut_users(offsets, n_blocks).tolist()
    found_pairs: list[tuple[int, int]] = []
    item_at = np.argsort(blocks.place)
    for first, stop in itertools.pairwise(cuts):
        part_offsets = offsets[first : stop + 1] - offsets[first]
        cells = Cells.lay_out(blocks, part_offsets, items[offsets[first] : offsets[stop]])
        for b in range(n_blocks):
            users, starts = cells.runs(b)
            for user, lo, hi in zip(first + users, starts[:-1], starts[1:], strict=True):
                assert first <= user < stop
                assert lo < hi
                places = blocks.bounds[b] + cells.positives[lo:hi]
                assert ((places >= blocks.bounds[b]) & (places < blocks.bounds[b + 1])).all()
                origin = items[offsets[user] + cells.origins[lo:hi]]
                assert origin.tolist() == item_at[places].tolist()
                found_pairs += [(int(user), int(y)) for y in origin]
    assert sorted(found_pairs) == [tuple(pair) for pair in np.argwhere(likes).tolist()]


@given(
    n_users=st.integers(1, 10**7),
    n_items=st.integers(1, 10**7),
    per_user=st.floats(0, 1000),
    n_factors=st.integers(1, 512),
)
@settings(max_examples=4 * settings().max_examples)
def test_chosen_block_count_keeps_its_promises(
    n_users: int, n_items: int, per_user: float, n_factors: int
) -> None:
    n_blocks = choose_n_blocks(n_users, n_items, int(per_user * n_users), n_factors)
    assert 1 <= n_blocks <= min(n_users, max(1, n_items // 64))
    assert n_blocks == 1 or int(per_user * n_users) / n_users / n_blocks >= 2


def test_pairs_of_all_parts_are_about_equal() -> None:
    sizes = np.random.default_rng(0).integers(0, 30, 1000)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    parts = np.diff(offsets[cut_users(offsets, 8)])
    assert parts.sum() == offsets[-1]
    assert abs(parts - offsets[-1] / 8).max() <= 30


def test_gap_grows_between_what_is_liked_and_what_is_not() -> None:
    likes = _likes()
    model = _model(n_epochs=30, loss="robirank", negatives="unseen").fit(likes)
    cost = model.history_["cost"]
    assert cost[-1] < 0.7 * cost[0] < 0.75  # equal scores cost 1
