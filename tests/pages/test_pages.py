"""Every page of the documentation: its code runs and prints what it shows, its links lead on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.pages import page as pages
from tests.pages.page import Block, Runner

from podium import compare
from podium.cli import COMMANDS
from podium.recommenders import Factorization

TEXT = ("text", "{toctree}", "{glossary}", "{literalinclude}", "{include}")
"""The kinds of blocks that are no code."""

NEEDS: dict[str, str] = {
    "../README.md": "demo long",
    "agents.md": "demo long",
    "boosting.md": "rows xgboost long",
    "compare.md": "demo long",
    "factorization.md": "movielens purchases long",
    "letor.md": "ohsumed",
    "listwise.md": "torch",
    "processes.md": "days long",
    "ray.md": "purchases ray long",
    "results.md": "mlflow",
    "sampled.md": "sampled long",
    "ship.md": "demo long",
    "sound.md": "shop_parts",
    "spark.md": "spark long",
    "start.md": "ratings_files",
    "train.md": "feature_files",
    "tuning.md": "rows feature_files purchases grid_search long",
}
"""The fixtures that a page needs, and "long"."""

TOLERANCES: dict[str, float] = {"factorization.md": 5e-3, "letor.md": 2e-3}
"""The pages whose numbers depend on the type of the processor; see `Runner`."""

OWN_DATA = ("factorization.md", "sampled.md", "train.md")
"""The pages whose commands run on small files, so that their outputs differ from those shown."""

NOT_RUN: dict[tuple[str, str], str] = {
    (
        "../README.md",
        "make demo                # which 10 products should be recommended to each customer?",
    ): "it installs podium",
    (
        "factorization.md",
        "$ podium train past.csv --model factorization --out model",
    ): "a signal interrupts it: tests/cli/test_factorization.py",
    (
        "explain.md",
        "$ podium explain --values values.json",
    ): "it needs node: tests/cli/test_explain.py",
    ("ray.md", "$ podium measure truth/ run/ --ray local --workers 2"): "it "
    "needs a cluster: tests/unit/test_executors_ray.py",
    ("ray.md", "head$  ray start --head --port 6379"): "it needs several machines",
    ("ship.md", "on: pull_request"): "tests/pages/test_ship.py runs the steps",
    ("start.md", "python3 -m venv .venv"): "it installs podium: make wheel",
    (
        "start.md",
        "podium split onlineretail.parquet --by time --valid 0.1 --task new --unique count \\",
    ): "tests/cli/test_split.py runs it",
    (
        "tuning.md",
        (
            "$ podium train past.csv --model factorization --tune --budget 10m "
            "--tune-table trials.parquet --out model"
        ),
    ): "it takes ten minutes: tests/cli/test_factorization.py",
    (
        "tuning.md",
        "$ podium train ratings.parquet --loss pap-ramp -k 10 --tune --folds 5 --jobs -1 \\",
    ): "the Python of the page does the same",
    ("ship.md", "status=0"): "tests/pages/test_ship.py runs it for each decision",
}
"""The blocks that do not run, by page and first line, each with the reason."""


def _code(name: str) -> list[Block]:
    return [block for block in pages.blocks(pages.page(name)) if block.kind not in TEXT]


def _needs(name: str) -> list[str]:
    return NEEDS.get(name, "few" if name.startswith(("coming-from/", "protocol")) else "").split()


def _parameters() -> list[Any]:
    names = [name for name in pages.paths() if _code(name)]
    return [pytest.param(n, marks=[pytest.mark.long] * ("long" in _needs(n))) for n in names]


@pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
@pytest.mark.parametrize("name", _parameters())
def test_code_of_the_page_runs(
    name: str,
    request: pytest.FixtureRequest,
    podium: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = _needs(name)
    names: dict[str, Any] = {}
    for fixture in (word for word in words if word != "long"):
        names |= request.getfixturevalue(fixture) or {}
    runner = Runner(podium, capsys, names, TOLERANCES.get(name, 0.0), name in OWN_DATA)
    for block in _code(name):
        if (name, block.name) not in NOT_RUN:
            runner.run(block)


@pytest.mark.parametrize("name", [*pages.paths(), "../llms.txt"])
def test_links_lead_somewhere(name: str) -> None:
    assert pages.lost_links(name) == []


@pytest.mark.parametrize("name", pages.guides())
def test_page_begins_with_its_sections_and_ends_with_where_to_go_next(name: str) -> None:
    text = pages.page(name)
    last = pages.prose(text).rstrip().rpartition("\n\n")[2]
    assert last.startswith("Next: ")
    assert "](" in last
    if len(text.splitlines()) > 200:
        contents = text.split("On this page:\n")[1].split("\n## ")[0]
        assert set(pages.sections(text)) <= set(re.findall(r"\]\(#(.*?)\)", contents))


def test_commands_for_agents_exist_and_are_run() -> None:
    known = {command.__name__ for commands in COMMANDS.values() for command in commands}
    listed = re.findall(r"^- `podium (\w+)`", pages.page("../llms.txt"), re.M)
    ten = pages.section("agents.md", "Ten commands")
    assert len(listed) == 10
    assert sorted(listed) == sorted(re.findall(r"^podium (\w+)", ten, re.M))
    assert set(listed) <= known


def test_pages_are_two_clicks_from_the_index() -> None:
    first = pages.linked("index.md")
    assert set(pages.guides()) <= first.union(*(pages.linked(name) for name in first))


def test_what_does_not_run_exists() -> None:
    there = {(name, block.name) for name in pages.paths() for block in _code(name)}
    assert NOT_RUN.keys() <= there
    assert NEEDS.keys() <= set(pages.paths())


def test_parameters_of_the_factorization_are_those_of_its_page() -> None:
    text = pages.section("factorization.md", "Parameters")
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", text, re.M)
    defaults = {name: p.default for name, p in inspect.signature(Factorization).parameters.items()}
    assert len(rows) == 10
    for name, said in rows:
        assert said.replace('"', "").strip("`") == str(defaults[name])


def test_judging_the_labels_of_the_page_settles_the_order() -> None:
    text = pages.section("compare.md", "Unjudged items")
    (tables,) = pages.code(text, "sh")
    assert pages.shell(tables).returncode == 0
    header, *rows = Path("truth.csv").read_text(encoding="utf-8").splitlines()
    judged = [line for line in text.splitlines() if line.startswith("precision@2,")]
    rows = [f"{row},1" for row in rows] + [f"{line.split(',', 3)[3]},0" for line in judged]
    Path("truth.csv").write_text("\n".join([f"{header},relevance", *rows]), encoding="utf-8")
    runs = {"old": "old.csv", "new": "new.csv"}
    result = compare("truth.csv", runs, "precision@2", unjudged="bounds")
    unjudged = result.difference("precision@2", "new").unjudged
    assert unjudged is not None
    assert not unjudged.can_reverse
