"""Tables larger than memory: the same bits as in memory, for any division of their rows."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.raised import raises

import podium
from podium import metrics
from podium.data import buckets
from podium.data.storage import Storage
from podium.errors import ArgumentError, DataError, PodiumError, UnsettledError
from podium.evaluation import Evaluation, measure_part, merge
from podium.executors import Threads
from podium.report import details
from podium.report.details import worst_served
from podium.testing.strategies import all_measures

pytestmark = pytest.mark.filterwarnings("ignore:.*order of equal scores")

Tables = dict[str, pl.DataFrame]

FEW = ["ndcg@5", "pap@3", "ap", "recall@5"]
SMALL = Storage("64KiB")  # the least memory: larger tables are measured in parts


@functools.cache
def tables(ids: str = "int", *, whole: bool = False) -> Tables:
    """Return a truth and two runs with ties, unjudged items, and users that one table lacks.

    With `whole`, the truth lists all items to rank, and each list of a run contains exactly them.
    """
    rng = np.random.default_rng(0)
    n_users, n_shown, n_items = 300, 12, 60
    users = np.sort(rng.choice(10_000, n_users, replace=False))
    shown = np.argsort(rng.random((n_users, n_items)), axis=1)[:, :n_shown]
    judged = shown if whole else np.argsort(rng.random((n_users, n_items)), axis=1)[:, :8]
    rows = {"user": np.repeat(users, judged.shape[1]), "item": judged.ravel()}
    truth = pl.DataFrame({**rows, "relevance": rng.integers(0, 4, judged.size)})
    made = {"truth": truth}
    for name in ("a", "b"):
        run = {"user": np.repeat(users, n_shown), "item": shown.ravel()}
        made[name] = pl.DataFrame({**run, "score": rng.integers(0, 9, shown.size) / 8})
    if not whole:
        made["truth"] = truth.filter(pl.col("user") != users[3])
        made["a"] = made["a"].filter(~pl.col("user").is_in(users[[7, 150]].tolist()))
    if ids == "text":
        texts = [pl.format("u{}", "user").alias("user"), pl.format("i{}", "item").alias("item")]
        made = {name: frame.with_columns(texts) for name, frame in made.items()}
    if ids == "mixed":
        made["a"] = made["a"].with_columns(pl.col("user", "item").cast(pl.String))
    return made


def written(
    folder: Path,
    frames: Tables,
    *,
    files: int = 1,
    seed: int | None = None,
    suffix: str = ".parquet",
) -> dict[str, Path]:
    """Write each table as a folder of files, with rows in random order if there is a seed."""
    paths: dict[str, Path] = {}
    for name, frame in frames.items():
        paths[name] = folder / name
        paths[name].mkdir(parents=True)
        rows = frame if seed is None else frame.sample(fraction=1.0, shuffle=True, seed=seed)
        size = -(-rows.height // files)
        for i in range(files):
            path = paths[name] / f"part-{i:03}{suffix}"
            part = rows.slice(i * size, size)
            if suffix == ".parquet":
                part.write_parquet(path, row_group_size=200)
            else:
                part.write_ipc(path)
    return paths


def result_of(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return the result or the error of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except PodiumError as error:
            result = f"{type(error).__name__}: {error}"
    return result, sorted({str(warning.message) for warning in caught})


def assert_equal(first: Evaluation, second: Evaluation) -> None:
    """Assert that two evaluations have the same bits."""
    np.testing.assert_array_equal(first.labels, second.labels)
    assert first.labels.dtype == second.labels.dtype
    np.testing.assert_array_equal(first.n_pos, second.n_pos)
    for table in ("values", "weights"):
        one, other = vars(first)[table], vars(second)[table]
        assert list(one) == list(other)
        for name, column in one.items():
            assert column.tobytes() == other[name].tobytes(), name
    assert list(first.bounds) == list(second.bounds)
    for name, ends in first.bounds.items():
        np.testing.assert_array_equal(ends, second.bounds[name])
    assert first.conventions == second.conventions
    assert [(s.by, s.name) for s in first.segments] == [(s.by, s.name) for s in second.segments]
    for one, other in zip(first.segments, second.segments, strict=True):
        np.testing.assert_array_equal(one.mask, other.mask)


@functools.cache
def computable() -> list[str]:
    """Return the measures that need no whole lists."""
    frames = tables()
    good: list[str] = []
    for measure in map(str, all_measures()):
        result, _ = result_of(
            lambda m=measure: podium.measure(
                frames["truth"], frames["a"], m, missing="zero", n_items=60
            )
        )
        if isinstance(result, Evaluation):
            good.append(measure)
    assert len({metrics.parse(m).name for m in good}) > 0.8 * len(metrics.REGISTRY)
    return good


@pytest.fixture
def divided_into(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[int]]:
    """Return a function that sets the number of buckets; it returns the numbers that were made."""
    made: list[int] = []
    divide = buckets.Buckets.divide

    def counted(self: Any, n_buckets: int, stack: Any) -> None:
        divide(self, n_buckets, stack)
        made.append(self.n_buckets)

    def of(n_buckets: int) -> list[int]:
        monkeypatch.setattr(buckets.Buckets, "divide", counted)
        monkeypatch.setattr(buckets, "n_buckets_for", lambda need, storage: n_buckets)
        return made

    return of


def both(folder: Path, frames: Tables, measures: Any, **options: Any) -> tuple[Any, Any]:
    """Return the evaluation of tables in memory and that of the same tables in parts."""
    paths = written(folder, frames, files=2, seed=1)
    expected = podium.measure(frames["truth"], frames["a"], measures, **options)
    return expected, podium.measure(paths["truth"], paths["a"], measures, storage=SMALL, **options)


@pytest.mark.parametrize(("ids", "n_buckets"), [("int", 7), ("text", 1), ("mixed", 2)])
def test_all_measures_have_the_same_bits_for_any_number_of_parts(
    tmp_path: Path, divided_into: Callable[[int], list[int]], n_buckets: int, ids: str
) -> None:
    frames = tables(ids)
    made = divided_into(n_buckets)
    options: dict[str, Any] = {"missing": "zero", "n_items": 60}
    expected, _ = result_of(
        lambda: podium.measure(frames["truth"], frames["a"], computable(), **options)
    )
    for files, seed, suffix in ((1, None, ".parquet"), (3, 1, ".parquet"), (2, 2, ".arrow")):
        paths = written(tmp_path / f"{files}{seed}", frames, files=files, seed=seed, suffix=suffix)
        limits: dict[str, Any] = {"storage": Storage("64KiB")}
        actual, _ = result_of(
            lambda t=paths, o=limits: podium.measure(
                t["truth"], t["a"], computable(), **options, **o
            )
        )
        assert_equal(expected, actual)
    assert set(made) == {n_buckets}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"missing": "zero"},
    "missing users": {},
    "left out": {"missing": "skip"},
    "id": {"missing": "skip", "ties": "id"},
    "random": {"missing": "zero", "ties": "random", "ties_seed": 3},
    "average": {"missing": "zero", "ties": "average"},
    "best": {"missing": "zero", "ties": "best", "undefined": "zero"},
    "undefined": {"missing": "zero", "undefined": "error"},
    "unjudged left out": {"missing": "zero", "unjudged": "skip"},
    "unjudged refused": {"missing": "skip", "unjudged": "error"},
    "listed only": {"missing": "zero", "unretrieved": "drop"},
    "above a score": {"missing": "zero", "score_above": 0.3},
    "single precision": {"missing": "zero", "single_precision": True},
    "a higher threshold": {"missing": "zero", "min_relevance": 3},
    "a threshold above all": {"missing": "zero", "min_relevance": 7},
    "number of items": {"missing": "zero", "n_items": 60, "by": ["engagement", "n_pos"]},
    "bootstrap": {"missing": "zero", "interval": "bootstrap", "bootstrap_seed": 5},
    "like ranx": {"like": "ranx"},
    "like ranx, undefined": {"like": "ranx", "missing": "zero", "min_relevance": 3},
    "like trec_eval": {"like": "trec_eval"},
    "like recbole": {"like": "recbole"},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_give_the_same_bits_errors_and_warnings(
    tmp_path: Path, divided_into: Callable[[int], list[int]], name: str
) -> None:
    frames, options = tables(whole=list(OPTIONS).index(name) % 3 == 0), OPTIONS[name]
    is_few = "like" in options or options.get("ties") == "average"
    measures = ["ndcg@5", "recall@5"] if is_few else FEW
    made = divided_into(5)
    paths = written(tmp_path, frames, files=2, seed=4)
    expected, expected_warnings = result_of(
        lambda: podium.measure(frames["truth"], frames["a"], measures, **options)
    )
    actual, actual_warnings = result_of(
        lambda: podium.measure(paths["truth"], paths["a"], measures, storage=SMALL, **options)
    )
    assert made
    if isinstance(expected, Evaluation):
        assert isinstance(actual, Evaluation), actual
        assert_equal(expected, actual)
        assert expected.as_json() == actual.as_json()
        assert actual_warnings == [
            text.replace("The run", str(paths["a"])).replace("The truth", str(paths["truth"]))
            for text in expected_warnings
        ]
    else:
        assert actual.split(":")[0] == expected.split(":")[0]


def items_of(frames: Tables) -> dict[str, Any]:
    """Return the options of measures of the items shown."""
    item = frames["a"]["item"].unique().sort()
    items = pl.DataFrame({"item": item, "kind": [f"k{i % 4}" for i in range(len(item))]})
    past = frames["b"].select("user", "item").sample(fraction=0.4, seed=2)
    return {"missing": "skip", "catalogue": past, "items": items}


@pytest.mark.filterwarnings("ignore:.*relevances below 0")
@pytest.mark.parametrize("case", ["bounds", "shown", "shown, text ids", "absent", "absent, open"])
def test_bounds_items_shown_and_absent_lists_are_equal(
    tmp_path: Path, divided_into: Callable[[int], list[int]], case: str
) -> None:
    frames = dict(tables("text" if "text" in case else "int", whole="absent" in case))
    measures = ["ndcg@5", "recall@5"]
    options: dict[str, Any] = {"missing": "zero", "unjudged": "bounds", "ties": "id"}
    if case == "bounds":
        frames["truth"] = frames["truth"].with_columns(pl.col("relevance").replace({0: -2}))
    if "shown" in case:
        options = items_of(frames)
        measures = [f"{name}@4" for name in metrics.SHOWN] + ["ndcg@5"]
    if "absent" in case:
        options = {"missing": "zero", "by": "n_pos"}
        measures = [*FEW, "auc@5"]
        users = frames["truth"]["user"].unique().sort()
        frames["a"] = frames["a"].filter(~pl.col("user").is_in(users[[2, 100, 290]].to_list()))
    if "open" in case:  # a list lacks an item, so that no absent list is known to be whole
        last = frames["a"].select(pl.col("user").last()).item()
        frames["a"] = frames["a"].filter((pl.col("user") != last) | (pl.col("item") % 2 == 0))
    made = divided_into(5)
    expected, actual = both(tmp_path, frames, measures, **options)
    assert made
    assert bool(expected.bounds) == (case == "bounds")
    assert_equal(expected, actual)


def test_runs_are_compared_and_decided_on_the_same_users(
    tmp_path: Path, divided_into: Callable[[int], list[int]]
) -> None:
    frames = dict(tables())
    frames["twin"] = frames["b"].with_columns(pl.col("score") * 2)
    is_last = pl.int_range(pl.len()) == pl.len() - 1
    frames["odd"] = frames["b"].with_columns(item=pl.when(is_last).then(99).otherwise("item"))
    made = divided_into(5)
    paths = written(tmp_path, frames, files=3, seed=1)
    users = pl.DataFrame({"user": frames["truth"]["user"].unique()}).with_columns(
        kind=pl.col("user") % 3
    )
    options: dict[str, Any] = {"missing": "skip", "by": ["kind", "n_pos"], "users": users}
    guards = {"recall@5": -0.05}
    found: list[Any] = []
    for t, memory in ((frames, {}), (paths, {"storage": SMALL})):
        limits: dict[str, Any] = {**options, **memory}
        found += [
            podium.compare(t["truth"], {"a": t["a"], "b": t["b"]}, FEW, **limits),
            podium.gate(t["truth"], t["b"], t["a"], "ndcg@5", guards=guards, **limits),
            podium.gate(t["truth"], t["b"], t["twin"], "ndcg", **limits),
            podium.gate(t["truth"], t["b"], t["odd"], "ndcg", **limits),
        ]
    assert made
    assert [gate.verdict for gate in found[2:4]] == ["equal", "cannot tell"]
    with raises(ArgumentError, "memory"):
        podium.gate(*list(paths.values())[:3], "ndcg@5", unjudged="bounds", storage=SMALL)
    assert [result.as_json() for result in found[:4]] == [result.as_json() for result in found[4:]]
    for name, evaluation in found[0].evaluations.items():
        assert_equal(evaluation, found[4].evaluations[name])


HIGH = pl.col("user").cast(pl.UInt64) + 2**63 * (pl.col("user") >= 5000)
LARGE = (pl.col("score") * 8).cast(pl.Int64) + 2**60 * (pl.col("user") > 9000)
RANK = pl.col("score").rank("ordinal", descending=True).over("user").alias("rank")
KINDS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "float ids": lambda t: t.with_columns(pl.col("user", "item").cast(pl.Float64)),
    "categories": lambda t: t.with_columns(
        pl.col("user", "item").cast(pl.String).cast(pl.Categorical)
    ),
    "ids beyond 63 bits": lambda t: t.with_columns(user=HIGH),
    "negative ids": lambda t: t.with_columns(pl.col("user") - 5000),
    "wide ids": lambda t: t.with_columns((pl.col("user") - 5000) * (2**63 // 5001)),
    "ranks": lambda t: t.with_columns(RANK).drop("score") if "score" in t.columns else t,
    "large integers": lambda t: t.with_columns(score=LARGE) if "score" in t.columns else t,
    "other columns": lambda t: t.with_columns(extra=pl.lit("x")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_types_of_columns_give_the_same_bits(
    tmp_path: Path, divided_into: Callable[[int], list[int]], kind: str
) -> None:
    frames = {name: KINDS[kind](frame) for name, frame in tables().items()}
    made = divided_into(4)
    options: dict[str, Any] = {"missing": "zero", "ties": "random", "single_precision": True}
    expected, actual = both(tmp_path, frames, FEW, **options)
    assert made
    assert_equal(expected, actual)


@pytest.mark.parametrize("on_disk", ["truth", "a"])
def test_a_table_in_memory_is_divided_too_and_columns_of_other_names_are_read(
    tmp_path: Path, divided_into: Callable[[int], list[int]], on_disk: str
) -> None:
    frames = {n: f.rename({"user": "who", "item": "what"}) for n, f in tables().items()}
    made = divided_into(4)
    mixed: dict[str, Any] = dict(frames)
    mixed[on_disk] = written(tmp_path, frames, seed=1)[on_disk]
    names: dict[str, Any] = {"user": "who", "item": "what", "missing": "zero"}
    expected = podium.measure(frames["truth"], frames["a"], FEW, **names)
    actual = podium.measure(mixed["truth"], mixed["a"], FEW, storage=SMALL, **names)
    assert made
    assert_equal(expected, actual)
    assert actual.per_user().columns[0] == "who"


@pytest.mark.parametrize("in_memory", [False, True], ids=["files", "a frame and files"])
def test_report_of_files_is_that_of_tables_in_memory(tmp_path: Path, in_memory: bool) -> None:
    frames = tables("mixed")
    paths = written(tmp_path, frames, files=2, seed=3)
    truth, runs = (frames if in_memory else paths)["truth"], {n: paths[n] for n in ("a", "b")}
    options: dict[str, Any] = {"storage": Storage(executor=Threads(2)) if in_memory else SMALL}
    found, expected = (
        podium.compare(
            truth, runs, ["ndcg@5"], missing="zero", keep_lists=True, **other
        ).evaluations
        for other in (options, {})
    )
    users, curves = worst_served(found, "b", None), details.curves(found, ["ndcg@5"])
    assert users == worst_served(expected, "b", None)
    assert curves == details.curves(expected, ["ndcg@5"])
    assert users is not None
    assert len(users["users"]) == 10
    assert len(curves["ndcg"]["k"]) > 2


pa: Any = import_module("pyarrow")


def parts_of(truth: pl.DataFrame, run: pl.DataFrame, **options: Any) -> Evaluation:
    """Measure the users of odd and of even numbers, and join them."""
    parts = [[t.filter(pl.col("user") % 2 == i).to_arrow() for t in (truth, run)] for i in (0, 1)]
    given: dict[str, Any] = {"protocol": [*FEW, "auc@5"], "lowest": 0, "missing": "zero"}
    return merge([measure_part(*part, **given, **options) for part in parts])


@pytest.mark.parametrize("whole", [True, False])
def test_lists_of_absent_users_are_whole_if_the_caller_says_so(whole: bool) -> None:
    frames = tables(whole=True)
    users = frames["truth"]["user"].unique().sort().to_list()
    run = frames["a"].filter(~pl.col("user").is_in(users[::9]))
    if not whole:  # one list lacks items
        run = run.filter((pl.col("user") != users[1]) | (pl.col("item") % 2 == 0))
    expected = podium.measure(frames["truth"], run, [*FEW, "auc@5"], missing="zero")
    actual = parts_of(frames["truth"], run, lists_whole=whole)
    assert_equal(expected, actual)
    with raises(ArgumentError, "missing"):
        parts_of(frames["truth"], run)
    if whole:
        wrong = parts_of(frames["truth"], run, lists_whole=False)
        assert wrong.means["pap@3"] < expected.means["pap@3"]
    else:
        with pytest.raises(ArgumentError, match=f"that of user {users[1]} has others"):
            parts_of(frames["truth"], run, lists_whole=True)


TRUTH = pa.table({"user": [1, 2], "item": [7, 7], "relevance": [1, 2]})
RUN = pa.table({"user": [1], "item": [7], "score": [0.5]})
NULLS = pa.table({"user": pa.array([None], pa.int64()), "item": [7], "score": [0.5]})


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, ArgumentError),
        ({"missing": "none"}, ArgumentError),
        *(({"lowest": lowest}, ArgumentError) for lowest in (2, None, float("nan"))),
        ({"unjudged": "bounds"}, ArgumentError),
        ({"protocol": "coverage@2", "missing": "skip"}, ArgumentError),
        ({"protocol": "auc", "missing": "skip"}, UnsettledError),
        ({"truth": TRUTH.slice(0, 0), "run": NULLS}, DataError),
        ({"run": RUN.select(["user", "item"])}, DataError),
        ({"truth": TRUTH.rename_columns(["user", "item", "rating"])}, ArgumentError),
    ],
)
def test_wrong_parts_are_refused(options: dict[str, Any], error: Any) -> None:
    arguments: dict[str, Any] = {"truth": TRUTH, "run": RUN, "protocol": "rr", "lowest": 1}
    with pytest.raises(error) as caught:
        measure_part(**arguments | options)
    assert caught.type is error


def test_parts_of_the_same_users_or_of_other_protocols_are_not_joined() -> None:
    first, second = TRUTH.slice(0, 1), TRUTH.slice(1, 1)
    options: dict[str, Any] = {"lowest": 1, "missing": "zero"}
    part = measure_part(first, RUN, "rr", **options)
    other_ties = measure_part(second, RUN, "rr", ties="best", **options)
    other_measure = measure_part(second, RUN, "ap", **options)
    for wrong in ([part, part], [], [part, other_ties], [part, other_measure]):
        with pytest.raises(ArgumentError):
            merge(wrong)
    assert merge([part, measure_part(second, RUN, "rr", **options)]).n_groups == 2


def test_parts_may_lack_judgements_or_rows() -> None:
    for ids in ([1, 2], ["a", "b"]):
        truth = pa.table({"user": ids, "item": [7, 7]})
        run = pa.table({"user": ids, "item": [7, 8], "score": [0.5, 0.5]})
        some, none = (measure_part(rows, run, "rr", lowest=1) for rows in (truth, truth[:0]))
        assert (none.n_groups, none.per_user().column_names) == (0, ["user", "n_pos", "rr"])
        assert_equal(merge([none, some, none]), some)
    for missing, values in (("zero", [[0.0, 0.0], [1.0, 1.0]]), ("skip", [[], []])):
        options: Any = {"lowest": 1, "missing": missing}
        found = measure_part(TRUTH, RUN.slice(0, 0), ["rr", "topk_loss@5"], **options)
        assert [column.tolist() for column in found.values.values()] == values
