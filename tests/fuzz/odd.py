"""Unusual values of arguments, similar to the usual ones."""

from __future__ import annotations

import array
import contextlib
import random
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

_SCALARS: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2, 1.5, 0.0, 1.0, float("nan"), float("inf"), 2**31, 2**63, 10**30),
    *("", "x", "worst", "ndcg@3", "3", (), [], {}, [1, 2], {"ndcg": 10}, ["x"], [None]),
    *(np.float32(2), np.int64(3), np.nan, np.array(3)),
)
_BUFFER = array.array("d", [1.0, 2.0])
_NUMBERS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e155, 5e-324, -0.0, 2.0**53 + 2, -1.0, 0.5)
_KINDS = ("f8", "f4", "f2", "i8", "i4", "i1", "u1", "u8", "?", "O", "U4", "S4", "c16", ">f8", "g")
_KINDS += ("M8[s]", "m8[s]")


def odd(rng: random.Random, usual: Any) -> Any:
    """Return an odd value in place of an argument's usual value."""
    if isinstance(usual, np.ndarray) and usual.ndim and rng.random() < 0.85:
        return _array(rng, usual)
    if sparse.issparse(usual) and rng.random() < 0.85:
        return _matrix(rng, usual)
    if type(usual) is dict and usual and rng.random() < 0.7:
        key = rng.choice(list(usual))
        return {**usual, key: odd(rng, usual[key])}
    return rng.choice(_SCALARS)


def odd_numbers(rng: random.Random, usual: NDArray[Any]) -> NDArray[Any]:
    """Return the array with some numerically difficult values."""
    changed = usual.astype(float)
    for _ in range(rng.choice((0, 1, 1, 3))):
        if changed.size:
            changed.flat[rng.randrange(changed.size)] = rng.choice(_NUMBERS)
    return changed


def _array(rng: random.Random, usual: NDArray[Any]) -> Any:
    way = rng.choice(("numbers", "numbers", "kind", "shape", "length", "holder", "constant"))
    if way == "numbers":
        return odd_numbers(rng, usual)
    if way == "kind":
        with np.errstate(all="ignore"), contextlib.suppress(ValueError):  # texts of no whole number
            return usual.astype(rng.choice(_KINDS))
        return usual
    if way == "constant":
        return np.full(usual.shape, rng.choice(_NUMBERS))
    return {"shape": _shape, "length": _length, "holder": _holder}[way](rng, usual)


def _shape(rng: random.Random, usual: NDArray[Any]) -> Any:
    return rng.choice(
        (usual[None], usual[..., None], usual.T, usual.ravel(), usual[:1].ravel(), usual[:, None])
    )


def _length(rng: random.Random, usual: NDArray[Any]) -> Any:
    return rng.choice(
        (usual[:0], usual[:1], usual[:-1], np.concatenate([usual, usual]), usual[::2])
    )


def _holder(rng: random.Random, usual: NDArray[Any]) -> Any:
    ragged = [*usual.tolist()[1:], [1, 2]]
    if usual.dtype.char == "g":  # Polars has no such numbers
        usual = usual.astype(float)
    return rng.choice((
        usual.tolist(), tuple(usual.tolist()), usual[::-1],
        np.ma.masked_array(usual, usual == usual),
        pl.Series(usual.ravel().tolist()), iter(usual.tolist()), ragged, _BUFFER,
        np.asfortranarray(usual), [None, *usual.tolist()[1:]], [str(v) for v in usual.tolist()],
        dict(enumerate(usual.tolist())), sparse.csr_array(usual.reshape(1, -1).astype(float)),
    ))  # fmt: skip


def _matrix(rng: random.Random, usual: Any) -> Any:
    usual = usual.tocsr()
    if rng.random() < 0.4:
        changed = usual.astype(float).copy()
        changed = changed.tocoo()
        changed.data = odd_numbers(rng, changed.data)
        return changed
    return rng.choice((
        usual.toarray(), usual.T, usual.tocoo(), usual.tocsc(), usual.astype("i8"), usual[:0],
        usual[:1], usual.astype(bool), usual.toarray().tolist(), sparse.csr_array((3, 0)),
        usual.todok(), usual[:, :2], sparse.csr_matrix(usual),
    ))  # fmt: skip
