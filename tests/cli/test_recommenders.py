"""podium train with recommenders: the fit is that of the library, and what is refused."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from podium import recommenders
from podium.errors import warn

Run = Callable[..., Any]
MODELS = {"popularity": (), "ease": ("--set", "l2=20"), "item-knn": ("--set", "k=5")}
FITTED = {"popularity": {}, "ease": {"l2": 20.0}, "item-knn": {"k": 5}}


@pytest.fixture(autouse=True)
def pairs() -> pl.DataFrame:
    """Write pairs.csv, where users of two kinds rate items of two kinds, and held-out pairs."""
    rng = np.random.default_rng(0)
    likes = np.where(np.add.outer(np.arange(60), np.arange(40)) % 2, 0.5, 0.1)
    user, item = np.nonzero(rng.random((60, 40)) < likes)
    value = 1.0 + rng.integers(3, size=user.size)
    frame = pl.DataFrame({"userId": user, "movieId": item, "value": value})
    is_valid = pl.Series(rng.random(user.size) < 0.2)
    frame.filter(~is_valid).write_csv("pairs.csv")
    frame.filter(is_valid).write_csv("valid.csv")
    return pl.read_csv("pairs.csv")


def train(podium: Run, *argv: str, model: str, out: str = "model") -> Any:
    done = podium("train", "pairs.csv", "--model", model, "--out", out, *argv)
    assert (done.status, done.out) == (0, ""), done.err
    return done


@pytest.mark.parametrize("name", MODELS)
def test_model_is_that_of_the_library_and_recommends(
    podium: Run, pairs: pl.DataFrame, name: str
) -> None:
    done = train(podium, *MODELS[name], model=name)
    assert f"60 users, 40 items, {pairs.height} pairs; fitted in " in done.err
    library = recommenders.get(name, **FITTED[name]).fit(pairs)
    model = recommenders.load("model")
    np.testing.assert_array_equal(model.scores(), library.scores())
    assert model.get_params() == library.get_params()
    assert podium("recommend", "model", "-k", "5", "--out", "run.csv").status == 0
    items, _ = library.recommend(k=5)
    assert pl.read_csv("run.csv")["item"].to_list() == items[items >= 0].tolist()


@pytest.mark.parametrize("name", ["popularity", "ease", "item-knn", "factorization"])
def test_low_values_are_neither_learned_nor_recommended(
    podium: Run, pairs: pl.DataFrame, name: str
) -> None:
    few = ("--set", "n_epochs=2", "--set", "n_factors=4") if name == "factorization" else ()
    train(podium, "--min-relevance", "2", *few, model=name)
    model = recommenders.load("model")
    high = pairs.filter(pl.col("value") >= 2)
    assert int((model.seen_weights_ > 0).sum()) == high.height
    assert set(model.seen_weights_.tolist()) == {0.0, 1.0}
    is_known = [pl.col(name).is_in(high[name].to_list()) for name in ("userId", "movieId")]
    known = pairs.filter(*is_known)
    assert model.seen_items_.size == known.height
    items, _ = model.recommend(k=3)
    users = np.repeat(np.asarray(model.user_labels_), items.shape[1])
    shown = set(zip(users.tolist(), items.ravel().tolist(), strict=True))
    assert shown.isdisjoint(known.select("userId", "movieId").rows())


def test_days_are_chosen_and_printed(podium: Run, pairs: pl.DataFrame) -> None:
    rng = np.random.default_rng(1)
    pairs = pairs[rng.permutation(pairs.height)]  # each user has early and late events
    day = pl.Series(np.sort(rng.integers(0, 99, pairs.height)))
    table = pairs.with_columns(movieId=day // 20 * 3 + pairs["movieId"] % 5, at=day * 86_400)
    table.write_csv("timed.csv")
    named = ("--column", "timestamp=at", "--out", "model")
    done = podium("train", "timed.csv", "--model", "recent", *named)
    library = recommenders.Recent().fit(table.rename({"at": "time"}))
    assert f"podium: window={library.window_:g}: chosen on the last tenth" in done.err
    assert np.array_equal(recommenders.load("model").scores(), library.scores())
    options = ("--tune", "--split", "time", "--grid", "half_life=none,5", *named)
    done = podium("train", "timed.csv", "--model", "ease", "--set", "l2=9", *options)
    assert "best half_life=5" in done.err
    (line,) = re.findall(r"^podium: to repeat: podium (.*)$", done.err, re.M)
    assert podium(*shlex.split(line)).status == 0
    assert recommenders.load("model").get_params()["half_life"] == 5
    once = podium("train", "timed.csv", "--model", "recent", "--gain", "one", "--out", "model")
    assert "all events count alike, because DATA has no times" in once.err


ZEROS = "user,item,rating\n1,10,0\n1,20,9\n2,10,8\n2,20,9\n2,30,7\n3,30,9\n3,20,0\n4,30,6\n"


def test_validation_rows_of_value_0_are_no_positives(podium: Run) -> None:
    Path("zeros.csv").write_text(ZEROS)
    Path("later.csv").write_text("user,item,rating\n1,30,0\n4,20,7\n")
    argv = ("train", "zeros.csv", "--model", "factorization", "--valid", "later.csv")
    done = podium(*argv, "--out", "model")
    assert "podium: later.csv: 1 of 2 rows are positive." in done.err


def test_warning_is_shown_before_the_fit_ends(podium: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Any, user_items: Any, **_: Any) -> Any:
        warn("n_factors is large.")
        raise KeyboardInterrupt

    monkeypatch.setattr(recommenders.EASE, "fit", stop)
    done = podium("train", "pairs.csv", "--model", "ease", "--out", "model")
    assert done.err == "podium: warning: n_factors is large.\npodium: interrupted.\n"


REFUSED = """
--model eese | --model ease
-k 3 | -k '--model ease'
--features a | --features '--model ease'
--loss bpr | '--model ease' --loss
--set l3=1 | '--model ease' '--set l3'
--set random_state=2 | --set random_state --seed
--set l2=-1 | '--set l2'
--gain two | --gain
--valid valid.csv | --valid --tune
--eval-metric ap | --eval-metric --valid
--resume | --resume --tune
--set patience=3 | '--set patience' --valid
--budget 3 | --budget --tune
--valid-share 0.1 | --valid-share --tune
--split time | --split --tune
--tune --split users | --split users
--tune --split time | --split
--column timestamp=value | '--column timestamp' half_life
--model recent --set window=0 | window
--tune --grid gain=one | --grid gain --gain
--model popularity --tune | --tune
--tune --set l2=3 --gain one --set user_power=0 | --tune
--tune --set precision=half | precision
--min-relevance 9 | pairs.csv '--min-relevance 9'
--model linear --gain one | --gain '--model linear'
--model linear --tune --budget 3m | --budget
--refit | --refit --valid
plain.csv | "'value' and missing" plain.csv
"""


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    pl.read_csv("pairs.csv").drop("value").write_csv("plain.csv")
    refuses("train pairs.csv --model ease --out model", REFUSED)


FACTORS = ("--set", "n_factors=4", "--set", "n_epochs=3", "--set", "n_negatives=8")


@pytest.fixture(autouse=True)
def events() -> None:
    """Write events.csv, in which 100 of 400 pairs occur three times."""
    rng = np.random.default_rng(0)
    pairs, late = np.split(rng.permutation(60 * 20)[:450], [400])
    rows = np.concatenate([pairs, pairs[:100], pairs[:100]])
    for name, numbers in (("events", rows), ("late", late)):
        pl.DataFrame({"user": numbers // 20, "item": numbers % 20}).write_csv(f"{name}.csv")


def test_values_of_repeated_pairs_are_added_up(podium: Run) -> None:
    events = pl.read_csv("events.csv").with_columns(rating=pl.lit(2))
    events.write_csv("ratings.csv")
    done = podium("train", "ratings.csv", "--model", "ease", "--out", "model")
    assert "25 % of the pairs occur more than once; the weight of a pair is the sum of" in done.err
    assert set(recommenders.load("model").seen_weights_.tolist()) == {2.0, 6.0}
    events.unique().write_csv("once.csv")
    assert "more than once" not in podium("train", "once.csv", "--model", "ease", "--out", "m").err


@pytest.mark.parametrize("valid", [(), ("--valid", "late.csv", "--refit")])
@pytest.mark.parametrize("options", [("--model", "item-knn"), ("--model", "factorization")])
def test_search_tries_both_weights_and_can_be_repeated(
    podium: Run, options: tuple[str, ...], valid: tuple[str, ...]
) -> None:
    options += valid
    few = FACTORS if "factorization" in options else ()
    argv = ("train", "events.csv", *options, *few, "--tune", "--budget", "6", "--out", "model")
    done = podium(*argv, "--tune-table", "t.csv")
    assert done.status == 0, done.err
    assert set(pl.read_csv("t.csv")["gain"]) == {"value", "one"}
    (line,) = re.findall(r"^podium: to repeat: podium (.*)$", done.err, re.M)
    assert line.count("--gain ") == 1
    before = Path("model").read_bytes()
    assert podium(*shlex.split(line)).status == 0
    assert Path("model").read_bytes() == before
    assert podium(*argv, "--gain", "one", "--tune-table", "t.csv").status == 0
    assert "gain" not in pl.read_csv("t.csv").columns


def test_several_tables_are_read_as_one(podium: Run) -> None:
    pl.concat(map(pl.read_csv, ("pairs.csv", "valid.csv"))).write_csv("both.csv")
    assert podium("train", "both.csv", "--model", "ease", "--out", "model").status == 0
    assert train(podium, "valid.csv", model="ease", out="both").status == 0
    assert Path("both").read_bytes() == Path("model").read_bytes()


def test_search_says_why_candidates_failed(podium: Run) -> None:
    argv = ("train", "events.csv", "--model", "ease", "--tune", "--out", "model")
    done = podium(*argv, "--grid", "l2=5,-1,-2")
    assert "tried 4 candidates, of which 2 failed (1 × ArgumentError: l2 must be" in done.err
    assert done.err.count("l2 must be a number > 0") == 2


@pytest.mark.parametrize("out", ["lists", "lists.csv", "lists.parquet", "lists.trec"])
def test_refused_lists_leave_nothing(podium: Run, out: str) -> None:
    assert podium("train", "events.csv", "--model", "popularity", "--out", "model").status == 0
    there = sorted(Path().iterdir())
    done = podium("recommend", "model", "--deny", "events.csv", "--out", out)
    assert "--deny" in done.message
    assert sorted(Path().iterdir()) == there
