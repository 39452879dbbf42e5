"""Table 1 of the pAp@k paper, exact in fractions: the golden test of the whole library.

Five rankings, read off the paper's columns; every entry it prints, and precision at 2, which it
leaves out.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from podium.metrics import parse
from podium.ranking import Ranking

LABELS = {
    "f1": (0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0),
    "f2": (1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1),
    "f3": (1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1),
    "f4": (1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0),
    "f5": (1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0),
}
ENTRIES = {
    ("auc", "f1"): Fraction(22, 30),
    ("auc", "f2"): Fraction(21, 30),
    ("auc", "f3"): Fraction(12, 30),
    ("pauc@2", "f1"): Fraction(2, 10),
    ("pauc@2", "f2"): Fraction(5, 10),
    ("pauc@2", "f3"): Fraction(4, 10),
    ("pap@2", "f1"): Fraction(2, 4),
    ("pap@2", "f2"): Fraction(3, 4),
    ("pap@2", "f3"): Fraction(4, 4),
    ("precision@6", "f4"): Fraction(5, 6),
    ("precision@6", "f5"): Fraction(5, 6),
    ("pap@6", "f4"): Fraction(27, 30),
    ("pap@6", "f5"): Fraction(28, 30),
}
UNENTRIES = {
    ("precision@2", "f1"): Fraction(1, 2),
    ("precision@2", "f2"): Fraction(1, 2),
    ("precision@2", "f3"): Fraction(2, 2),
}


def ranking(*columns: str) -> Ranking:
    """The named columns as groups, rows dealt out rank by rank."""
    rows = [(c, -rank, LABELS[c][rank]) for rank in range(11) for c in columns]
    qid, scores, relevance = zip(*rows, strict=True)
    return Ranking.from_scores(scores, relevance, qid)


@pytest.mark.parametrize(("text", "column"), ENTRIES)
def test_table_1_is_the_nearest_float_to_each_fraction(text: str, column: str) -> None:
    assert parse(text)(ranking(column)).tolist() == [float(ENTRIES[text, column])]
