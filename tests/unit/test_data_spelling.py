"""Ids that differ only in spelling are named, with a remedy that merges no other ids."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import polars as pl
import pytest

import podium
from podium.data import spelling
from podium.errors import DataError, PodiumWarning

E = "é"
PAIRS = [
    (unicodedata.normalize("NFD", E), E),
    (" a", "a"),
    ("a\u00a0b", "a b"),
    ("ABC", "abc"),
    (" \u00c9".replace("\u00c9", unicodedata.normalize("NFD", "É")), E),
    ("007", "7"),
    ("7.0", "7"),
    ("a\u200b", "a"),
    ("\ufeffA\u2060", "a"),
]
WORDS = [
    *("Unicode", "blanks", "blanks", "case", "Unicode form and blanks and upper", ".0", ".0"),
    *("invisible", "invisible characters and upper"),
]


def _tables(left: str, right: str) -> tuple[Any, Any]:
    truth = {"user": ["u", "v"], "item": [left, "x"]}
    run = {"user": ["u", "v"], "item": [right, "x"], "score": [1.0, 1.0]}
    return truth, run


@pytest.mark.parametrize(("pair", "word"), list(zip(PAIRS, WORDS, strict=True)))
def test_a_difference_in_spelling_is_named_with_its_rows(pair: tuple[str, str], word: str) -> None:
    truth, run = _tables(*pair)
    with pytest.warns(PodiumWarning, match=rf"1 row.*{word}"):
        podium.measure(truth, run, "rr")
    with pytest.warns(PodiumWarning, match=word):
        podium.compare(truth, {"a": run, "b": run}, "rr")
    with pytest.warns(PodiumWarning, match=word):
        podium.gate(truth, run, run, "rr", margin=0.1)
    alone = ({**truth, "item": [pair[0]] * 2}, {**run, "item": [pair[1]] * 2})
    with pytest.raises(DataError, match=word):
        podium.measure(*alone, "rr")


@pytest.mark.parametrize("pair", PAIRS)
def test_the_remedy_makes_one_id_of_a_pair(pair: tuple[str, str]) -> None:
    text = spelling.remedy([pair], [pair[0]], [pair[1]], "item")
    rule = re.search(r"pl\.col.*(?=\.$)", text)
    assert rule is not None
    frame = pl.DataFrame({"item": list(pair)}).select(eval(rule[0]))
    assert frame["item"].n_unique() == 1


def test_a_remedy_that_would_merge_other_ids_is_not_given() -> None:
    text = spelling.remedy([("A", "a")], ["A", "B", "b"], ["a"], "item")
    assert "one by one" in text
    assert "'B' with 'b'" in text


def test_the_remedy_of_a_prefix_keeps_other_prefixes_apart() -> None:
    train = {"user": ["1", "1", "2", "2"], "item": ["A12", "B12", "A13", "B14"]}
    test = {"user": ["1", "2"], "item": ["a12", "b14"]}
    finding = next(f for f in podium.audit(train, test).findings if f.check == "item-spelling")
    rule = re.search(r"pl\.col.*(?=\.$)", finding.remedy)
    assert rule is not None
    frame = pl.DataFrame({"item": train["item"]}).select(eval(rule[0]))
    assert frame["item"].n_unique() == 4


def _csv(path: Any, text: str) -> Any:
    path.write_text(text)
    return path


def test_ids_with_a_zero_fraction_are_compared_as_written(tmp_path: Any) -> None:
    truth = _csv(tmp_path / "t.csv", "user,item\n5.0,1.0\n")
    run = _csv(tmp_path / "r.csv", "user,item,rank\n5.0,2.0,1\n5.0,1,2\n5.0,1.0,3\n")
    assert podium.measure(truth, run, "rr").values["rr"].tolist() == [1 / 3]
    versions = _csv(tmp_path / "v.csv", "user,item\nu1,2.0\nu2,3.0\n")
    listed = _csv(tmp_path / "w.csv", "user,item,rank\nu1,1.10,1\nu1,2.0,2\nu2,3.0,1\n")
    assert podium.measure(versions, listed, "rr").values["rr"].tolist() == [0.5, 1.0]
    users = _csv(tmp_path / "x.csv", "user,item,rank\n5.0,1.0,1\nx,1.0,1\n")
    result = podium.measure(truth, users, "rr")
    assert (result.labels.tolist(), result.values["rr"].tolist()) == ([5], [1.0])
    both = podium.compare(truth, {"a": run, "b": users}, "rr")
    assert both.difference("rr", "b").test.difference == pytest.approx(2 / 3)
    whole = {"user": [5], "item": [1], "score": [1.0]}
    assert podium.measure(truth, whole, "rr").values["rr"].tolist() == [1.0]
