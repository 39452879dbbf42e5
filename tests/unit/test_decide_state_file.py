"""The file of a sequential gate: written whole, and refused if damaged or foreign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.unit.gate_looks import FIRST, SECOND, look, of, refused_look
from tests.unit.gate_tables import CANDIDATE

from podium import _arrays
from podium._arrays import read_arrays, write_arrays
from podium.errors import DataError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
def test_interrupted_write_leaves_the_old_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    look(FIRST)
    before = (folder / "s").read_bytes()

    def half(arrays: Any, place: Path, metadata: Any) -> None:
        del arrays, metadata
        place.write_bytes(before[:50])
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(_arrays, "_save", half)
        with pytest.raises(error):
            look(SECOND)
    assert [file.name for file in folder.iterdir()] == ["s"]
    assert (folder / "s").read_bytes() == before
    assert look(SECOND).look == {"number": 2, "n_users": 45, "n_new": 25, "horizon": None}


def test_equivalent_texts_of_measures_continue_a_state() -> None:
    look(FIRST)
    guards = {"R@5": -0.2, "TopK_Loss@3": 0.2}
    second = look(SECOND, guards=guards)
    assert second.look == {"number": 2, "n_users": 45, "n_new": 25, "horizon": None}
    assert [claim.measure for claim in second.claims] == ["ndcg@5", *guards]


def test_error_in_a_table_leaves_the_old_file() -> None:
    look(FIRST)
    refused_look("lacks 1 of 25 users", SECOND, changed=of(SECOND - {30}, CANDIDATE))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_file_is_refused(share: float) -> None:
    look(FIRST)
    whole = Path("s").read_bytes()
    Path("s").write_bytes(whole[: int(share * len(whole))])
    refused_look("^s is truncated or not a gate state file", SECOND)


def test_changed_byte_is_refused() -> None:
    look(FIRST)
    damaged = bytearray(Path("s").read_bytes())
    damaged[-3] ^= 1
    Path("s").write_bytes(damaged)
    refused_look("^s is damaged: its digest is missing or does not match", SECOND)


def test_foreign_files_are_refused() -> None:
    Path("s").write_text("user,item\n")
    refused_look("^s is truncated or not a gate state file", FIRST)
    write_arrays("s", "podium_recommender", 1, {"x": np.arange(3)}, {})
    refused_look("contains no gate state saved by podium, only a recommender", FIRST)
    save_file({"x": np.arange(3)}, "s", metadata={"format": "pt"})
    refused_look("contains no gate state saved by podium", FIRST)
    write_arrays("s", "podium_gate", 2, {"x": np.arange(3)}, {})
    refused_look("has gate state format 2, but this version of podium reads 1", FIRST)


@pytest.mark.parametrize("lacks", ["rules", "conventions", "by", "looks", "labels", "base ndcg@5"])
def test_file_that_lacks_a_part_is_refused(lacks: str) -> None:
    look(FIRST)
    header, arrays = read_arrays("s", "podium_gate", 1)
    kept = {
        name: value for name, value in header.items() if name not in ("digest", "format", lacks)
    }
    write_arrays("s", "podium_gate", 1, {n: a for n, a in arrays.items() if n != lacks}, kept)
    with pytest.raises(DataError, match=r"^s is not a complete gate state"):
        look(FIRST)
