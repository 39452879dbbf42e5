"""docs/factorization.md and docs/ray.md: their Python runs and gives what they say."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from podium.recommenders import Factorization
from podium.recommenders.factorization._plan import choose_n_blocks

DOCS = Path(__file__).parents[2] / "docs"
PAGE, RAY_PAGE = ((DOCS / name).read_text() for name in ("factorization.md", "ray.md"))


def _blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)


@pytest.mark.long
def test_python_of_the_page_gives_the_documented_values(
    podium_data: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "u.data.gz").symlink_to(podium_data("ml-100k/u.data.gz").resolve())
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in _blocks(PAGE):
        exec(compile(block, "factorization.md", "exec"), names)
    said = re.search(r"`found.means` is ndcg@10 (\S+) and pap@10 (\S+)\.\s", PAGE)
    assert said is not None
    means = names["found"].means
    assert [means["ndcg@10"], means["pap@10"]] == pytest.approx(
        [float(value) for value in said.groups()], abs=0.006
    )
    assert names["items"].shape == (2, 5)
    assert names["model"].user_factors_.shape == (944, 32)
    assert np.array_equal(names["again"].item_factors_, names["model"].item_factors_)


def test_settings_of_the_page_are_the_models() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", PAGE, re.M)
    defaults = {name: p.default for name, p in inspect.signature(Factorization).parameters.items()}
    assert len(rows) == 6
    for name, said in rows:
        assert said.strip("`") == (
            f'"{defaults[name]}"' if isinstance(defaults[name], str) else str(defaults[name])
        )


def test_ray_page_models_what_its_table_says() -> None:
    names: dict[str, Any] = {}
    (block,) = (block for block in _blocks(RAY_PAGE) if "def seconds_a_pass" in block)
    exec(compile(block, "ray.md", "exec"), names)
    (heads,) = re.findall(r"^\| machines \|(.*)\|$", RAY_PAGE, re.M)
    columns = [int(n_blocks) for n_blocks in re.findall(r"(\d+) blocks", heads)]
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) s \| ([\d.]+) s \| ([\d.]+) s \|$", RAY_PAGE, re.M)
    assert len(rows) == 5
    for machines, *said in rows:
        seconds = [names["seconds_a_pass"](int(machines), n_blocks) for n_blocks in columns]
        assert [f"{value:.1f}" for value in seconds] == said
    assert choose_n_blocks(1_129_318, 386_133, 49_824_519, 64) == columns[0]


@pytest.mark.long
def test_python_of_the_ray_page_runs() -> None:
    pytest.importorskip("ray", reason="Ray is absent: pip install 'podium[ray]'")
    rng = np.random.default_rng(0)
    names: dict[str, Any] = {
        "user_items": csr_array((rng.random((40, 30)) < 0.2).astype(float)),
        "new_users": csr_array((rng.random((5, 30)) < 0.2).astype(float)),
    }
    exec(compile(_blocks(RAY_PAGE)[0], "ray.md", "exec"), names)
    assert names["model"].n_epochs_ == 2


@pytest.mark.parametrize("page", [PAGE, RAY_PAGE])
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page)
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []
