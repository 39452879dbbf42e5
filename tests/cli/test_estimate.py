"""podium estimate: what it prints, from ranks and from scores, and what it refuses."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import sampled

DESIGN = ("--items", "200", "--negatives", "9")
FAST = (*DESIGN, "--no-bounds")
MES = ("--method", "mes", "--resamples")
NAMED = (
    *("--scores", "--column", "user=who", "--column", "item=what", "--column", "score=model"),
    *("--column", "target=held", "--column", "history=past"),
)
ALL = ("--items", "10", "--negatives", "9", "--no-replacement")
TWICE = ("--items", "200", "--no-replacement", "--mixed")


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    """Write sampled ranks of 40 users among 9 items of 200, and scores that give such ranks."""
    ranks = 1 + np.arange(40) % 10
    (folder / "ranks.csv").write_text(
        "user,rank\n" + "".join(f"{u},{r}\n" for u, r in enumerate(ranks.tolist()))
    )
    rows = ["user,item,score,target"]
    for user, rank in enumerate(ranks.tolist()):
        rows += [f"{user},{item},{-item},0" for item in range(9)]
        rows.append(f"{user},99,{0.5 - (rank - 1)},1")  # below the first rank - 1 candidates
    (folder / "scores.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def estimated(json_of: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return the JSON of a command that went well, by its schema."""
    return partial(json_of, "estimate.json", "estimate")


def test_json_is_that_of_the_library(estimated: Callable[..., dict[str, Any]]) -> None:
    ranks = sampled.read("ranks.csv", n_items=200, n_negatives=9)
    expected = sampled.evaluate(ranks, ["ndcg@10", "recall@10"]).as_json()
    assert estimated("ranks.csv", *DESIGN) == expected
    assert list(expected["measures"]) == ["ndcg@10", "recall@10"]
    assert {m["method"] for m in expected["measures"].values()} == {"smooth"}
    assert all(len(m["bounds"]) == 2 for m in expected["measures"].values())


def test_scores_give_the_ranks(estimated: Callable[..., dict[str, Any]]) -> None:
    expected = estimated("ranks.csv", *FAST, "--method", "bv")
    assert estimated("scores.csv", *FAST, "--method", "bv") == expected
    assert estimated("scores.csv", *FAST, "--method", "bv", "--scores") == expected
    without = estimated("scores.csv", "--items", "200", "--no-bounds", "--method", "bv")
    assert without == expected


def test_ties_follow_their_rule(estimated: Callable[..., dict[str, Any]], files: Path) -> None:
    """A target that equals one of two candidates, both below it otherwise: rank 2, or 1."""
    (files / "tied.csv").write_text("user,item,score,target\n1,1,5,1\n1,2,5,0\n1,3,4,0\n")
    argv = ("tied.csv", "--items", "50", "--no-bounds", "--method", "naive", "-m", "rr")
    means = [
        estimated(*argv, *ties)["measures"]["rr"]["mean"]
        for ties in ((), ("--ties", "worst"), ("--ties", "best"))
    ]
    assert means == [1 / 2, 1 / 2, 1.0]


def test_method_and_measure_are_as_asked(estimated: Callable[..., dict[str, Any]]) -> None:
    found = estimated("ranks.csv", *FAST, "-m", "mrr", "--method", "naive", "--confidence", "0.5")
    (name, one), *others = found["measures"].items()
    assert not others
    assert name == "mrr"
    assert one["mean"] == pytest.approx(sum(1 / r for r in range(1, 11)) / 10)
    assert (one["method"], one["level"], one["biased"]) == ("naive", 0.5, True)
    assert one["interval_of"] == "expectation"
    assert one["bounds"] is None


def test_replacement_changes_the_estimate(estimated: Callable[..., dict[str, Any]]) -> None:
    ranks = ("ranks.csv", "--items", "12", "--negatives", "9", "--no-bounds", "-m", "rr")
    drawn, once = estimated(*ranks), estimated(*ranks, "--no-replacement")
    assert drawn["conventions"]["replacement"] is True
    assert once["conventions"]["replacement"] is False
    assert drawn["measures"]["rr"]["mean"] != once["measures"]["rr"]["mean"]


