"""docs/explain.md and podium explain: JSON, exit status, wrong input."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.pages.page import DOCS, code, page, section, shell

from podium.decide.explain.deviation import REGISTRY as DEVIATIONS
from podium.decide.explain.grid import conventions
from podium.metrics import REGISTRY, Measure
from podium.protocol import Conventions

SEARCH = section("explain.md", "What is searched")
SCHEMA = DOCS / "schemas" / "explanation.json"


@pytest.fixture(autouse=True)
def files() -> None:
    """Write the files of the page."""
    (script,) = code(page("explain.md"), "sh")
    assert shell(script).returncode == 0


def test_every_value_that_is_searched_is_in_its_row() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", SEARCH, re.M))
    for name, metric in REGISTRY.items():
        measure = Measure(name, None if metric.cutoff == "none" else 2)
        axes = conventions(measure, [], Conventions(missing="zero"))
        for convention, values in axes.items():
            if convention != "norm":  # the row refers to the measures
                named = {value for value in values if isinstance(value, str)}
                assert named <= set(re.findall(r"\w+", rows[convention]))


@pytest.mark.parametrize(
    ("options", "value"),
    [
        (("-m", "NDCG(k=2)"), "0.4033"),
        (("-m", "ndcg(gain=exp2,ideal=best)@2"), "0.2865"),
        (("-m", "ap@2", "--min-relevance", "0.5", "--column", "item=thing"), "0.250"),
    ],
)
def test_lines_of_the_answer_give_the_value(
    podium: Callable[..., Any], options: tuple[str, ...], value: str
) -> None:
    if "--column" in options:
        for name in ("truth", "run"):
            text = Path(f"{name}.csv").read_text(encoding="utf-8")
            Path(f"{name}.csv").write_text(text.replace("item", "thing"), encoding="utf-8")
    explained = podium("explain", "truth.csv", "run.csv", *options, "--value", value).out
    _, lines = explained.split("Lines to change in podium.toml\n")
    Path("podium.toml").write_text(lines, encoding="utf-8")
    options = options[2:] if "measures" in lines else options
    done = podium("measure", "truth.csv", "run.csv", *options, "--format", "json")
    result = json.loads(done.out)
    ((_, summary),) = result["measures"].items()
    assert round(summary["mean"], len(value) - 2) == float(value)


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ((), 0),
        (("--value", "0.4033"), 0),
        (("--value", "0.9876"), 1),
        (("--like", "ranx", "--other-truth", "theirs.csv", "--other-run", "run.csv"), 0),
    ],
)
def test_json_has_its_schema_and_the_status_says_whether_the_value_is_found(
    podium: Callable[..., Any], question: tuple[str, ...], status: int
) -> None:
    options = ("-m", "ndcg@2", *question, "--format", "json")
    done = podium("explain", "truth.csv", "run.csv", *options)
    assert done.status == status
    jsonschema.validate(json.loads(done.out), json.loads(SCHEMA.read_text(encoding="utf-8")))


REFUSED = """
--value 40.33 | --value ndcg@10 40.33
--value 0.4 | --value 3
--value 0.40 -m ndcg@2 | --value
--value x | --value 'x'
--like lucene | --like trec_eval
-m coverage@5 | coverage@5
--other-run none.csv | none.csv
--value 0.4033 --value 0.500 | MEASURE=X
--value truth.csv | names no measure
--values theirs.json | TRUTH 'no effect' --values
"""


def test_every_deviation_is_on_the_page() -> None:
    ours = {n for n, d in DEVIATIONS.items() if d.function.__module__.startswith("podium.")}
    assert ours <= set(re.findall(r"`([\w-]+)`", SEARCH))


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_program_of_the_page_has_the_causes_that_it_shows(podium: Callable[..., Any]) -> None:
    podium("explain", "--lists", "lists.json")
    subprocess.run(["node", DOCS / "explain.js"], check=True)
    done = podium("explain", "--values", "values.json")
    assert done.status == 1
    assert done.out.strip() in page("explain.md")


FORMS = {
    "means.json": '{"ndcg@2": 0.2865, "recall@2": 0.5000, "latency": 3}',
    "mteb.json": '{"scores": {"test": [{"ndcg_at_2": 0.2865, "recall_at_2": 0.5}]}}',
    "pytrec.json": '{"ann": {"recall_2": 0.5}, "ben": {"recall_2": 0.5}, "cat": {"recall_2": 1.0}}',
    "rows.csv": "measure,value\nndcg@2,0.2865\nrecall@2,0.5000\n",
    "wide.csv": "qid,recall@2\nann,0.5\nben,0.5\ncat,1.0\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_result_files_of_other_tools_are_read(podium: Callable[..., Any], name: str) -> None:
    Path(name).write_text(FORMS[name], encoding="utf-8")
    answer = podium("explain", "truth.csv", "run.csv", "--value", name, "--format", "json")
    found = json.loads(answer.out)["search"]
    assert {} in found["matches"][0]["changes"], found["matches"][:1]


def test_runs_that_measure_refuses_are_explained(podium: Callable[..., Any]) -> None:
    text = Path("run.csv").read_text(encoding="utf-8")
    Path("run.csv").write_text(f"{text}ben,tea,0.75\n", encoding="utf-8")
    assert podium("measure", "truth.csv", "run.csv", "-m", "recall@2").status == 2
    users = '{"recall@2": {"ann": 0.5, "ben": 1.0, "cat": 1.0}}'
    Path("twice.json").write_text(users, encoding="utf-8")
    answer = podium("explain", "truth.csv", "run.csv", "--value", "twice.json", "--format", "json")
    found = json.loads(answer.out)
    assert found["n_repeated"] == 1
    causes = [change for match in found["search"]["matches"] for change in match["changes"]]
    assert {"reading": "duplicates-twice"} in causes


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    refuses("explain truth.csv run.csv", REFUSED)
    refuses("explain", "--values theirs.json | list of --lists")


def test_options_beside_lists_are_refused(podium: Any) -> None:
    done = podium("explain", "--lists", "lists.json", "--like", "recbole")
    assert (done.status, Path("lists.json").exists()) == (2, False)
    assert "--like has no effect with --lists." in done.err
