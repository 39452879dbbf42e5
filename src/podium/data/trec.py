"""TREC runs (qid Q0 docid rank score tag) and qrels (qid iteration docid relevance).

Document ids are always text, even if they look like integers. trec_eval orders ties by this text,
so that "9" comes after "10".
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.columns import Kind
from podium.data.files import File
from podium.data.headerless import BLANK, read_rows
from podium.data.source import Column, Places, Source
from podium.errors import DataError

RUN = ("qid", "q0", "docid", "rank", "score", "tag")
QRELS = ("qid", "iteration", "docid", "relevance")

_TAG = "podium"  # the tag of written runs

# The names of the columns for podium's roles; columns with an empty name are hidden.
_SHOWN = {"docid": "doc_id", "q0": "", "iteration": "", "tag": ""}


def open_trec(file: File) -> Source:
    """Open a run (6 columns) or qrels (4 columns), separated by blanks or tabs."""
    line = file.first_line
    width = len(line.split())
    if line.startswith("#") and file.is_trec():
        raise DataError(f"{file} begins with a comment, which TREC files lack. Remove it.")
    if width not in (4, 6):
        raise DataError(
            f"{file}, line 1: a TREC run has 6 columns and qrels have 4, got {width}. Write "
            f"{' '.join(RUN)}, or {' '.join(QRELS)}, with no blanks in a field."
        )
    columns = RUN if width == 6 else QRELS
    columns_shown = {_SHOWN.get(name, name): name for name in columns if _SHOWN.get(name, name)}

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        own_kinds: dict[str, Kind] = {columns_shown[n]: kind for n, kind in kinds.items()}
        frame = read_rows(file, columns, BLANK, own_kinds, "TREC")
        return {name: frame[columns_shown[name]] for name in kinds}

    return Source(str(file), tuple(columns_shown), fetch, Places(file.line_of), text_ids=True)


def run_columns(columns: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the columns of a run, ``qid Q0 docid rank score tag``, with ranks from 1.

    The argument has columns of users, items and scores, best first, one user after the other.
    """
    users, items, scores = (np.asarray(column) for column in columns.values())
    for name, ids in zip(columns, (users, items), strict=False):
        _refuse_blanks(ids, name, path)
    is_first = np.append(True, users[1:] != users[:-1])[: users.size]
    starts = np.flatnonzero(is_first)
    ranks = np.arange(users.size) - np.repeat(starts, np.diff(starts, append=users.size)) + 1
    # The shortest text that represents the same number, of 32 or 64 bits.
    values = (users, np.full(users.size, "Q0"), items, ranks, scores.astype(np.str_))
    return dict(zip(RUN, (*values, np.full(users.size, _TAG)), strict=True))


def _refuse_blanks(ids: NDArray[Any], name: str, path: Path) -> None:
    if ids.dtype.kind not in "UO":
        return
    for text in dict.fromkeys(ids.tolist()):
        if len(str(text).split()) != 1:
            raise DataError(
                f"{path}: {name} {text!r} is empty or contains a blank, but blanks separate the "
                "fields of a TREC run. Write a .csv or .parquet file."
            )
