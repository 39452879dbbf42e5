"""docs/letor.md: the table of cutoffs."""

from __future__ import annotations

import re

from tests.pages.page import page

from podium import losses

PAGE = page("letor.md")


def test_page_names_every_loss_that_has_a_head() -> None:
    heads = {name for name, cls in losses.REGISTRY.items() if getattr(cls, "head_cutoff", False)}
    heads -= {"lambdarank", "approx-ndcg", "sl"}  # not losses of the paper
    (line,) = (x for x in PAGE.splitlines() if x.startswith("| `listmle`"))
    assert set(re.findall(r"`([a-z]+)`", line)) == heads
