"""docs/factorization.md and docs/ray.md: the tables are those of the code."""

from __future__ import annotations

import inspect
import re
from typing import Any

from tests.pages.page import code, page, section

from podium.recommenders import Factorization
from podium.recommenders.factorization._plan import choose_n_blocks

PARAMETERS, RAY_PAGE = section("factorization.md", "Parameters"), page("ray.md")


def test_settings_of_the_page_are_the_models() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", PARAMETERS, re.M)
    defaults = {name: p.default for name, p in inspect.signature(Factorization).parameters.items()}
    assert len(rows) == 12
    for name, said in rows:
        assert said.strip("`") == (
            f'"{defaults[name]}"' if isinstance(defaults[name], str) else str(defaults[name])
        )


def test_ray_page_models_what_its_table_says() -> None:
    names: dict[str, Any] = {}
    (block,) = (text for text in code(RAY_PAGE, "python") if "def seconds_a_pass" in text)
    exec(compile(block, "ray.md", "exec"), names)
    (heads,) = re.findall(r"^\| machines \|(.*)\|$", RAY_PAGE, re.M)
    columns = [int(n_blocks) for n_blocks in re.findall(r"(\d+) blocks", heads)]
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) s \| ([\d.]+) s \| ([\d.]+) s \|$", RAY_PAGE, re.M)
    assert len(rows) == 5
    for machines, *said in rows:
        seconds = [names["seconds_a_pass"](int(machines), n_blocks) for n_blocks in columns]
        assert [f"{value:.1f}" for value in seconds] == said
    assert choose_n_blocks(1_129_318, 386_133, 49_824_519, 64) == columns[0]
