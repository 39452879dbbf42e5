"""podium estimate of targets and candidates that a file lists, scored by a table or a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from podium import sampled
from podium.recommenders import Factorization

N_USERS, N_ITEMS = 30, 40
RNG = np.random.default_rng(1)
PAIRS = {
    "user": np.append(RNG.integers(0, N_USERS, 400), 0),
    "item": np.append(RNG.integers(0, N_ITEMS - 1, 400), N_ITEMS - 1),
}
LISTED = ("--negatives-file", "test.negative", "--items", "40", "--no-replacement")
RR = ("--no-bounds", "--method", "naive", "-m", "rr")


@pytest.fixture(scope="module")
def model() -> Factorization:
    """Return a model of 30 users and 40 items that were fitted as numbers."""
    return Factorization(n_factors=4, n_epochs=3, n_blocks=1).fit(PAIRS)


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
    labels: list[Any] = [range(N_USERS), range(N_ITEMS)]
    if model.user_labels_ is not None:
        labels = [np.asarray(x).astype(int) for x in (model.user_labels_, model.item_labels_)]
    scores[np.ix_(*labels)] = products + model.item_bias_
    return scores


@pytest.fixture
def estimated(podium: Callable[..., Any]) -> Callable[..., tuple[dict[str, Any], list[str]]]:
    """Return the JSON of a command that went well, and the lines on stderr."""

    def run(*argv: str) -> tuple[dict[str, Any], list[str]]:
        done = podium("estimate", *argv, "--format", "json")
        assert done.status == 0, done.err
        return json.loads(done.out), done.err.splitlines()

    return run


def test_table_and_model_give_the_ranks_among_the_listed(
    estimated: Callable[..., Any], files: Path, model: Factorization
) -> None:
    """The targets that were learned from are counted; ids may be text or row numbers."""
    reader = sampled.SampleReader(n_items=N_ITEMS, negatives="test.negative", replacement=False)
    listed = reader.candidates
    ranks = listed.ranks(all_scores(model))
    expected = sampled.evaluate(ranks, ["ndcg@10", "recall@10"]).as_json()
    assert estimated("scores.csv", *LISTED)[0] == expected
    found, (said,) = estimated("model", *LISTED)
    assert found == expected
    pairs = set(zip(*(ids.tolist() for ids in PAIRS.values()), strict=True))
    heads = [line[1:].split(")")[0].split(",") for line in lines_of(files / "test.negative")]
    n_learned = sum((int(user), int(item)) in pairs for user, item in heads)
    assert f"model was trained on {n_learned} of the 30 targets" in said
    for data in (
        {name: ids.astype(str) for name, ids in PAIRS.items()},
        csr_array((np.ones(len(PAIRS["user"])), tuple(PAIRS.values()))),
    ):
        other = Factorization(n_factors=4, n_epochs=3, n_blocks=1).fit(data)
        other.save(files / "other")
        ranks = listed.ranks(all_scores(other)).ranks
        mean = estimated("other", *LISTED, *RR)[0]["measures"]["rr"]["mean"]
        assert mean == pytest.approx((1 / ranks).mean())


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
    assert (done.status, "none of the targets" in done.message) == (2, True)


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


LIST = "--negatives-file test.negative --no-replacement"
REFUSED = f"""
model | model --negatives-file
scores.csv {LIST} --negatives 8 | --negatives 9
scores.csv {LIST} --column rank=r | '--column rank=NAME'
scores.csv {LIST} --column target=r | --negatives-file
scores.csv {LIST} --column history=r | '--column history=NAME'
scores.csv --negatives-file none | none
ranks.csv --negatives 9 --column item=x --seen past | past 'x' '--column item=NAME'
scores.csv {LIST} --items 20 | 40 --items
lost.csv {LIST} | lost.csv '1 of the 300' test.negative
head.csv {LIST} | head.csv '300 of the 300'
text.csv {LIST} | user
unlike.csv {LIST} | unlike.csv user
strange {LIST} | strange test.negative
items {LIST} | items test.negative
scores.csv {LIST} --seen apart.csv --column user=x | 'x'
scores.csv {LIST} --drop-seen | --drop-seen --seen
ranks.csv --negatives 9 --seen past --drop-seen | --drop-seen
test.negative {LIST} | test.negative
"""


def test_refusals(refuses: Callable[[str, str], None], files: Path) -> None:
    heads = [line.replace(")", "").split() for line in lines_of(files / "test.negative")]
    target = heads[3][0][1:]
    lines = lines_of(files / "scores.csv")
    kept = [line for line in lines if not line.startswith(f"{target},")]
    assert len(kept) == len(lines) - 1
    apart = undrawn(files / "test.negative", 0)[0]
    tables = {
        "past": "user,item\n0,1",
        "ranks.csv": "user,rank\n0,1",
        "lost.csv": "\n".join(kept),
        "unlike.csv": "\n".join([*lines, f"{target},99.5"]),
        "head.csv": "user,item,score\n500,600,1",
        "text.csv": "user,item,score\nu1,1,1",
        "apart.csv": f"user,item\n0,{apart}",
    }
    for name, text in tables.items():
        (files / name).write_text(f"{text}\n")
    pairs = {"user": [0, 1, 1], "item": [0, 1, 2]}
    for name, shift in (("strange", "user"), ("items", "item")):
        moved = {**pairs, shift: [500 + each for each in pairs[shift]]}
        Factorization(n_factors=2, n_epochs=1, n_blocks=1).fit(moved).save(files / name)
    refuses("estimate --items 40", REFUSED)
