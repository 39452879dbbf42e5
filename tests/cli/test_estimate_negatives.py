"""podium estimate of targets and candidates that a file lists, scored by a table or a model."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import sampled
from podium.recommenders import Factorization

N_USERS, N_ITEMS = 30, 40
LISTED = ("--negatives-file", "test.negative", "--items", "40", "--no-replacement")
PAST = ("--items", "40", "--negatives", "9", "--seen", "past")
RR = ("--no-bounds", "--method", "naive", "-m", "rr")


@pytest.fixture(scope="module")
def model() -> Factorization:
    """Return a model of 30 users and 40 items that were fitted as numbers."""
    rng = np.random.default_rng(1)
    pairs = {"user": rng.integers(0, N_USERS, 400), "item": rng.integers(0, N_ITEMS - 1, 400)}
    pairs = {"user": [*pairs["user"], 0], "item": [*pairs["item"], N_ITEMS - 1]}
    return Factorization(n_factors=4, n_epochs=3, n_blocks=1).fit(pairs)


@pytest.fixture(autouse=True)
def files(folder: Path, model: Factorization) -> Path:
    """Write a target and 9 candidates of each user, their scores by the model, and the model."""
    rng = np.random.default_rng(2)
    drawn = np.array([rng.permutation(N_ITEMS)[:10] for _ in range(N_USERS)])
    write_listed(folder / "test.negative", drawn)
    scores = all_scores(model)
    rows = [f"{u},{i},{float(scores[u, i])!r}" for u, i in np.ndindex(scores.shape)]
    (folder / "scores.csv").write_text("user,item,score\n" + "\n".join(rows[::-1]) + "\n")
    model.save(folder / "model")
    return folder


def write_listed(file: Path, drawn: Any, users: Any = None) -> None:
    users = range(len(drawn)) if users is None else users
    lines = [
        f"({user},{target})\t" + "\t".join(map(str, rest)) + "\n"
        for user, (target, *rest) in zip(users, drawn, strict=True)
    ]
    file.write_text("".join(lines))


def listed_candidates() -> sampled.Candidates:
    options: dict[str, Any] = {"n_items": N_ITEMS, "replacement": False}
    return sampled.SampleReader(negatives="test.negative", **options).candidates


def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines()


def undrawn(file: Path, line: int) -> list[int]:
    """Return the items that a line does not have."""
    text = lines_of(file)[line]
    drawn = {int(word) for word in text.split(",")[1].replace(")", " ").split()}
    return [item for item in range(N_ITEMS) if item not in drawn]


def all_scores(model: Factorization) -> Any:
    """Return scores by users' and items' own numbers."""
    products = model.user_factors_.astype(float) @ model.item_factors_.T.astype(float)
    scores = np.empty_like(products)
    assert model.user_labels_ is not None
    assert model.item_labels_ is not None
    scores[np.ix_(model.user_labels_, model.item_labels_)] = products + model.item_bias_
    return scores


@pytest.fixture
def estimated(podium: Callable[..., Any]) -> Callable[..., tuple[dict[str, Any], list[str]]]:
    """Return the JSON of a command that went well, and the lines on stderr."""

    def run(*argv: str) -> tuple[dict[str, Any], list[str]]:
        done = podium("estimate", *argv, "--format", "json")
        assert done.status == 0, done.err
        return json.loads(done.out), done.err.splitlines()

    return run


@pytest.mark.long
def test_table_and_model_give_the_ranks_among_the_listed(
    estimated: Callable[..., Any], model: Factorization
) -> None:
    listed = listed_candidates()
    ranks = listed.ranks(all_scores(model))
    expected = sampled.evaluate(ranks, ["ndcg@10", "recall@10"]).as_json()
    assert estimated("scores.csv", *LISTED)[0] == expected
    found, said = estimated("model", *LISTED)
    assert found == expected
    learned = [line for line in said if "was trained on" in line]
    assert len(said) == len(learned) == 1


def test_targets_that_were_learned_from_are_counted(
    estimated: Callable[..., Any], files: Path, model: Factorization
) -> None:
    assert model.user_labels_ is not None
    assert model.item_labels_ is not None
    seen = {
        int(user): model.item_labels_[
            model.seen_items_[model.seen_offsets_[row] : model.seen_offsets_[row + 1]]
        ]
        for row, user in enumerate(model.user_labels_)
    }
    other = {u: int(np.setdiff1d(np.arange(N_ITEMS), items)[0]) for u, items in seen.items()}
    rest = {u: [i for i in range(10) if i not in (other[u], seen[u][0])][:7] for u in seen}
    write_listed(files / "test.negative", [[other[u], *rest[u]] for u in sorted(seen)])
    assert estimated("model", *LISTED)[1] == []
    first = [[seen[0][0], *rest[0]], *([other[u], *rest[u]] for u in sorted(seen)[1:])]
    write_listed(files / "test.negative", first)
    (said,) = estimated("model", *LISTED)[1]
    assert said.startswith("podium: model was trained on 1 of the 30 targets. They")


def test_ids_of_a_model_may_be_text_or_rows(estimated: Callable[..., Any], files: Path) -> None:
    rng = np.random.default_rng(1)
    user, item = rng.integers(0, N_USERS, 400), rng.integers(0, N_ITEMS, 400)
    names: dict[str, Any] = {"user": user.astype(str), "item": item.astype(str)}
    for columns in (names, {"user": user, "item": item}):
        fitted = Factorization(n_factors=4, n_epochs=3, n_blocks=1).fit(columns)
        fitted.save(files / "other")
        labels = fitted.user_labels_, fitted.item_labels_
        scores = np.empty((N_USERS, N_ITEMS))
        products = fitted.user_factors_.astype(float) @ fitted.item_factors_.T + fitted.item_bias_
        scores[np.ix_(*(np.asarray(each).astype(int) for each in labels))] = products
        ranks = listed_candidates().ranks(scores)
        mean = estimated("other", *LISTED, *RR)[0]["measures"]["rr"]["mean"]
        assert mean == pytest.approx((1 / ranks.ranks).mean())
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(400), (user, item)), shape=(N_USERS, N_ITEMS))
    fitted = Factorization(n_factors=4, n_epochs=3, n_blocks=1).fit(matrix)
    fitted.save(files / "other")
    assert fitted.user_labels_ is None
    products = fitted.user_factors_.astype(float) @ fitted.item_factors_.T + fitted.item_bias_
    ranks = listed_candidates().ranks(products)
    mean = estimated("other", *LISTED, *RR)[0]["measures"]["rr"]["mean"]
    assert mean == pytest.approx((1 / ranks.ranks).mean())


def test_strange_users_are_left_out_and_strange_items_come_last(
    estimated: Callable[..., Any], files: Path
) -> None:
    write_listed(files / "test.negative", [[0, 77, 78], [77, 0, 1], [0, 1, 2]], [0, 1, 99])
    found, said = estimated("model", *LISTED, *RR)
    assert found["conventions"]["n_users"] == 2
    assert found["measures"]["rr"]["mean"] == (1 / 1 + 1 / 3) / 2
    assert len(said) == 2
    assert said[0] == (
        "podium: test.negative: 1 of 3 users left out, because model does not contain them."
    )
    assert "model does not contain 2 of 4 items. They rank below the others" in said[1]


def test_model_of_another_catalogue_is_pointed_out(
    estimated: Callable[..., Any], podium: Callable[..., Any], files: Path
) -> None:
    """Row numbers are equal by accident: the counts alone can tell."""
    pairs = {"user": np.arange(60) % 10, "item": np.arange(60)}
    Factorization(n_factors=2, n_epochs=1, n_blocks=1).fit(pairs).save(files / "other")
    drawn = [[u, 50, 100 + u, 200 + u, 300 + u] for u in range(30)]
    write_listed(files / "test.negative", drawn)
    found, said = estimated("other", *LISTED[:2], "--items", "400", "--no-replacement", *RR)
    assert found["conventions"]["n_users"] == 10
    warned = [line.removeprefix("podium: warning: ") for line in said if "warning" in line]
    assert [line.split(". ")[0] for line in warned] == [
        "other has only 10 of the 30 users in test.negative",
        "other has only 11 of the 41 items in test.negative",
    ]
    write_listed(files / "test.negative", [[u, u + 1] for u in range(9)])
    _, said = estimated("other", *LISTED, *RR)
    (warned,) = [line for line in said if "warning" in line]
    assert warned.startswith("podium: warning: other has 60 items, but candidates were drawn from ")
    write_listed(files / "test.negative", [[100 + u, u + 1] for u in range(9)])
    done = podium("estimate", "other", *LISTED)
    assert done.status == 2
    assert "other has none of the targets in test.negative, such as 100" in done.message


def test_several_lines_of_a_user_stay_apart(estimated: Callable[..., Any], files: Path) -> None:
    """User 0's targets come first and last among their own lines' candidates."""
    (files / "few.csv").write_text("user,item,score\n0,1,5\n0,2,4\n0,3,3\n0,4,2\n1,1,1\n1,2,2\n")
    write_listed(files / "test.negative", [[1, 2, 3], [4, 2, 3], [2, 1, 1]], [0, 0, 1])
    argv = ("few.csv", "--negatives-file", "test.negative", "--items", "40", *RR)
    found, _ = estimated(*argv)
    assert found["conventions"]["n_users"] == 2
    assert found["measures"]["rr"]["mean"] == ((1 + 1 / 3) / 2 + 1) / 2


def test_random_ties_do_not_follow_the_order_of_lines(
    estimated: Callable[..., Any], files: Path
) -> None:
    (files / "few.csv").write_text(
        "user,item,score\n" + "".join(f"{u},{i},5\n" for u in range(9) for i in range(5))
    )
    argv = ("few.csv", *LISTED, *RR, "--ties", "random")
    found: list[float] = []
    for users in (list(range(9)), list(range(8, -1, -1))):
        write_listed(files / "test.negative", [[u % 2, 2, 3, 4] for u in users], users)
        found.append(estimated(*argv)[0]["measures"]["rr"]["mean"])
    assert found[0] == pytest.approx(found[1])
    assert 1 / 4 < found[0] < 1  # neither rule that goes by the score alone


def test_history_is_not_read_where_seen_items_are_left_out(
    estimated: Callable[..., Any], podium: Callable[..., Any], files: Path
) -> None:
    (files / "seen.csv").write_text("user,item\n0,5\n2,5\n")
    (files / "ranks.csv").write_text("user,rank,history\n0,1,1\n2,3,1\n1,2,0\n")
    argv = ("ranks.csv", "--items", "40", "--negatives", "9", "--no-bounds", "-m", "rr")
    found, said = estimated(*argv, "--seen", "seen.csv")
    assert found["conventions"]["history"] is None
    assert "ranks.csv: history is ignored, because --seen" in said[0]
    done = podium("estimate", *argv, "--seen", "seen.csv", "--column", "history=history")
    assert done.status == 2
    assert "Pass one of the two" in done.message


def test_own_target_is_dropped_when_asked(estimated: Callable[..., Any], files: Path) -> None:
    drawn = [[u % 5, *range(10, 19)] for u in range(N_USERS)]
    drawn[3][4] = drawn[3][0]
    write_listed(files / "test.negative", drawn)
    found, _ = estimated("scores.csv", *LISTED, "--drop-own", "--negatives", "9", *RR)
    assert found["conventions"]["n_negatives"] == [8, 9]


def test_seen_items_leave_smaller_catalogues(estimated: Callable[..., Any], files: Path) -> None:
    """User 0 has two different items, user 2 has one; the others none."""
    first, second = undrawn(files / "test.negative", 0)[:2]
    third = undrawn(files / "test.negative", 2)[0]
    pairs = f"0,{first}\n0,{second}\n2,{third}\n0,{first}\n99,1\n"
    (files / "seen.csv").write_text(f"user,item\n{pairs}")
    found, said = estimated("scores.csv", *LISTED, *RR, "--seen", "seen.csv")
    assert found["conventions"]["n_items"] == [38, 40]
    (line,) = said
    assert "2 of the 30 users of test.negative are in seen.csv. The others are treated" in line
    (files / "ranks.csv").write_text("who,rank\n0,1\n2,3\n1,2\n")
    (files / "named.csv").write_text("user,thing\n2,5\n2,4\n")
    argv = ("ranks.csv", "--items", "40", "--negatives", "9", "--no-bounds", "--method", "bv")
    named = ("--column", "user=who", "--column", "item=thing", "--seen", "named.csv")
    found, _ = estimated(*argv, *named, "-m", "recall@10")
    ranks = sampled.SampledRanks([1, 3, 2], 9, [40, 38, 40], user=[0, 2, 1])
    mean = sampled.evaluate(ranks, "recall@10", estimator="bv", bounds=False).means["recall@10"]
    assert found["measures"]["recall@10"]["mean"] == pytest.approx(mean)


def test_seen_candidates_are_dropped_when_asked(
    estimated: Callable[..., Any], files: Path, model: Factorization
) -> None:
    """What is left of a sample of all items is one of the items that its user has not seen."""
    rng = np.random.default_rng(3)
    drawn = [sorted(rng.permutation(N_ITEMS)[:10].tolist()) for _ in range(N_USERS)]
    write_listed(files / "test.negative", drawn)
    seen = {
        u: [*drawn[u][1 : 1 + u % 4], *undrawn(files / "test.negative", u)[:2]] for u in range(30)
    }
    rows = "".join(f"{u},{item}\n" for u, items in seen.items() for item in items)
    (files / "seen.csv").write_text(f"user,item\n{rows}")
    argv = (*LISTED, "--seen", "seen.csv", "--drop-seen", "--negatives", "9")
    found, said = estimated("scores.csv", *argv)
    assert said == []
    kept = [[item for item in drawn[u] if item not in seen[u]] for u in range(N_USERS)]
    scores = all_scores(model)
    ranks = [
        1 + sum(scores[u, i] >= scores[u, row[0]] for i in row[1:]) for u, row in enumerate(kept)
    ]
    n_items = [N_ITEMS - len(seen[u]) for u in range(N_USERS)]
    by_hand = sampled.SampledRanks(
        ranks, [len(row) - 1 for row in kept], n_items, replacement=False, user=range(N_USERS)
    )
    assert found == sampled.evaluate(by_hand, ["ndcg@10", "recall@10"]).as_json()
    assert estimated("model", *argv)[0] == found


def test_scores_may_be_keyed_by_text_and_be_large_integers(
    estimated: Callable[..., Any], files: Path
) -> None:
    """A number and its text are the same id; scores differ by 1 in 2 ** 60."""
    from podium.data import to_frame

    user, item = (ids.ravel() for ids in np.indices((N_USERS, N_ITEMS)))
    rising = {"user": user.astype(str), "item": item.astype(str), "score": 2**60 + item}
    to_frame(rising).write_parquet(files / "text.parquet")
    rows = "".join(f"{u},{i},{i}\n" for u, i in zip(user, item, strict=True))
    (files / "numbers.csv").write_text(f"user,item,score\n{rows}")
    expected = estimated("numbers.csv", *LISTED, *RR)
    assert estimated("text.parquet", *LISTED, *RR) == expected


def test_file_of_movielens_is_read(
    estimated: Callable[..., Any], files: Path, podium_data: Callable[[str], Path]
) -> None:
    """156 of its candidates are their own targets."""
    from scipy.sparse import csr_array

    file = podium_data("ml-1m/ml-1m.test.negative.gz")
    rows = np.arange(6040)
    likes = csr_array((np.ones(6040), (rows, rows % 3706)), shape=(6040, 3706))
    fitted = Factorization(n_factors=2, n_epochs=1, n_blocks=1).fit(likes)
    fitted.save(files / "other")
    argv = ("--negatives-file", str(file), "--drop-own", "--no-replacement", "--items", "3706")
    found, _ = estimated("other", *argv, *RR)
    assert found["conventions"]["n_users"] == 6040
    assert found["conventions"]["n_negatives"] == [98, 99]
    listed = sampled.SampleReader(
        n_items=3706, negatives=file, own_target="drop", replacement=False
    ).candidates
    left = np.column_stack([fitted.user_factors_, np.ones(6040, np.float32)])
    right = np.column_stack([fitted.item_factors_, fitted.item_bias_])
    ranks = listed.ranks((left, right)).ranks
    assert found["measures"]["rr"]["mean"] == pytest.approx((1 / ranks).mean(), rel=1e-4)


def test_last_line_gives_the_same_again(podium: Callable[..., Any], files: Path) -> None:
    listed = (files / "test.negative").read_text().splitlines()
    target = listed[0].split(")")[0].split(",")[1]
    (files / "own file").write_text("\n".join([f"{listed[0]}\t{target}", *listed[1:]]) + "\n")
    options = ("--no-replacement", "--drop-own", "--negatives-file", "own file")
    done = podium("estimate", "scores.csv", "--items", "40", *options, *RR)
    said = f"--method naive --items 40 {shlex.join(options)}"
    assert " ".join(done.out.split()).endswith(said)
    again = podium("estimate", "scores.csv", "-m", "rr", "--no-bounds", *shlex.split(said))
    assert again.out == done.out


def test_draws_that_never_repeat_are_pointed_out(
    estimated: Callable[..., Any], files: Path
) -> None:
    argv = ("scores.csv", "--negatives-file", "test.negative", "--items", "40", *RR)
    assert estimated(*argv)[1] == [
        (
            "podium: test.negative: no line has an item twice. Pass --no-replacement if items "
            "were drawn without replacement."
        )
    ]
    drawn = [[u % 5, *range(10, 18), 10] for u in range(N_USERS)]
    write_listed(files / "test.negative", drawn)
    assert estimated(*argv)[1] == []


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("model", "--items", "40"), "model is a model, which needs --negatives-file"),
        (("scores.csv", "--items", "40", "--drop-own"), "--drop-own needs --negatives-file"),
        (("scores.csv", *LISTED, "--stages", "5,9"), "--stages has no effect on scores"),
        (
            ("scores.csv", *LISTED, "--negatives", "8"),
            "lines have 9 candidates, but --negatives is",
        ),
        (
            ("scores.csv", *LISTED, "--column", "rank=r"),
            "--column rank=NAME names a column of ranks",
        ),
        (
            ("scores.csv", *LISTED, "--column", "target=r"),
            "but with --negatives-file only user, item and",
        ),
        (
            ("scores.csv", *LISTED, "--column", "history=r"),
            "--column history=NAME names a column of ranks or",
        ),
        (("scores.csv", "--items", "40", "--negatives-file", "none"), "none does not exist"),
        (("scores.csv", "--items", "40", "--negatives-file", "own"), "Pass --drop-own to drop it"),
        (("scores.csv", "--items", "40", "--negatives-file", "sizes"), "from 2 to 3 candidates"),
        (("scores.csv", *LISTED[2:], "--negatives-file", "twice"), "line 2 has item 7 twice, so"),
        (("scores.csv", *LISTED, "--negatives-file", "again"), "lines 1 and 3 have the same user"),
        (("scores.csv", *LISTED, "--negatives-file", "own2", "--drop-own"), "own2: line 2 has no"),
        (
            (
                "ranks.csv",
                "--items",
                "40",
                "--negatives",
                "9",
                "--column",
                "item=x",
                "--seen",
                "past",
            ),
            "past has no column 'x' (--column item=NAME)",
        ),
        (
            ("scores.csv", *LISTED, "--items", "20"),
            "40 different items, but --items is",
        ),
        (("lost.csv", *LISTED), "lost.csv has no score for 1 of the 300 pairs in test.negative"),
        (("head.csv", *LISTED), "head.csv has no score for 300 of the 300 pairs"),
        (("text.csv", *LISTED), "user must hold numbers, as the file of negatives does, got"),
        (("unlike.csv", *LISTED), "unlike.csv has several scores for user"),
        (("strange", *LISTED), "strange has none of the users in test.negative, such as 0. Its"),
        (("items", *LISTED), "items has none of the items in test.negative, such as"),
        (("scores.csv", *LISTED, "--seen", "apart.csv", "--column", "user=x"), "no column 'x'"),
        (
            ("scores.csv", *LISTED, "--seen", "others.csv"),
            "No user is in both tables: the table of seen items has 500, the sample has 0. Check",
        ),
        (("scores.csv", *LISTED, "--drop-seen"), "--drop-seen needs --seen"),
        (
            ("ranks.csv", *PAST, "--drop-seen"),
            "--drop-seen has no effect on ranks",
        ),
        (
            ("scores.csv", *LISTED, "--seen", "drawn.csv"),
            "test.negative: 2 of 270 candidates are in drawn.csv, first item",
        ),
        (("scores.csv", *LISTED, "--seen", "drawn.csv"), "Pass --drop-seen to drop them from"),
        (
            ("scores.csv", *LISTED, "--seen", "targets.csv", "--drop-seen"),
            "test.negative: 1 of 30 targets are in targets.csv, first item",
        ),
        (
            ("bare.csv", "--items", "40", "--negatives", "9", "--seen", "past.csv"),
            "--seen needs users, but bare.csv has no column of users",
        ),
        (("test.negative", *LISTED), "test.negative"),
    ],
)
def test_refused_in_one_line(
    podium: Callable[..., Any], files: Path, argv: tuple[str, ...], message: str
) -> None:
    write_listed(files / "own", [[1, 2, 1]], [0])
    write_listed(files / "own2", [[1, 2], [2, 2]])
    write_listed(files / "again", [[1, 2], [1, 2], [1, 3]], [0, 1, 0])
    (files / "ranks.csv").write_text("user,rank\n0,1\n")
    (files / "past").write_text("user,item\n0,1\n")
    write_listed(files / "sizes", [[1, 2, 3], [1, 2, 3, 4]])
    write_listed(files / "twice", [[1, 2, 3], [1, 7, 7]])
    (target,) = (files / "test.negative").read_text().splitlines()[3][1:].split(")")[:1]
    lines = (files / "scores.csv").read_text().splitlines()
    kept = [line for line in lines if not line.startswith(f"{target},")]
    assert len(kept) == len(lines) - 1
    (files / "lost.csv").write_text("\n".join(kept) + "\n")
    (files / "head.csv").write_text("user,item,score\n500,600,1\n")
    (files / "text.csv").write_text("user,item,score\nu1,1,1\n")
    (files / "unlike.csv").write_text("\n".join([*lines, f"{target},99.5"]) + "\n")
    (files / "bare.csv").write_text("rank\n1\n")
    (files / "others.csv").write_text("user,item\n500,1\n")
    apart = undrawn(files / "test.negative", 0)[0]
    (files / "apart.csv").write_text(f"user,item\n0,{apart}\n")
    heads = [line.replace(")", "").split() for line in lines_of(files / "test.negative")]
    drawn = "".join(f"{u},{heads[u][5]}\n" for u in (3, 7))
    (files / "drawn.csv").write_text(f"user,item\n{drawn}0,{apart}\n")
    (files / "targets.csv").write_text(f"user,item\n{heads[4][0][1:]}\n")
    pairs = {"user": [0, 1, 1], "item": [0, 1, 2]}
    for name, shift in (("strange", "user"), ("items", "item")):
        moved = {**pairs, shift: [500 + each for each in pairs[shift]]}
        Factorization(n_factors=2, n_epochs=1, n_blocks=1).fit(moved).save(files / name)
    done = podium("estimate", *argv)
    assert (done.status, done.out) == (2, "")
    *warnings, error = done.err.splitlines()  # an option that is refused may have warned before
    assert error.startswith("podium: error: ")
    assert message in error
    assert all(line.startswith("podium: warning: ") for line in warnings)
