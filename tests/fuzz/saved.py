"""Models, factors and checkpoints with damaged bytes, headers or arrays."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save
from tests.fuzz.case import Case, Corpus
from tests.fuzz.corpus import FACTORIZE
from tests.fuzz.damage import spoil

from podium._arrays import write_arrays

_RANKERS = ("linear", "listmle", "neural", "logistic-regression")
_BOOSTED = ("lightgbm", "xgboost")

_ODD: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2, 1e308, 4e8, 2**31, 400_000_000, 2**63 - 1, 2**63, 10**30, 0.5),
    *("", "x", "nan", "pap-ramp", [], {}, [1, 2], {"a": 1}, [[[[]]]], ["x"] * 3),
)


def models(rng: random.Random, corpus: Corpus) -> Case:
    """Return a command that reads a damaged model, factorization or checkpoint."""
    return rng.choice((_ranker, _ranker, _factors, _checkpoint))(rng, corpus)


def boosted(rng: random.Random, corpus: Corpus) -> Case:
    """Return `podium rank` with a model whose trees are damaged."""
    intact = corpus[rng.choice(_BOOSTED)]
    kind, header, arrays = _taken_apart(intact)
    trees = arrays["trees_"].tobytes()
    start = intact.index(trees)
    if rng.random() < 0.5:  # damage the bytes of the file in place
        damaged = spoil(trees, rng)[: len(trees)].ljust(len(trees), b" ")
        return _ranking(rng, corpus, intact[:start] + damaged + intact[start + len(trees) :])
    arrays["trees_"] = np.frombuffer(spoil(trees, rng), np.uint8)
    return _ranking(rng, corpus, _plainly(kind, header, arrays))


def _ranker(rng: random.Random, corpus: Corpus) -> Case:
    return _ranking(rng, corpus, _damaged(corpus[rng.choice(_RANKERS + _BOOSTED)], rng))


def _ranking(rng: random.Random, corpus: Corpus, model: bytes) -> Case:
    case = Case(["rank", "model", "rows.csv"], {"model": model, "rows.csv": corpus["rows.csv"]})
    if rng.random() < 0.3:
        case.argv += ["--out", "run.csv"]
        case.outputs.add("run.csv")
    return case


def _factors(rng: random.Random, corpus: Corpus) -> Case:
    return Case(["recommend", "factors", "-k", "4"], {"factors": _damaged(corpus["factors"], rng)})


def _checkpoint(rng: random.Random, corpus: Corpus) -> Case:
    checkpoint = _damaged(corpus["checkpoint"], rng)
    return Case(
        ["train", "--model", "factorization", "pairs.csv", *FACTORIZE, "--out", "made", "--resume"],
        {"pairs.csv": corpus["pairs.csv"], "made.checkpoint": checkpoint},
        {"made"},
        {"made.checkpoint"},
    )


def _damaged(data: bytes, rng: random.Random) -> bytes:
    """Return a file with damaged bytes, or a well-formed file with odd content."""
    part = rng.choice(("bytes", "header", "arrays", "arrays"))
    if part == "bytes":
        return spoil(data, rng)
    kind, header, arrays = _taken_apart(data)
    if part == "header":
        _spoil_json(header, rng)
    for _ in range(rng.choice((1, 1, 2)) if part == "arrays" else 0):
        _spoil_arrays(arrays, rng)
    # A valid digest does not protect the library that reads malicious trees.
    return rng.choice((_plainly, _plainly if "trees_" in arrays else _as_podium))(
        kind, header, arrays
    )


def _taken_apart(data: bytes) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    length = int.from_bytes(data[:8], "little")
    kinds: dict[str, str] = json.loads(data[8 : 8 + length])["__metadata__"]
    kind = next(name for name in kinds if name.startswith("podium"))
    return kind, json.loads(kinds[kind]), load(data)


def _plainly(kind: str, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return a file without a new digest: a digest in the header is that of the intact file."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(plain, metadata={kind: json.dumps(header)})


def _as_podium(kind: str, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return a file as podium would write it, with a valid digest."""
    metadata = {name: value for name, value in header.items() if name not in ("format", "digest")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made")
        try:
            write_arrays(path, kind, header.get("format", 0), arrays, metadata)
        except (TypeError, ValueError):
            return _plainly(kind, header, arrays)
        return path.read_bytes()


def _spoil_json(value: dict[str, Any], rng: random.Random) -> None:
    """Change, remove or rename one value at any depth."""
    dicts = [item for item in value.values() if isinstance(item, dict) and item]
    if dicts and rng.random() < 0.7:
        return _spoil_json(rng.choice(dicts), rng)
    key = rng.choice(list(value))
    draw = rng.random()
    if draw < 0.2:
        del value[key]
    elif draw < 0.3:
        value[f"{key}_"] = value.pop(key)
    else:
        value[key] = rng.choice(_ODD)
    return None


def _spoil_arrays(arrays: dict[str, NDArray[Any]], rng: random.Random) -> None:
    """Change, remove, rename or copy one array."""
    if not arrays:
        return
    name = rng.choice(list(arrays))
    way = rng.choice(("values", "values", "values", "kind", "shape", "drop", "name", "add", "one"))
    if way == "drop":
        del arrays[name]
    elif way in ("name", "add"):
        other = rng.choice((*arrays, "coef_", "x", f"{name}_", "user_labels", "__dict__"))
        arrays[other] = arrays.pop(name) if way == "name" else arrays[name]
    else:
        arrays[name] = _changed(arrays[name], way, rng)


def _changed(array: NDArray[Any], way: str, rng: random.Random) -> NDArray[Any]:
    """Change values, the type or the shape of an array; "one" is an array of one odd number."""
    rows = np.atleast_1d(array)
    with np.errstate(all="ignore"):
        if way == "values" and array.size:
            odd = rng.choice((np.nan, np.inf, -np.inf, 1e300, -1, 0, 2**31, 2**62))
            where = ... if rng.random() < 0.3 else rng.randrange(array.size)
            changed = array.copy()
            changed.reshape(-1)[where] = np.array(odd).astype(array.dtype)
            return changed
        if way == "kind":
            return array.astype(rng.choice(("f8", "f4", "f2", "i8", "i4", "i1", "u1", "u8", "?")))
    if way == "shape":
        shapes = (rows[:-1], rows[:0], array[None], array.ravel(), array.T, array.ravel()[:1])
        doubled = np.concatenate([rows, rows])
        return rng.choice((*shapes, doubled, np.resize(array, (7, 5)), np.resize(array, 100)))
    if way == "one":
        kind = array.dtype if array.dtype.kind == "f" else np.dtype(float)
        return np.array(rng.choice((0, 1, 3, np.nan)), dtype=kind)
    return array
