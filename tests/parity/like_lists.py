"""The lists on which podium, with ``like=``, and other packages are compared.

This file draws with Python's own generator and needs no package, so that the environments of all
packages draw the same lists.
"""

from __future__ import annotations

import random
from typing import Any

Table = dict[Any, dict[Any, float]]

N_USERS, N_ITEMS = 40, 60
LENGTHS = (2, 3, 8, 15, 30)
LEVELS = (-1.5, -0.5, 0.0, 0.5, 1.5)
"""The scores of tied lists: of both signs, and zero."""


def lists(
    *,
    graded: bool = False,
    tied: bool = False,
    empty: bool = False,
    missing: bool = False,
    whole: bool = False,
    text: bool = False,
) -> tuple[Table, Table]:
    """Return a truth and a run: the grades and the scores of items, by user.

    Parameters
    ----------
    graded : bool
        Whether grades are from 0 to 3. If not, they are 0 or 1.
    tied : bool
        Whether lists contain equal scores, and scores that are equal in single precision only. If
        not, scores are multiples of 1/8 of both signs, all different.
    empty : bool
        Whether some users have no positive item.
    missing : bool
        Whether some users of the truth have no list.
    whole : bool
        Whether each list contains all items. If not, lists have different lengths, and lack some
        of the items of the truth.
    text : bool
        Whether ids are text. If not, they are integers.
    """
    rng = random.Random(2021)
    truth: Table = {}
    run: Table = {}
    for u in range(N_USERS):
        user = f"u{u}" if text else u
        items = [f"d{i}" if text else i for i in range(N_ITEMS)]
        judged = rng.sample(items, rng.randint(2, 20))
        listed = rng.sample(items, N_ITEMS if whole else rng.choice(LENGTHS))
        scores = _tied(rng, len(listed)) if tied else _distinct(rng, len(listed))
        if empty and u % 8 == 0:
            truth[user] = dict.fromkeys(judged, 0)
        else:
            grades = (0, 0, 1, 2, 3) if graded else (0, 1)
            truth[user] = {item: rng.choice(grades) for item in judged} | {judged[0]: 1}
        if not (missing and u % 7 == 0):
            run[user] = dict(zip(listed, scores, strict=True))
    return truth, run


def past() -> list[tuple[int, int]]:
    """Return past interactions: pairs of a user and an item, each pair once."""
    rng = random.Random(2022)
    return [(u, i) for u in range(N_USERS) for i in rng.sample(range(N_ITEMS), 1 + u % 9)]


def _tied(rng: random.Random, n: int) -> list[float]:
    levels = [rng.choice(LEVELS) for _ in range(n)]
    return [s and s + rng.choice((0.0, 0.0, 1e-9)) for s in levels]


def _distinct(rng: random.Random, n: int) -> list[float]:
    return [(rank - n // 2) / 8 for rank in rng.sample(range(n), n)]
