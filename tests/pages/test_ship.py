"""docs/ship.md and evidence.md: scripts, statuses and shares of false claims."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.pages.page import code, section, shell

PAGE = section("ship.md", "Exit status and CI")
STATUSES = {0: "ship", 1: "keep the base", 3: "measure more users"}
RUNS = (
    "popularity",
    "item-similarity",
    "logistic-regression",
    "pap-10-ranker",
    "pap-k-surrogate",
)


def scripts() -> dict[str, str]:
    """Return the shell script and the steps of the page, by name."""
    (script,), (file,) = code(PAGE, "sh"), code(PAGE, "yaml")
    install, decide, show = re.findall(r"^      - run: (.*)$", file, re.M)
    assert len(file.splitlines()) == 10
    assert install.startswith("pip install -c podium/constraints.txt ")
    return {"script": script, "decide": decide, "show": show}


@pytest.fixture
def small() -> None:
    """Write files with the names of the demo's: 60 users with 3 of 30 items, and noisy runs."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(60), 30)
    item = np.tile(np.arange(30), 60)
    is_relevant = rng.random((60, 30)).argsort(axis=1).ravel() < 3
    pl.DataFrame({"user": user[is_relevant], "item": item[is_relevant]}).write_parquet(
        "truth.parquet"
    )
    for gain, name in enumerate(RUNS):
        score = gain * is_relevant + rng.normal(size=user.size)
        frame = pl.DataFrame({"user": user, "item": item, "score": score})
        frame.write_parquet(f"run-{name}.parquet")


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_scripts_of_the_page_write_files_and_keep_the_status() -> None:
    steps = scripts()
    done = shell(steps["script"])
    assert (done.stderr, done.stdout.splitlines()[-1]) == ("", STATUSES[done.returncode])
    assert Path("gate.xml").read_text(encoding="utf-8").count("<testcase ") == 4
    for copy, run in (("base", "popularity"), ("candidate", "pap-10-ranker")):
        shutil.copy(f"run-{run}.parquet", f"{copy}.parquet")
    again = shell(steps["decide"])
    assert (again.stderr, again.returncode) == ("", done.returncode)
    assert shell(steps["show"]).returncode == 0
    assert Path("summary.md").read_text(encoding="utf-8").startswith("### ")


@pytest.mark.usefixtures("small")
def test_table_of_statuses_is_that_of_the_command(podium: Callable[..., Any]) -> None:
    order = re.search(r"^\| decision \|(.*)\|$", PAGE, re.M)
    assert order is not None
    fail_on = re.findall(r"`(?:--fail-on )?([\w-]+)`", order[1])
    pairs = {
        "pass, and the primary measure is superior": ("popularity", "pap-10-ranker", "0"),
        "pass, and the primary measure is non-inferior": (
            "pap-k-surrogate",
            "pap-10-ranker",
            "0.5",
        ),
        "pass, and the runs are equal": ("popularity", "popularity", "0"),
        "cannot tell": ("pap-k-surrogate", "pap-10-ranker", "0"),
        "fail": ("pap-10-ranker", "popularity", "0"),
    }
    for decision, (base, candidate, margin) in pairs.items():
        (row,) = re.findall(rf"^\| {decision} \|(.* \d) \|$", PAGE, re.M)
        for least, status in zip(fail_on, row.split("|"), strict=True):
            runs = (f"run-{base}.parquet", f"run-{candidate}.parquet")
            done = podium("gate", "truth.parquet", *runs, "--margin", margin, "--fail-on", least)
            assert done.status == int(status), (decision, least)


@pytest.mark.usefixtures("small")
def test_pytest_example_of_the_page_fails_without_a_pass() -> None:
    (example,) = code(PAGE, "python")
    names: dict[str, Any] = {}
    exec(compile(example, "page.md", "exec"), names)
    names["test_candidate_may_replace_the_base"]()
    shutil.copy("run-pap-k-surrogate.parquet", "run-popularity.parquet")  # as good
    with pytest.raises(AssertionError, match="Can't tell"):
        names["test_candidate_may_replace_the_base"]()
