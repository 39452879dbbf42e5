"""What a decision states beside its verdict: leaks, lists without a model, empty comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.raised import raises
from tests.unit.audit_cases import (
    Case,
    clean,
    found,
    joined,
    n_users_of,
    planted_recent_taste,
    popular,
    random_run,
    rows,
    with_run,
)

import podium
from podium.data.splitting import How, split_events
from podium.decide import Gate
from podium.errors import ArgumentError


def gated(case: Case, base: Any, measure: str = "ndcg@10", **options: Any) -> Gate:
    return podium.gate(case.test, base, case.runs["model"], measure, **options)


def leaked(case: Case) -> Case:
    """Return a third of the test pairs in the training part, and a model that lists them first."""
    leak = rows(case.test, slice(0, None, 3))
    run, known = case.runs["model"], leak["user"] * 1000 + leak["item"]
    others = rows(run, ~np.isin(run["user"] * 1000 + run["item"], known))
    first = {"user": leak["user"], "item": leak["item"], "score": leak["user"] * 0 + 1e6}
    return Case(joined(case.train, leak), case.test, {"model": joined(others, first)})


def test_a_model_that_was_trained_on_the_truth_does_not_pass() -> None:
    case = leaked(clean())
    base = random_run(case, 1)
    unchecked = gated(case, base)
    assert (unchecked.decision, unchecked.verdict) == ("pass", "superior")
    assert unchecked.primary.candidate > 2 * unchecked.primary.base
    assert found(unchecked, "training-unchecked").severity == "note"
    checked = gated(case, base, train=case.train)
    assert (checked.decision, checked.passed) == ("cannot tell", False)
    errors = [f.check for f in checked.findings if f.severity == "error"]
    assert "train-test-overlap" in errors
    assert all(any(check in reason for reason in checked.reasons) for check in errors)
    for text in (str(checked), checked.to_report()["summary"][0]):
        assert "train-test-overlap" in text
    worse = podium.gate(case.test, case.runs["model"], base, "ndcg@10", train=case.train)
    assert worse.decision == "fail"


def test_a_sound_training_part_is_no_obstacle() -> None:
    case = clean()
    checks = [f.check for f in gated(case, random_run(case, 1), train=case.train).findings]
    assert checks == ["not-compared"]


def test_a_better_list_without_a_model_is_named_unless_it_was_compared() -> None:
    case = planted_recent_taste(clean()).case
    base = popular(case, n_users_of(case.train))
    new = {name: column.copy() for name, column in base.items()}
    new["score"][19::20] = 9  # one of the new items, which are the last of 20
    case = with_run(case, new)
    finding = found(gated(case, base, train=case.train), "not-compared")
    assert (finding.severity, finding.count) == ("warning", 1)
    recent = rows(case.train, case.train["timestamp"] == case.train["timestamp"].max())
    newest = popular(case, n_users_of(recent))
    other = found(gated(case, newest, train=case.train), "not-compared")
    assert (other.severity, other.count) == ("note", 1)
    assert "popularity" in other.text
    compared = podium.compare(case.test, {"a": base, **case.runs}, "ndcg@10", train=case.train)
    assert found(compared, "not-compared").text == finding.text.replace("base", "a")


@pytest.mark.parametrize("by", ["time", "random"])
def test_the_training_part_of_a_split_by_time_is_found(tmp_path: Path, by: str) -> None:
    case = clean()
    events = joined(case.train, case.test)
    parts = split_events(events, How(by, test=0.2, valid=0.2))
    parts.write(tmp_path)
    truth = parts.frames["test"].join(parts.frames["train"], on=["user", "item"], how="anti")
    truth.write_parquet(tmp_path / "test.parquet")
    runs = [random_run(case, seed) for seed in (1, 2)]
    result = podium.gate(tmp_path / "test.parquet", *runs, missing="skip")
    assert [f.check for f in result.findings] == ["not-compared"] * (by == "time")
    earlier = pl.concat([parts.frames["train"], parts.frames["valid"]])
    stated = podium.gate(truth, *runs, missing="skip", train=earlier)
    if by == "time":
        assert found(stated, "not-compared").text == result.findings[0].text


def test_a_measure_that_cannot_separate_the_runs_is_named() -> None:
    case = clean()
    run = case.runs["model"]
    base = {**run, "score": np.random.default_rng(0).permutation(run["score"])}
    result = gated(case, base, "recall@50", margin=0.001)
    assert found(result, "no-difference").count == result.primary.n_users
    assert result.primary.users_needed is None
    assert found(result, "short-lists").count == 2 * result.primary.n_users
    lower = with_run(case, {**run, "score": np.where(run["user"] < 3, -1, 1) * run["score"]})
    few = found(gated(lower, run), "no-difference")
    assert 0 < few.total - few.count < 6
    compared = podium.compare(case.test, {"a": base, "b": run}, ["recall@50", "ndcg@10"])
    assert [f.check for f in compared.findings] == ["no-difference", "short-lists"]


def test_segments_of_all_users_and_small_judged_shares_are_named() -> None:
    users = {"user": np.arange(150), "country": ["FR"] * 150}
    case = clean()
    base = random_run(case, 1)
    assert found(gated(case, base, users=users, by="country"), "whole-segment").count == 150
    judged = {"user": base["user"], "item": base["item"], "relevance": base["item"] % 4 == 0}
    result = podium.gate(judged, base, random_run(case, 2), "ndcg@10")
    assert found(result, "unjudged-items").run == "candidate"
    for options in ({"like": "sklearn"}, {"unjudged": "skip"}):
        result = podium.gate(judged, base, random_run(case, 2), "ndcg@10", **options)
        assert "unjudged-items" not in [f.check for f in result.findings]


def test_an_audit_without_a_training_part_has_no_findings_about_it() -> None:
    case = clean()
    run = case.runs["model"]
    rank = zip(*(run[name].tolist() for name in ("user", "item", "score")), strict=True)
    scores = dict[int, dict[int, float]]()
    for user, item, score in rank:
        scores.setdefault(user, {})[item] = score
    for runs in (run, case.runs, pl.DataFrame(run), scores, {"a": scores}):
        result = podium.audit(None, case.test, runs)
        assert not result.findings
        assert list(result.context.values())[3] == pytest.approx(case.value())
    with raises(ArgumentError):
        podium.audit(None, case.test)
    for tables in ((), (None, case.test)):
        with raises(ArgumentError, "test", "published"):
            podium.audit(*tables, published=None if not tables else "n=5,hits=4,baseline=1")


@pytest.mark.parametrize(
    ("numbers", "severity", "ends"),
    [
        ("n=500,hits=41,baseline=35", "warning", (2 * 0.5**6, 0.567)),
        ({"n": 20, "hits": 11, "baseline": 9}, "error", (0.5, 0.824)),
        ("n=100,hits=90,baseline=20", "note", (0.0, 0.0)),
    ],
)
def test_published_numbers_have_the_p_values_of_all_pairings(
    numbers: Any, severity: str, ends: tuple[float, float]
) -> None:
    result = podium.audit(published=numbers)
    (finding,) = result.findings
    assert finding.severity == severity
    found_ends = [result.context[f"{which} p value"] for which in ("smallest", "largest")]
    assert found_ends == pytest.approx(ends, abs=1e-3)
