"""Table 1 of the pAp@k paper, exact in fractions: the golden test of the whole library.

Five rankings, read off the paper's columns; every entry it prints, and precision at 2, which it
leaves out.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from podium.metrics import parse
from podium.ranking import Ranking
from podium.testing.oracles import Listing, brute_force

LABELS = {
    "f1": (0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0),
    "f2": (1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1),
    "f3": (1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1),
    "f4": (1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0),
    "f5": (1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0),
}
PRINTED = {
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
UNPRINTED = {
    ("precision@2", "f1"): Fraction(1, 2),
    ("precision@2", "f2"): Fraction(1, 2),
    ("precision@2", "f3"): Fraction(2, 2),
}
ENTRIES = PRINTED | UNPRINTED
each_entry = pytest.mark.parametrize(
    ("text", "column"), list(ENTRIES), ids=[f"{t} {c}" for t, c in ENTRIES]
)


def ranking(*columns: str) -> Ranking:
    """The named columns as groups, rows dealt out rank by rank."""
    rows = [(c, -rank, LABELS[c][rank]) for rank in range(11) for c in columns]
    qid, scores, relevance = zip(*rows, strict=True)
    return Ranking.from_scores(scores, relevance, qid)


@each_entry
def test_table_1_is_the_nearest_float_to_each_fraction(text: str, column: str) -> None:
    assert parse(text)(ranking(column)).tolist() == [float(ENTRIES[text, column])]


@each_entry
def test_table_1_by_brute_force_is_each_fraction(text: str, column: str) -> None:
    measure = parse(text)
    listing = Listing(tuple(range(11, 0, -1)), LABELS[column], n_items=11)
    arguments = measure.metric.options | ({} if measure.k is None else {"k": measure.k})
    assert brute_force(measure.metric.name, listing, **arguments) == ENTRIES[text, column]


def test_table_1_is_the_same_in_one_batch() -> None:
    batch = ranking(*LABELS)
    for (text, column), value in ENTRIES.items():
        assert parse(text)(batch)[list(LABELS).index(column)] == float(value)


@pytest.mark.parametrize("text", ["pap@2", "pap@6"])
def test_table_1_needs_only_the_top_of_each_list(text: str) -> None:
    k = parse(text).k or 0
    for column, labels in LABELS.items():
        top, rest = labels[: 2 * k - 1], labels[2 * k - 1 :]
        cut = Ranking.from_scores(
            -np.arange(len(top)), top, unretrieved=(rest, np.zeros(len(rest), int))
        )
        np.testing.assert_array_equal(parse(text)(cut), parse(text)(ranking(column)))