def test_samples_that_differ_and_grow(
    estimated: Callable[..., dict[str, Any]], files: Path
) -> None:
    (files / "sizes.csv").write_text("rank,n_negatives\n1,20\n3,10\n2,10\n4,20\n")
    mixed = estimated("sizes.csv", "--items", "200", "--mixed", "--no-bounds")
    assert mixed["conventions"]["n_negatives"] == [10, 20]
    grown = estimated("sizes.csv", "--items", "200", "--stages", "10,20", "--no-bounds")
    assert grown["conventions"]["stages"] == [10, 20]
    assert grown["measures"]["ndcg@10"]["mean"] != mixed["measures"]["ndcg@10"]["mean"]


def test_columns_can_be_named(estimated: Callable[..., dict[str, Any]], files: Path) -> None:
    text = (files / "ranks.csv").read_text().replace("user,rank", "who,place")
    (files / "named.csv").write_text(text)
    named = ("--column", "user=who", "--column", "rank=place")
    assert estimated("named.csv", *FAST, *named) == estimated("ranks.csv", *FAST)
    text = (files / "scores.csv").read_text().replace("user,item,score,target", "a,b,c,d")
    (files / "named.csv").write_text(text)
    named = (
        "--column",
        "user=a",
        "--column",
        "item=b",
        "--column",
        "score=c",
        "--column",
        "target=d",
    )
    assert estimated("named.csv", *FAST, "--scores", *named) == estimated("scores.csv", *FAST)


def test_history_is_read_and_told(
    podium: Callable[..., Any], estimated: Callable[..., dict[str, Any]], files: Path
) -> None:
    rows = (files / "ranks.csv").read_text().splitlines()[1:]
    lines = [f"{row},{3 * (i % 7)}" for i, row in enumerate(rows)]
    (files / "past.csv").write_text("user,rank,n_train\n" + "\n".join(lines) + "\n")
    (files / "named.csv").write_text("user,rank,had\n" + "\n".join(lines) + "\n")
    ranks = sampled.read("past.csv", n_items=200, n_negatives=9)
    expected = sampled.evaluate(ranks, ["ndcg@10", "recall@10"], bounds=False).as_json()
    assert expected["conventions"]["history"] == "read"
    assert estimated("past.csv", *FAST) == expected
    assert estimated("named.csv", *FAST, "--column", "history=had") == expected
    assert estimated("named.csv", *FAST)["measures"] != expected["measures"]
    said = " ".join(podium("estimate", "past.csv", *FAST).out.split())
    assert "The column of users' history was read by smooth." in said
    said = " ".join(podium("estimate", "past.csv", *FAST, "--method", "bv").out.split())
    assert "The column of users' history was not read by bv." in said
    said = " ".join(podium("estimate", "past.csv", "past.csv", *FAST).out.split())
    assert "The column of users' history was read by smooth." in said
    assert "history" not in podium("estimate", "ranks.csv", *FAST).out


def test_history_of_scores_is_that_of_their_targets(
    estimated: Callable[..., dict[str, Any]], files: Path
) -> None:
    head, *rows = (files / "scores.csv").read_text().splitlines()
    lines = [f"{row},{int(row.split(',')[0]) % 5}" for row in rows]
    (files / "past.csv").write_text("\n".join([f"{head},history", *lines]) + "\n")
    found = estimated("past.csv", *FAST)
    ranks = sampled.read("ranks.csv", n_items=200, n_negatives=9)
    known = sampled.SampledRanks(ranks.ranks, 9, 200, user=ranks.user, history=[*range(5)] * 8)
    assert found == sampled.evaluate(known, ["ndcg@10", "recall@10"], bounds=False).as_json()


