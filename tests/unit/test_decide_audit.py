"""An audit finds planted faults, counts and prices them, and is silent on a clean evaluation."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator
from tests.unit.audit_cases import (
    N_LISTED,
    PLANTED,
    Case,
    Columns,
    Planted,
    clean,
    earliest,
    found,
    joined,
    key,
    n_users_of,
    planted_future_of_user,
    planted_overlap,
    planted_repeated_train,
    planted_reversal,
    planted_short_lists,
    popular,
    rows,
    sampled,
    with_run,
    without,
)

import podium
from podium import data
from podium.data.buckets import of_some_users
from podium.data.columns import ITEM, TRUTH, USER
from podium.data.tables import open_table
from podium.decide import Effect, audit
from podium.decide.finding import is_small
from podium.errors import ArgumentError, DataError
from podium.recommenders import EASE

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "audit.json").read_text())
)


assert len(PLANTED) >= 35


@pytest.mark.parametrize("seed", range(6))
def test_a_clean_evaluation_has_no_error_and_no_warning(seed: int) -> None:
    result = clean(seed).audit()
    assert not [str(f) for f in result.findings if f.severity != "note"]
    assert result.context["value of model"] == pytest.approx(clean(seed).value())
    assert (
        result.context["value of model"]
        > result.context["value of a popularity list"]
        > result.context["value of a random list"]
    )


@pytest.mark.parametrize("measure", ["ndcg@10", "recall@100", "hit_rate@1", "rr"])
def test_a_sound_search_has_no_error_and_no_warning(measure: str) -> None:
    """Lists of 100 of 2000 documents with 1 to 3 positives, and all candidates, with grades."""
    rng = np.random.default_rng(0)
    relevance = 1.0 * (rng.random((200, 2000)).argsort(axis=1) < 1 + np.arange(200)[:, None] % 3)
    truth = {"user": np.nonzero(relevance)[0], "item": np.nonzero(relevance)[1]}
    runs: dict[str, Columns] = {}
    for name, gain in (("sparse", 2.0), ("dense", 2.5)):
        scores = gain * relevance + rng.normal(size=relevance.shape)
        best = np.argsort(-scores, axis=1)[:, :100]
        score = np.take_along_axis(scores, best, axis=1).ravel()
        runs[name] = {"user": np.repeat(range(200), 100), "item": best.ravel(), "score": score}
    grades = rng.integers(0, 3, size=6000) * 1.0
    judged = {"user": np.arange(6000) // 30, "item": np.arange(6000)}
    scored = {n: {**judged, "score": grades + 2 * rng.normal(size=6000)} for n in "ab"}
    graded = {**judged, "relevance": grades}
    audits = [audit(None, truth, runs, measure)]
    audits += [audit(None, graded, scored, m) for m in ("ndcg@10", "rr") if m == measure]
    for result in audits:
        assert [f.check for f in result.findings if f.severity != "note"] == []


def test_a_model_of_online_retail_loses_to_recent_items_and_has_no_other_fault() -> None:
    shop = data.load_onlineretail()
    names = {"user": shop.user, "item": shop.item, "timestamp": shop.minute}
    events = pl.DataFrame(names).filter(pl.Series(shop.quantity > 0), pl.col("item") % 6 == 0)
    split = data.splits.by_time(events["timestamp"], test=0.2)
    train, test = (events[rows].unique(["user", "item"]) for rows in (split.train, split.test))
    test = test.join(train, on=["user", "item"], how="anti")
    test = test.join(train, on="user", how="semi").join(train, on="item", how="semi")
    model, users = EASE().fit(train), test["user"].unique().to_numpy()
    item, score = (column.ravel() for column in model.recommend(users, k=20))
    run = {"user": np.repeat(users, 20), "item": item, "score": score}
    result = audit(train, test, {"ease": run})
    (only,) = [f for f in result.findings if f.severity != "note"]
    assert (only.check, "of the last" in only.text) == ("below-popularity", True)


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_counted_and_priced(plant: Callable[[Case], Planted]) -> None:
    planted = plant(sampled() if "sample" in plant.__name__ else clean())
    finding = found(planted.case.audit(), planted.check)
    assert finding.severity == planted.severity
    assert 0 < finding.count <= finding.total
    if planted.labels is not None:
        assert finding.count == (planted.count or len(planted.labels))
        assert finding.examples == planted.labels[:3]
    if planted.effect is not None:
        (effect,) = [e for e in finding.effects if e.run in ("model", "a popularity list")][:1]
        assert (effect.with_fault, effect.without_fault) == pytest.approx(planted.effect)


def test_the_difference_of_two_runs_has_intervals_with_a_fault_and_without_it() -> None:
    case = planted_overlap(clean()).case
    run = case.runs["model"]
    noise = np.random.default_rng(0).normal(size=run["score"].size)
    runs = {"base": {**run, "score": run["score"] + 5 * noise}, "model": run}
    finding = found(replace(case, runs=runs).audit(), "train-test-overlap")
    (effect,) = [e for e in finding.effects if e.baseline]
    assert (str(effect), effect.without_fault != effect.with_fault) == ("model - base", True)
    clean_test = rows(case.test, ~np.isin(key(case.test), key(case.train)))
    for truth, mean, interval in (
        (case.test, effect.with_fault, effect.interval),
        (clean_test, effect.without_fault, effect.interval_without),
    ):
        compared = podium.compare(truth, runs, "ndcg@10", missing="zero")
        test = compared.difference("ndcg@10", "model").test
        assert (mean, *interval) == pytest.approx((test.difference, *test.interval))


def test_what_is_no_error_is_a_note() -> None:
    case = clean()
    run = case.runs["model"]
    train, test = (without(t, "timestamp") for t in (case.train, case.test))
    repeated = planted_repeated_train(case).case
    more = {**rows(run, run["user"] == 0), "user": np.full(N_LISTED, 5000)}
    for changed, check, examples in (
        (replace(case, train=train, test=test), "no-times", ()),
        (replace(repeated, train=without(repeated.train, "timestamp")), "duplicate-train", None),
        (with_run(case, joined(run, more)), "extra-users", ("user 5000",)),
    ):
        finding = found(changed.audit(), check)
        assert finding.severity == "note"
        assert finding.examples == (finding.examples if examples is None else examples)
    one = {"user": [1], "item": [11]}
    result = audit({"user": [1], "item": [10]}, one, {"a": {**one, "score": [1.0]}})
    assert found(result, "few-users").severity == "warning"
    assert "nan" not in str(result)
    for seed in range(4):
        assert {f.severity for f in sampled(seed).audit().findings} <= {"note"}


def test_a_random_split_is_priced_by_what_was_popular_at_the_time() -> None:
    """Compare with a list for each of 20 groups of users, in order of the first test event."""
    case = clean(2)
    events = joined(case.train, case.test)
    is_test = np.random.default_rng(0).random(events["user"].size) < 0.3
    split = Case(rows(events, ~is_test), rows(events, is_test), {})
    split = replace(split, test=rows(split.test, np.isin(split.test["item"], split.train["item"])))
    users = np.unique(split.test["user"])
    first = earliest(split.test, users)
    parts: list[Columns] = []
    for group in np.array_split(np.lexsort((users, first)), 20):
        past = rows(split.train, split.train["timestamp"] <= first[group].min())
        everyone = popular(split, n_users_of(past))
        parts.append(rows(everyone, np.isin(everyone["user"], users[group])))
    (effect,) = found(split.audit(), "future-of-all").effects
    expected = (
        split.value(run=popular(split, n_users_of(split.train))),
        split.value(run=joined(*parts)),
    )
    assert (effect.with_fault, effect.without_fault) == pytest.approx(expected)
    assert effect.change > 0


def test_times_may_be_dates_but_not_dates_and_numbers() -> None:
    case = planted_future_of_user(clean()).case
    day = np.datetime64("2020-01-01", "ms")
    dates = [
        {**t, "timestamp": day + t["timestamp"] * np.timedelta64(1, "h")}
        for t in (case.train, case.test)
    ]
    first, second = case.audit(), replace(case, train=dates[0], test=dates[1]).audit()
    assert first.as_json()["findings"] == second.as_json()["findings"]
    with pytest.raises(ArgumentError, match="times of the training part"):
        replace(case, train=dates[0]).audit()


@pytest.mark.parametrize("form", ["{:03d}", " {}", "item{}", "ITEM_{}", "i-{}"])
def test_spellings_of_one_number_are_joined(form: str) -> None:
    train = {"user": [1, 1, 2, 2], "item": [7, 8, 12, 40]}
    test = {"user": [1, 2], "item": [form.format(i) for i in (12, 8)]}
    finding = found(audit(train, test), "item-spelling")
    assert (finding.count, finding.total) == (2, 2)
    same = audit(train, {**test, "item": [12, 8]}).context["value of a popularity list"]
    assert [e.without_fault for e in finding.effects] == [same]


def test_another_case_of_text_is_a_second_spelling_and_other_ids_are_none() -> None:
    train = {"user": ["a", "a", "b"], "item": ["B00X1Y", "B00Z", "C1"]}
    result = audit(train, {"user": ["A", "b"], "item": ["C1", "b00z"]})
    assert found(result, "user-spelling").examples == ("user A",)
    assert found(result, "item-spelling").examples == ("item b00z",)
    # A new prefix with few twins, and a sign
    train = {"user": [1, 1, 2, 2], "item": ["7", "8", "9", "-3"]}
    test = {"user": [1, 2, 1, 2], "item": ["x7", "x70", "x71", "3"]}
    checks = [finding.check for finding in audit(train, test).findings]
    assert "item-spelling" not in checks
    assert "unknown-items" in checks


def test_pap_needs_lists_of_almost_twice_the_cutoff() -> None:
    """At most 19 places settle pap@10, and none of 10 users has as many."""
    case = planted_short_lists(clean()).case
    assert found(case.audit(protocol="pap@10"), "short-lists").count == 10
    assert not [f for f in clean().audit(protocol="pap@10").findings if f.check == "short-lists"]
    assert not [f for f in case.audit(protocol="recall@3").findings if f.check == "short-lists"]


def test_of_a_loss_a_lower_value_is_better() -> None:
    case = clean()
    assert [f.check for f in case.audit(protocol="topk_loss@1").of("warning")] == []
    reverse = planted_reversal(case).case.audit(protocol="topk_loss@1")
    assert found(reverse, "reversed-scores").severity == "error"


def test_a_rare_fault_without_effect_is_small() -> None:
    def of(change: float, count: int) -> bool:
        return is_small(count, 10_000, [Effect("model", "rr", 0.5 + change, 0.5, 0.1)])

    assert of(0.0, 9)
    assert of(0.009, 9)
    assert of(-0.009, 9)
    assert not (of(0.02, 9))
    assert not (of(0.0, 11))
    assert not (of(np.nan, 9))
    assert not (is_small(9, 10_000, []))


IDS = (["1", "2", "3", "a"], ["01", "1", "1.0", "i1"], ["1", "2", "9", "i2", "x"])
MEASURES = ["ndcg@10", "recall@1", "pap@1", "pap@3", "ap", "auc", "topk_loss@2"]


@pytest.mark.parametrize("seed", range(40))
def test_no_tables_stop_an_audit(seed: int) -> None:
    """Small tables with any fault: repeats, other ids, ties, lists of any length."""
    rng = np.random.default_rng(seed)

    def table(**values: Any) -> dict[str, Any]:
        n, ids = rng.integers(1, 9), IDS[rng.integers(3)]
        kinds = {"user": ids, "item": ids, **values}
        return {name: rng.choice(kind, n).tolist() for name, kind in kinds.items()}

    said = {"candidates": [None, "uniform", "other"][seed % 3]}
    label, time = ("relevance", "rating", "label")[seed % 3], ("timestamp", "count")[seed % 2]
    test = table(**{"timestamp": range(6), label: [0.0, 0.5, 1.0, 4.0]})
    runs = {f"run{i}": table(score=[-2.0, 0.5, 0.5, 1.0]) for i in range(rng.integers(3))}
    options: Any = {"protocol": str(rng.choice(MEASURES)), **(said if runs else {})}
    result = audit(table(**{time: range(6)}), test, runs, **options)
    assert all(0 <= f.count <= f.total for f in result.findings)
    severities = [f.severity for f in result.findings]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    SCHEMA.validate(json.loads(json.dumps(result.as_json(), allow_nan=False)))  # pyright: ignore[reportUnknownMemberType]


def test_names_of_runs_and_samples_are_checked() -> None:
    case = clean()
    run: Any = case.runs["model"]
    renamed = audit(case.train, case.test, {"popularity": run}, "pap@4000000000")
    assert "value of popularity" in renamed.context
    for runs, options in (
        ([run], {}),
        ({"a popularity list": run}, {}),
        ({}, {"candidates": "uniform"}),
        ({"model": run}, {"candidates": "popular"}),
    ):
        with pytest.raises(ArgumentError):
            audit(case.train, case.test, runs, **options)


SMALL = "64KiB"


MANY = 400


def tables() -> dict[str, pl.DataFrame]:
    """Return parts with leaks in time and in pairs, and a run with seen items and unknown ones."""
    rng = np.random.default_rng(0)

    def lists(n_items: int, size: int, third: str) -> pl.DataFrame:
        items = np.argsort(rng.random((MANY, n_items)), axis=1)[:, :size].ravel()
        users, values = np.repeat(np.arange(MANY), size), rng.integers(0, 9999, items.size)
        return pl.DataFrame({"user": users, "item": items, third: values})

    events = lists(40, 12, "timestamp")
    is_test = rng.random(events.height) < 0.2
    train = events.filter(~is_test | (rng.random(events.height) < 0.1))
    return {"train": train, "test": events.filter(is_test), "run": lists(45, 20, "score")}


def written(folder: Path, frames: dict[str, pl.DataFrame]) -> dict[str, Path]:
    for name, frame in frames.items():
        frame.write_parquet(folder / f"{name}.parquet", row_group_size=500)
    return {name: folder / f"{name}.parquet" for name in frames}


def findings(audit: Any) -> list[dict[str, Any]]:
    return [f.as_json() for f in audit.findings if f.check != "some-users"]


def audited(given: dict[str, Any], **options: Any) -> Any:
    return podium.audit(given["train"], given["test"], {"run": given["run"]}, **options)


def test_audit_of_some_users_is_that_of_their_rows(tmp_path: Path) -> None:
    frames = tables()
    result = audited(written(tmp_path, frames), memory=SMALL)
    note = next(finding for finding in result.findings if finding.check == "some-users")
    one_in = int(note.text.split("one in ")[1].split(" ")[0])
    assert one_in > 3
    some, _ = of_some_users(open_table(frames["train"], "train", ()), (USER, ITEM), one_in)
    users = some.fetch({"user": "id"})["user"].unique().to_list()
    assert 0 < len(users) < 2 * MANY / one_in
    alone = {name: f.filter(pl.col("user").is_in(users)) for name, f in frames.items()}
    here, there = (
        [f for f in findings(a) if "unknown" not in f["check"]] for a in (result, audited(alone))
    )
    assert here == there
    assert len(here) > 3


def test_items_of_other_users_are_known(tmp_path: Path) -> None:
    frames = tables()
    only_once = pl.DataFrame({"user": [1], "item": [999], "timestamp": [1]})
    frames["train"] = pl.concat([frames["train"], only_once])
    frames["run"] = frames["run"].with_columns(pl.col("item").replace({3: 999}))
    for memory in (None, SMALL):
        result = audited(written(tmp_path, frames), memory=memory)
        found = next(f for f in result.findings if f.check == "unknown-run-items")
        assert not any("999" in example for example in found.examples)


@pytest.mark.parametrize("spelling", ["u{:03}", "USER {}"])
def test_two_spellings_are_of_the_same_users(tmp_path: Path, spelling: str) -> None:
    frames = tables()
    text = pl.col("user").map_elements(spelling.format, pl.String)
    for name in ("test", "run"):
        frames[name] = frames[name].with_columns(text)
    found = [f.check for f in audited(written(tmp_path, frames), memory=SMALL).findings]
    assert "user-spelling" in found
    assert "unknown-users" not in found


@pytest.mark.parametrize("form", ["csv", "frame", "truth"])
def test_other_kinds_of_tables_have_the_same_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    reading = sys.modules["podium.decide.audit.reading"]
    monkeypatch.setattr(reading, "n_rows_on_disk", lambda tables: 2000)
    frames = tables()
    frames["test"] = frames["test"].drop("timestamp")
    given: dict[str, Any] = written(tmp_path, frames)
    expected = audited(given, memory=SMALL)
    if form == "csv":
        given["test"] = tmp_path / "test.csv"
        frames["test"].write_csv(given["test"])
    else:
        given["test"] = frames["test"] if form == "frame" else data.read_truth(frames["test"])
    assert findings(audited(given, memory=SMALL)) == findings(expected)


def test_errors_name_lines_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("user,item,relevance\n" + "1,1,1\n" * 30 + "2,1,x\n3,1,1\n")
    with pytest.raises(DataError, match="line 32"):
        of_some_users(open_table(path, "truth", TRUTH), TRUTH, 1)
