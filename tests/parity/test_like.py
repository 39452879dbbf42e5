"""`like=`: podium's values with the conventions of a package, and the package's own values.

Every metric of every table in `podium.presets` is compared, on the same lists: users without a
list, users without a positive, items that are not judged, positives that are not listed, short
lists, and equal scores where the package defines their order. `Form.name` is how the package is
called, with the cutoff instead of 10.

RecTools and RecBole need environments of their own. Their values are in rectools_values.json and
recbole_values.json, and the scripts of these names compute them. Of the other packages, a package
that is not installed is skipped.

What the packages leave open, and what podium does not reproduce, is asserted below.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium import presets
from podium.errors import ArgumentError, PodiumWarning, UnsettledError
from podium.metrics import parse
from podium.presets.preset import PACKAGES
from tests.parity.like_lists import N_ITEMS, Table, lists, past

pytestmark = pytest.mark.filterwarnings("ignore:::(?!podium)")  # those of the packages

HERE = Path(__file__).parent
CUTOFFS = (1, 3, 10)
OF_GRADES = ("ndcg", "dcg", "err")
BINARY_LISTS = ("rectools", "recbole")
ROUNDED = {"ERR": 5e-6}
"""Half of the last digit that a package prints, by its name of the metric."""

Values = tuple[dict[Any, float], float]
"""The values of users, nan if the package defines none, and their mean."""


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
    return {u: values[str(u)] for u in truth}, found.aggregated[measure]


def ranx(truth: Table, run: Table, name: str) -> Values:
    import numba

    threads = numba.get_num_threads()
    peer = pytest.importorskip("ranx", reason="ranx is not installed")
    listed = peer.Run(as_text(run))
    mean = peer.evaluate(peer.Qrels(as_text(truth)), listed, name)
    numba.set_num_threads(threads)  # ranx leaves it at one after a small evaluation
    return {u: listed.scores[name][str(u)] for u in truth}, float(mean)


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
    rows: list[tuple[float, float, int]] = []
    values = {}

    def mean(of: list[tuple[float, float, int]]) -> float:
        preds, target, indexes = (torch.tensor(column) for column in zip(*of, strict=True))
        return float(getattr(peer, metric)(**options)(preds, target, indexes=indexes))

    for user in [u for u in truth if u in run]:
        grades = [int(truth[user].get(item, 0)) for item in run[user]]
        if "DCG" not in name:
            grades = [min(g, 1) for g in grades]
        listed = list(zip(run[user].values(), grades, [user] * len(grades), strict=True))
        values[user] = mean(listed)
        rows += listed
    return values, mean(rows)


def rectools(truth: Table, run: Table, name: str) -> Values:
    metric, options = called(name)
    found = json.loads((HERE / "rectools_values.json").read_text())["like"]
    found = found[f"{metric}@{options['k']}"]
    return {int(u): v for u, v in found.get("values", {}).items()}, found["mean"]


def recbole(truth: Table, run: Table, name: str) -> Values:
    found = json.loads((HERE / "recbole_values.json").read_text())
    values = {int(u): v for u, v in found["values"][name].items()}
    mean = float(np.mean(list(values.values())))
    assert found["means"][name.lower()] == pytest.approx(mean, abs=5.001e-5)  # it is rounded
    return values, mean


PEERS: dict[str, Callable[[Table, Table, str], Values]] = {
    "trec_eval": trec_eval,
    "ir_measures": ir_measures,
    "sklearn": sklearn,
    "ranx": ranx,
    "rectools": rectools,
    "recbole": recbole,
    "torchmetrics": torchmetrics,
}


def called(name: str) -> tuple[str, dict[str, Any]]:
    """Return the function and the arguments of a name such as "ndcg_score(k=10)"."""
    function, arguments = re.fullmatch(r"(\w+)(?:\((.*)\))?", name).groups()  # type: ignore
    pairs = [pair.split("=") for pair in re.findall(r"\w+=\w+", arguments or "")]
    return function, {k: v == "True" if v in ("True", "False") else int(v) for k, v in pairs}


def as_text(table: Table) -> dict[str, dict[str, Any]]:
    return {str(u): {str(i): v for i, v in items.items()} for u, items in table.items()}


# --- The comparison -------------------------------------------------------------------------------


def columns(table: Table, name: str) -> dict[str, list[Any]]:
    rows = [(user, item, value) for user, items in table.items() for item, value in items.items()]
    return dict(zip(("user", "item", name), map(list, zip(*rows, strict=True)), strict=True))


def measured(package: str, text: str, truth: Table, run: Table) -> podium.Evaluation:
    is_of_shown = parse(text).metric.reads == "catalogue"
    before = dict(zip(("user", "item"), map(list, zip(*past(), strict=True)), strict=True))
    return podium.measure(
        columns(truth, "relevance"),
        columns(run, "score"),
        text,
        like=package,
        **({"catalogue": before} if is_of_shown else {}),
    )


def drawn(package: str, text: str, *, with_text_ids: bool) -> tuple[Table, Table]:
    """Return lists on which the package defines the measure."""
    measure = parse(text)
    if measure.metric.reads == "catalogue":
        return lists(whole=package == "recbole")
    rules = presets.get(package).rules(measure)
    truth, run = lists(
        graded=package not in BINARY_LISTS,
        tied="ties" in rules,
        empty=package != "recbole" and measure.name != "bpref",
        missing=rules["missing"] != "error",
        whole=package == "recbole",
        text=with_text_ids,
    )
    if measure.name in ("pap", "pauc"):  # of lists with at least k irrelevant items
        truth = {
            user: grades
            for user, grades in truth.items()
            if sum(not grades.get(item) for item in run.get(user, {})) >= (measure.k or 1)
        }
    return truth, run


def cases() -> list[Any]:
    found = []
    for package in PACKAGES:
        marks = [pytest.mark.long] if package == "ranx" else []  # it compiles in each process
        for name in presets.get(package).metrics:
            texts = [name.replace("@k", f"@{k}") for k in CUTOFFS] if "@k" in name else [name]
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
    within = {"rtol": 0, "atol": ROUNDED.get(name.split("@")[0], 1e-6)}

    found = zip(result.labels.tolist(), result.values[text].tolist(), strict=True)
    undefined = 0.0 if preset.rules(measure)["undefined"] == "zero" else np.nan
    ours = {user: undefined if np.isnan(value) else value for user, value in found}
    users = [user for user, value in theirs.items() if user in truth and np.isfinite(value)]
    np.testing.assert_allclose([ours[u] for u in users], [theirs[u] for u in users], **within)
    if set(users) >= {user for user, value in ours.items() if not np.isnan(value)}:
        np.testing.assert_allclose(result.means[text], mean, **within)
    else:
        assert np.isnan(mean)