@pytest.mark.parametrize(
    ("argv", "options"),
    [
        (("ranks.csv", "--level", "0.95"), ""),
        (("ranks.csv", "--confidence", "0.9"), " --level 0.9"),
        (("scores.csv", "--ties", "best", "--mixed"), " --mixed --ties best"),
        (("scores.csv", "--ties", "random", "--seed", "3"), " --ties random --seed 3"),
        (("ranks.csv", "--seen", "had them.csv"), " --seen 'had them.csv'"),
        (
            ("scores.csv", "--ties", "random", "--method", "mes", "--resamples", "3"),
            " --ties random --resamples 3 --seed 0",
        ),
        (("named.csv", *NAMED), f" --scores {' '.join(NAMED[1:])}"),
        (("named.csv", "--column", "rank=place"), " --column rank=place"),
    ],
)
def test_last_line_gives_the_same_again(
    podium: Callable[..., Any], files: Path, argv: tuple[str, ...], options: str
) -> None:
    (files / "had them.csv").write_text("user,item\n1,4\n1,5\n2,4\n")
    rows = (files / "scores.csv").read_text().splitlines()[1:]
    named = ["who,what,model,held,place,past", *(f"{row},1,3" for row in rows)]
    (files / "named.csv").write_text("\n".join(named) + "\n")
    method = ("--method", "naive") if "--method" not in argv else ()
    done = podium("estimate", *argv[:1], *FAST, *method, *argv[1:])
    assert done.status == 0, done.err
    text = f"--method {'mes' if 'mes' in argv else 'naive'} --items 200 --negatives 9{options}"
    assert " ".join(done.out.split()).endswith(text)
    again = podium("estimate", argv[0], "--no-bounds", *shlex.split(text))
    assert again.out == done.out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("ranks.csv", "--items", "200", "--negatives", "8"), "1 to --negatives + 1 = 9, got 10"),
        (("zero.csv", *DESIGN), "got 0 at row 1"),
        (("none.csv", *DESIGN), "no rows"),
        (("ranks.csv", "--items", "9", "--negatives", "9"), "--negatives must be below --items"),
        (("ranks.csv", "--items", "200"), "--negatives must be given once"),
        (("ranks.csv", *DESIGN, "--method", "mel"), "Did you mean 'mle'?"),
        (("ranks.csv", *DESIGN, "--method", "bv(gama=1)"), "Did you mean 'gamma'?"),
        (
            ("ranks.csv", *DESIGN, "-m", "topk_loss@10"),
            "its value is 1 if the only relevant item has rank 11",
        ),
        (("ranks.csv", *DESIGN, "-m", "ndgc@10"), "Did you mean 'ndcg'?"),
        (("ranks.csv", *DESIGN, "--ties", "best"), "--ties has no effect on ranks"),
        (("ranks.csv", *DESIGN, *MES, "1"), "--resamples must be >= 2, got 1."),
        (
            ("ranks.csv", *DESIGN, "--resamples", "9"),
            "--resamples is for methods whose standard error needs",
        ),
        (("ranks.csv", *DESIGN, "--resamples", "9", "--method", "bv"), "bv does not need them"),
        (("ranks.csv", "ranks.csv", *DESIGN, "--resamples", "9"), "smooth does not need them"),
        (
            ("all.csv", *ALL, "--resamples", "9", "--method", "mle"),
            "and mle does not need them here.",
        ),
        (("ranks.csv", *DESIGN, "-m", "rr", "-m", "mrr"), "--measure names mrr twice. Keep one."),
        (("twice.csv", *TWICE), "twice.csv: user 3 has item 1 in two rows, but --no-replacement"),
        (("scores.csv", *DESIGN, "--column", "rank=x", "--scores"), "the file is read as scores."),
        (("ranks.csv", *DESIGN, "--level", "2"), "--level must be"),
        (("ranks.csv", *DESIGN, "--column", "score=x"), "the file is read as ranks: see --scores."),
        (("ranks.csv", *DESIGN, "--column", "history=x"), "no column 'x'"),
        (("ranks.csv", *DESIGN, "--stages", "5;9"), "--stages must be numbers with commas"),
        (("ranks.csv", *DESIGN, "--format", "tabel"), "Did you mean 'table'?"),
        (("scores.csv", "--items", "200", "--negatives", "99"), "users have 9 candidates"),
        (("scores.csv", *DESIGN, "--stages", "5,9"), "--stages has no effect on scores"),
        (("mixed.csv", "--items", "200"), "Pass --mixed if they were drawn with"),
        (("lost.csv", "--items", "200"), "Pass --mixed if samples were drawn with"),
        (("absent.csv", *DESIGN), "absent.csv does not exist"),
        (("ranks.csv", "--negatives", "9"), "Missing option '--items'"),
    ],
)
def test_refused_in_one_line(
    podium: Callable[..., Any], files: Path, argv: tuple[str, ...], message: str
) -> None:
    (files / "zero.csv").write_text("rank\n1\n0\n")
    (files / "none.csv").write_text("rank\n")
    (files / "mixed.csv").write_text("rank,n_negatives\n1,9\n1,8\n")
    (files / "all.csv").write_text("rank\n1\n5\n")
    lines = (files / "scores.csv").read_text().splitlines()
    (files / "twice.csv").write_text("\n".join([*lines, "3,1,-1,0"]) + "\n")
    (files / "lost.csv").write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    done = podium("estimate", *argv)
    assert done.status == 2
    assert done.out == ""
    assert message in done.message
