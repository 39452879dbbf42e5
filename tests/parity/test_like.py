"""`like=`: podium's values with the conventions of a package, and the package's own values.

Every metric of every table in `podium.presets` is compared, on the same lists: users without a
list, users without a positive, items that are not judged, positives that are not listed, short
lists, and equal scores where the package defines their order. `Form.name` is how the package is
called, with the cutoff instead of 10.

RecTools, RecBole and the packages of `STORED` need environments of their own. Their values are in
files, and scripts compute them. To compute them anew, give the interpreter of an environment in
a variable of `SCRIPTS`. Other packages are skipped if they are not installed. The formulas of a
preset with a `source` were read, and have no values.

What the packages leave open, and what podium does not reproduce, is asserted below.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.parity.like_lists import N_ITEMS, Table, lists, past

import podium
from podium import presets
from podium.errors import ArgumentError, PodiumWarning, UnsettledError
from podium.metrics import Measure, parse
from podium.presets.preset import PACKAGES

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::UserWarning", "error::podium.errors.PodiumWarning"
)

HERE = Path(__file__).parent
RECBOLE = json.loads((HERE / "recbole_values.json").read_text())
RECTOOLS = json.loads((HERE / "rectools_values.json").read_text())["like"]
ROWS = [json.loads(row) for row in (HERE / "retriever_values.jsonl").read_text().splitlines()]
STORED = {(row["package"], row["name"]): row for row in ROWS}
SCRIPTS: dict[str, tuple[str, str, list[str]]] = {
    "PODIUM_RECTOOLS_PYTHON": ("rectools_values.py", "rectools_values.json", []),
    "PODIUM_RECBOLE_PYTHON": ("recbole_values.py", "recbole_values.json", []),
    "PODIUM_RETRIEVERS_PYTHON": (
        "retriever_values.py",
        "retriever_values.jsonl",
        ["beir", "mteb", "sentence_transformers", "haystack", "llama_index", "mlflow"],
    ),
    "PODIUM_RAGAS_PYTHON": ("retriever_values.py", "retriever_values.jsonl", ["ragas"]),
    "PODIUM_DEEPEVAL_PYTHON": ("retriever_values.py", "retriever_values.jsonl", ["deepeval"]),
}
"""The scripts that compute stored values, their files and the packages, by environment."""
BEFORE = dict(zip(("user", "item"), map(list, zip(*past(), strict=True)), strict=True))
CUTOFFS = (1, 3, 10)
BINARY = ("rectools", "recbole")
"""The packages whose metrics do not use grades."""
ROUNDED = {"ERR": 5e-6, "beir": 5.001e-6, "mteb": 5.001e-6, "torchmetrics": 1e-6, "ragas": 1e-9}
"""Half of the last digit that a package has, or has for a metric."""

Values = tuple[dict[Any, float], float]
"""The values of users, nan where the package defines none, and the mean that it gives."""


# --- The packages ---------------------------------------------------------------------------------


def trec_eval(truth: Table, run: Table, name: str) -> Values:
    peer = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    found = peer.RelevanceEvaluator(as_text(truth), {name}).evaluate(as_text(run))
    values = {u: found[str(u)][name] for u in truth if str(u) in found}
    return values, float(np.mean(list(values.values())))


def ir_measures(truth: Table, run: Table, name: str) -> Values:
    peer = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    measure = peer.parse_measure(name)
    if not peer.DefaultPipeline.supports(measure):
        pytest.skip(f"a package that ir_measures needs for {name} is not installed")
    found = peer.calc([measure], as_text(truth), as_text(run))
    values = {metric.query_id: metric.value for metric in found.per_query}
    return {u: values[str(u)] for u in truth}, float(found.aggregated[measure])


def ranx(truth: Table, run: Table, name: str) -> Values:
    import numba

    threads = numba.get_num_threads()
    peer = pytest.importorskip("ranx", reason="ranx is not installed")
    if name == "bpref":  # without both kinds of judged items, ranx divides by zero
        truth = {u: grades for u, grades in truth.items() if {0, 1} <= set(grades.values())}
        run = {user: run[user] for user in truth}
    listed = peer.Run(as_text(run))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's own, at compilation
        mean = peer.evaluate(peer.Qrels(as_text(truth)), listed, name)
    numba.set_num_threads(threads)  # ranx leaves it at one after a small evaluation
    values = {u: listed.scores[name][str(u)] for u in truth}
    return values, np.nan if name == "bpref" else float(mean)


def sklearn(truth: Table, run: Table, name: str) -> Values:
    from sklearn import metrics

    function, options = called(name)
    is_graded = "dcg" in function
    values = {}
    for user in [u for u in truth if u in run]:
        grades = [truth[user].get(item, 0) for item in run[user]]
        scores = list(run[user].values())
        rows = ([grades], [scores]) if is_graded else ([g > 0 for g in grades], scores)
        values[user] = float(getattr(metrics, function)(*rows, **options))
    return values, float(np.nanmean(list(values.values())))


def torchmetrics(truth: Table, run: Table, name: str) -> Values:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    peer = pytest.importorskip("torchmetrics.retrieval", reason="torchmetrics is not installed")
    metric, options = called(name)

    def mean_of(users: list[Any]) -> float:
        highest = 3 if "DCG" in name else 1
        rows = [
            (score, min(int(truth[user].get(item, 0)), highest), user)
            for user in users
            for item, score in run[user].items()
        ]
        scores, grades, indexes = (torch.tensor(column) for column in zip(*rows, strict=True))
        return float(getattr(peer, metric)(**options)(scores.double(), grades, indexes=indexes))

    users = [user for user in truth if user in run]
    return {user: mean_of([user]) for user in users}, mean_of(users)


def rectools(truth: Table, run: Table, name: str) -> Values:
    metric, options = called(name)
    found = RECTOOLS[f"{metric}@{options['k']}"]
    return {int(u): v for u, v in found.get("values", {}).items()}, found["mean"]


def recbole(truth: Table, run: Table, name: str) -> Values:
    values = {int(u): v for u, v in RECBOLE["values"][name].items()}
    mean = float(np.mean(list(values.values())))
    assert RECBOLE["means"][name.lower()] == pytest.approx(mean, abs=5.001e-5)  # it is rounded
    return values, mean


def stored(package: str) -> Callable[[Table, Table, str], Values]:
    def values(truth: Table, run: Table, name: str) -> Values:
        row = STORED[package, name]
        assert presets.get(package).package.endswith(f" {row['version']}")
        return row["values"], np.nan if row["mean"] is None else row["mean"]

    return values


PEERS: dict[str, Callable[[Table, Table, str], Values]] = {
    peer.__name__: peer
    for peer in (trec_eval, ir_measures, sklearn, ranx, rectools, recbole, torchmetrics)
} | {package: stored(package) for package, _ in STORED}


def called(name: str) -> tuple[str, dict[str, Any]]:
    """Return the function and the arguments of a name such as "ndcg_score(k=10)"."""
    function, _, arguments = name.partition("(")
    pairs = [pair.split("=") for pair in re.findall(r"\w+=\w+", arguments)]
    return function, {k: v == "True" if v in ("True", "False") else int(v) for k, v in pairs}


def as_text(table: Table) -> dict[str, dict[str, Any]]:
    return {str(u): {str(i): v for i, v in items.items()} for u, items in table.items()}


# --- The files ------------------------------------------------------------------------------------

FILES = sorted(path.stem for path in Path(presets.__file__).parent.glob("*.toml"))
FIELDS = {"missing", "undefined", "unjudged", "unretrieved", "single_precision", "low_grades"}


@pytest.mark.parametrize("file", FILES)
def test_a_file_states_all_fields_with_values_that_measure_accepts(file: str) -> None:
    preset, truth, run = presets.read(file), {0: {0: 4, 1: 0, 2: 0}}, {0: {0: 3.0, 1: 2.0, 2: 1.0}}
    assert re.fullmatch(r"[\w-]+ [\d.]+", preset.package) or preset.source
    assert bool(preset.source) == (file in PACKAGES and file not in PEERS)
    for key, form in preset.metrics.items():
        measure = preset.measure(parse(key.replace("@k", "@2")))
        rules = {"ties": "worst", **preset.rules(measure)}
        assert FIELDS < {*rules, *form.open} <= {*FIELDS, "ties", "score_above"}
        if measure.metric.reads != "catalogue":
            tables = columns(truth, "relevance"), columns(run, "score")
            assert podium.measure(*tables, measure.canonical, **rules).means


# --- The comparison -------------------------------------------------------------------------------


def columns(table: Table, name: str) -> dict[str, list[Any]]:
    rows = [(user, item, value) for user, items in table.items() for item, value in items.items()]
    return dict(zip(("user", "item", name), map(list, zip(*rows, strict=True)), strict=True))


def measured(package: str, text: str, truth: Table, run: Table) -> podium.Evaluation:
    catalogue = {"catalogue": BEFORE} if parse(text).metric.reads == "catalogue" else {}
    tables = columns(truth, "relevance"), columns(run, "score")
    return podium.measure(*tables, text, like=package, **catalogue)


def drawn(package: str, text: str, *, with_text_ids: bool) -> tuple[Table, Table]:
    """Return lists on which the package defines the measure."""
    measure = parse(text)
    if measure.metric.reads == "catalogue":
        return lists(whole=package == "recbole")
    rules = presets.get(package).rules(measure)
    truth, run = lists(
        graded=package not in BINARY,
        tied="ties" in rules,
        empty=package not in ("recbole", "llama_index"),
        missing=rules["missing"] != "error",
        whole=package == "recbole",
        text=with_text_ids or any(package == of for of, _ in STORED),
    )
    if measure.name in ("pap", "pauc"):
        truth = {u: grades for u, grades in truth.items() if is_settled(measure, grades, run, u)}
    return truth, run


def is_settled(measure: Measure, grades: dict[Any, float], run: Table, user: Any) -> bool:
    """Return whether a list, if there is one, has as many irrelevant items as pap@k reads."""
    return user not in run or sum(not grades.get(item) for item in run[user]) >= (measure.k or 1)


def cases() -> list[Any]:
    found = []
    for package in PEERS:
        marks = [pytest.mark.long] if package == "ranx" else []  # it compiles in each process
        for name in presets.get(package).metrics:
            texts = [name.replace("@k", f"@{k}") for k in CUTOFFS] if "@k" in name else [name]
            texts = [text for text in texts if text != "auc@1"]  # one item has no pair
            found += [pytest.param(package, text, False, marks=marks) for text in texts]
            if package in ("trec_eval", "ir_measures") and name != "err@k":
                found.append(pytest.param(package, texts[-1], True))
    return found


@pytest.mark.parametrize(("package", "text", "with_text_ids"), cases())
def test_values_and_means_are_those_of_the_package(
    package: str, text: str, with_text_ids: bool
) -> None:
    preset, measure = presets.get(package), parse(text)
    name = preset.form(measure).name.replace("10", str(measure.k))
    truth, run = drawn(package, text, with_text_ids=with_text_ids)
    theirs, mean = PEERS[package](truth, run, name)
    result = measured(package, text, truth, run)
    within = {"rtol": 0, "atol": ROUNDED.get(name.split("@")[0], ROUNDED.get(package, 1e-10))}

    found = zip(result.labels.tolist(), result.values[text].tolist(), strict=True)
    undefined = 0.0 if preset.rules(measure)["undefined"] == "zero" else np.nan
    ours = {user: undefined if np.isnan(value) else value for user, value in found}
    users = [user for user, value in theirs.items() if user in truth and np.isfinite(value)]
    np.testing.assert_allclose([ours[u] for u in users], [theirs[u] for u in users], **within)
    if set(theirs) <= set(truth) and not np.isnan(mean):
        np.testing.assert_allclose(result.means[text], mean, **within)


@pytest.mark.parametrize("text", ["ap", "rr", "recall@10", "ndcg@10", "r_precision", "bpref"])
def test_min_relevance_is_the_relevance_level_of_trec_eval(text: str) -> None:
    peer = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    name = presets.get("trec_eval").form(parse(text)).name
    truth, run = lists(graded=True, tied=True, empty=True)
    theirs = peer.RelevanceEvaluator(as_text(truth), {name}, relevance_level=2)
    found = theirs.evaluate(as_text(run))
    tables = columns(truth, "relevance"), columns(run, "score")
    result = podium.measure(*tables, text, like="trec_eval", min_relevance=2)
    expected = [found[str(user)][name] for user in result.labels]
    np.testing.assert_allclose(np.nan_to_num(result.values[text]), expected, rtol=0, atol=1e-12)


def test_the_lists_are_as_said() -> None:
    truth, run = lists(graded=True, tied=True, empty=True, missing=True)
    as_floats = {u: [np.float32(s) for s in scores.values()] for u, scores in run.items()}
    assert any(len(set(scores)) < len(run[u]) for u, scores in as_floats.items())
    assert any(len(set(scores)) < len(set(run[u].values())) for u, scores in as_floats.items())
    assert any(not any(grades.values()) for grades in truth.values())
    assert set(run) < set(truth)
    assert {min(scores) < 0 < max(scores) for scores in as_floats.values()} == {True, False}


# --- What the packages leave open -----------------------------------------------------------------

EQUAL = dict.fromkeys(range(30), 1.0)


@pytest.mark.parametrize(
    ("package", "name"),
    [
        pytest.param("ranx", "mrr", marks=pytest.mark.long),
        ("torchmetrics", "RetrievalMRR"),
        ("ir_measures", "RBP(rel=1)"),
    ],
)
def test_values_of_equal_scores_depend_on_the_order_of_rows(package: str, name: str) -> None:
    truth = {0: {0: 1}}
    orders = ({0: EQUAL}, {0: dict(reversed(EQUAL.items()))})
    first, second = (PEERS[package](truth, run, name)[1] for run in orders)
    assert first != second
    text = {"mrr": "rr", "RetrievalMRR": "rr", "RBP(rel=1)": "rbp"}[name]
    for run in orders:
        with pytest.warns(PodiumWarning, match="order of equal scores"):
            result = measured(package, text, truth, run)
        worst, best = (
            podium.measure(columns(truth, "relevance"), columns(run, "score"), text, ties=ties)
            for ties in ("worst", "best")
        )
        assert result.means == worst.means
        assert worst.means[text] - 1e-6 < min(first, second)
        assert max(first, second) < best.means[text] + 1e-6


def test_values_of_equal_scores_depend_on_the_number_of_the_item_in_recbole() -> None:
    values = RECBOLE["mrr@10 of equal"]
    assert len(values) == N_ITEMS
    assert {0, 1} < set(values)


def test_some_measures_of_ir_measures_rank_the_first_id_first() -> None:
    truth = {"q": {"a": 1}}
    run = {"q": {"a": 1.0, "b": 1.0}}
    assert ir_measures(truth, run, "RR")[1] == 1 / 2
    assert ir_measures(truth, run, "RR@10")[1] == 1
    assert measured("ir_measures", "rr", truth, run).means["rr"] == 1 / 2


def test_torchmetrics_merges_high_scores_in_a_sigmoid() -> None:
    truth = {0: {1: 1, 2: 0}}
    run = {0: {1: 30.0, 2: 20.0}}
    assert torchmetrics(truth, run, "RetrievalAUROC")[1] == 1 / 2
    assert measured("torchmetrics", "auc", truth, run).means["auc"] == 1


def test_scikit_learn_refuses_lists_of_one_item() -> None:
    truth, run = {0: {1: 1}}, {0: {1: 1.0}}
    with pytest.raises(ValueError, match="more than 1 document"):
        sklearn(truth, run, "ndcg_score")
    assert measured("sklearn", "ndcg", truth, run).means["ndcg"] == 1


# --- What podium does not reproduce ---------------------------------------------------------------


@pytest.mark.parametrize("file", FILES)
def test_refused_metrics_are_none_of_the_table_and_raise_the_reason(file: str) -> None:
    preset = presets.read(file)
    assert not set(preset.metrics) & set(preset.refused)
    for name, reason in preset.refused.items():
        whole = f"{name}@k" in preset.metrics
        with pytest.raises(ArgumentError, match=re.escape(reason)):
            preset.form(parse(name if whole else f"{name.removesuffix('@k')}@10"))


DEVIATIONS = {
    ("haystack", "ndcg"): ("DocumentNDCGEvaluator, top_k={}", "ideal-not-cut"),
    ("haystack", "recall"): ("DocumentRecallEvaluator, top_k={}", "as-hit_rate"),
    ("llama_index", "ndcg"): ("NDCG, similarity_top_k={}", "binary-ideal-not-cut"),
    ("llama_index", "rr"): ("MRR(use_granular_mrr=True), similarity_top_k={}", "rr-mean-of-hits"),
    ("llama_index", "hit_rate"): (
        "HitRate(use_granular_hit_rate=True), similarity_top_k={}",
        "as-recall",
    ),
    ("mlflow", "ndcg"): ("ndcg_at_k({})", "binary-ideal-cut-at-length"),
}
"""Metrics with values that no conventions give, and what `podium.explain` calls their formulas."""


@pytest.mark.parametrize("k", CUTOFFS[1:])
@pytest.mark.parametrize(("package", "metric"), DEVIATIONS)
def test_explain_recognizes_what_no_conventions_give(package: str, metric: str, k: int) -> None:
    name, deviation = DEVIATIONS[package, metric]
    preset, text = presets.get(package), f"{metric}@{k}"
    truth, run = drawn(package, "recall@3", with_text_ids=True)
    tables = columns(truth, "relevance"), columns(run, "score")
    numbers = {text: STORED[package, name.format(k)]["values"]}
    cause = podium.explain(*tables, value=numbers).search.matches[0]
    assert cause.changes[0]["deviation"] == deviation
    if metric == "ndcg":
        assert package in cause.packages
        with pytest.raises(ArgumentError, match=deviation):
            preset.form(parse(text))


def test_rectools_counts_items_that_are_not_shown_as_negative() -> None:
    truth = {0: {1: 1, 2: 1}}
    for text in ("pap@2", "pauc@2"):
        with pytest.raises(UnsettledError):
            measured("rectools", text, truth, {0: {3: 1.0, 1: 0.5}})


@pytest.mark.parametrize("variable", SCRIPTS)
def test_stored_values_are_those_of_the_package(variable: str) -> None:
    python = os.environ.get(variable)
    if not python:
        pytest.skip(f"{variable} does not name an interpreter that has the package")
    script, file, packages = SCRIPTS[variable]
    argv = [python, HERE / script, *packages]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stdout in (HERE / file).read_text()


@pytest.mark.long
def test_ranx_weighs_by_grade_in_rank_biased_precision() -> None:
    truth, run = lists(graded=True)
    only_flags = {u: {i: min(g, 1) for i, g in grades.items()} for u, grades in truth.items()}
    tables = columns(truth, "relevance"), columns(run, "score")
    ours = podium.measure(*tables, "rbp").means["rbp"]
    assert ranx(only_flags, run, "rbp.80")[1] == pytest.approx(ours, rel=1e-12)
    assert ranx(truth, run, "rbp.80")[1] > ours + 0.01


def test_recbole_counts_the_padding_as_an_item() -> None:
    truth, run = lists(whole=True)
    tables = columns(truth, "relevance"), columns(run, "score")
    ours = podium.measure(*tables, [f"coverage@{k}" for k in CUTOFFS], catalogue=BEFORE)
    for k in CUTOFFS:
        expected = ours.means[f"coverage@{k}"] * N_ITEMS / (N_ITEMS + 1)
        assert RECBOLE["means"][f"itemcoverage@{k}"] == pytest.approx(expected, abs=5.001e-5)


def test_recbole_weighs_users_by_their_positives_in_gauc() -> None:
    truth, run = lists(whole=True)
    tables = columns(truth, "relevance"), columns(run, "score")
    by_user = podium.measure(*tables, "auc", n_items=N_ITEMS)
    n_positives = [sum(truth[u].values()) for u in by_user.labels]
    weighted = np.average(by_user.values["auc"], weights=n_positives)
    assert RECBOLE["means"]["gauc"] == pytest.approx(weighted, abs=5.001e-5)
    assert abs(weighted - by_user.means["auc"]) > 1e-3
