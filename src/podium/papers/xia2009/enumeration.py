"""The theory of xia2009 by enumeration: which losses find the best top k, on which spaces.

Three kinds of cells: each loss in each form on random spaces of a size, what the theory asks of
spaces themselves, and the three-object space of proposition 10 as its probability moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from podium.losses import Loss
from podium.papers import views
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, Study, generator, key, mean, parts
from podium.papers.views import select
from podium.papers.xia2009.consistency import (
    Minimum,
    Space,
    agreement,
    is_order_preserving,
    meets_theorem_6,
    minimise,
    preserved_pairs,
    sensitivity,
)
from podium.papers.xia2009.enumeration_losses import NAMES, made
from podium.report import Figure, Table

_N_STARTS = 3  # for RankCosine, whose expectation falls from everywhere to one direction
_BISECTIONS = 30  # of p1: to 1e-9
_LISTWISE = ("listmle", "listnet", "rankcosine", "permutation-cross-entropy")
_KINKED = "pairwise-hinge"

Row = tuple[Mapping[str, str], Result]
"""The parts of a cell's key, and its result."""


def cells(recipe: Recipe) -> Sequence[str]:
    """Return a cell for each size and loss, for each size alone, and for each loss's curve."""
    sizes = [tuple(size) for size in recipe.parameters["sizes"]]
    losses = recipe.parameters["losses"]
    return [
        *(
            key(part="loss", n=n, k=k, loss=name, form=form)
            for n, k in sizes
            for name, forms in losses.items()
            for form in forms
        ),
        *(key(part="spaces", n=n, k=k) for n, k in sizes),
        *(
            key(part="proposition 10", loss=name, form=form)
            for name, form in recipe.parameters["curves"]
        ),
    ]


def run(recipe: Recipe, context: Any, cell: str) -> Result:
    """Do one cell."""
    asked = parts(cell)
    if asked["part"] == "proposition 10":
        return curve(recipe, made(asked["loss"], asked["form"], 1))
    n, k = int(asked["n"]), int(asked["k"])
    if asked["part"] == "spaces":
        return conditions(recipe, n, k)
    return on_spaces(recipe, made(asked["loss"], asked["form"], k), n, k)


def on_spaces(recipe: Recipe, loss: Loss, n: int, k: int) -> dict[str, Any]:
    """Search for counter-examples, and minimise on every drawn space."""
    searched = sensitivity(loss, n, k, n_random=recipe.parameters["n_random_scores"])
    found: dict[str, Any] = {"violated": list(searched.violated), "n_scores": searched.n_scores}
    for kind in ("preserving", "arbitrary"):
        spaces = drawn(recipe, kind, n, k)
        minima = [minimise(space, loss, n_starts=_N_STARTS) for space in spaces]
        compared = [
            agreement(space, loss, k, minimum=minimum)
            for space, minimum in zip(spaces, minima, strict=True)
        ]
        found[kind] = {
            "consistent": [float(each.consistent) for each in compared],
            "regret": [each.regret for each in compared],
            "tied": sum(each.tied for each in compared),
            "unbounded": sum(not each.minimum.finite for each in compared),
        }
        if kind == "preserving":
            found["pairs"], found["wrong pairs"] = theorem_7(spaces, minima, k)
    return found


def theorem_7(spaces: Sequence[Space], minima: Sequence[Minimum], k: int) -> tuple[int, int]:
    """Count pairs that a space is order preserving for, and those that a minimiser has wrong."""
    n_pairs = n_wrong = 0
    for space, minimum in zip(spaces, minima, strict=True):
        pairs = preserved_pairs(space, k)
        n_pairs += len(pairs)
        n_wrong += sum(bool(minimum.gaps[i, j] <= 0.0) for i, j in pairs)
    return n_pairs, n_wrong


def drawn(recipe: Recipe, kind: str, n: int, k: int) -> list[Space]:
    """Draw the spaces of one kind and size: the same for every loss."""
    rng = generator(recipe, kind, n, k)
    shape = recipe.parameters["concentration"]
    return [
        Space.random(n, rng, concentration=shape)
        if kind == "arbitrary"
        else Space.random_order_preserving(n, k, rng, concentration=shape)
        for _ in range(recipe.parameters["spaces"])
    ]


def conditions(recipe: Recipe, n: int, k: int) -> dict[str, Any]:
    """Measure how often arbitrary spaces meet the theory's condition, and proposition 8."""
    rng = generator(recipe, "conditions", n, k)
    arbitrary = [Space.random(n, rng) for _ in range(recipe.parameters["many_spaces"])]
    deeper = min(k + 1, n)
    up, n_up = _held(arbitrary, k, deeper)
    down, n_down = _held([*arbitrary, *drawn(recipe, "preserving", n, deeper)], deeper, k)
    return {
        "meets": [float(meets_theorem_6(space, k)) for space in arbitrary],
        "pairs": n_up / (len(arbitrary) * n * (n - 1) / 2),
        "proposition 8, pairs": n_down,
        "proposition 8, broken": n_down - down,
        "converse, pairs": n_up,
        "converse, holds": up,
    }


def _held(spaces: Iterable[Space], k: int, other: int) -> tuple[int, int]:
    """Return how many pairs that are order preserving at the top k are so at another, of all."""
    found = [
        is_order_preserving(space, i, j, other)
        for space in spaces
        for i, j in preserved_pairs(space, k)
    ]
    return sum(found), len(found)


def curve(recipe: Recipe, loss: Loss) -> dict[str, Any]:
    """Follow the lead of object 1 as p1 grows, and find where it comes first."""
    low, high, n_points = recipe.parameters["p1"]
    grid: list[float] = [low + (high - low) * i / (n_points - 1) for i in range(n_points)]
    leads = [lead(loss, p1) for p1 in grid]
    return {"p1": grid, "lead": leads, "first from": _first_from(loss, grid, leads)}


def lead(loss: Loss, p1: float) -> float:
    """Return by how much object 1 leads the best other, as a share of the scores' spread."""
    p2 = (1.0 - p1) / 2.0
    space = Space.from_orders({(0, 1, 2): p1, (1, 0, 2): p2, (2, 1, 0): p2})
    found = minimise(space, loss)
    spread = float(np.ptp(found.scores))
    return float(found.gaps[0, 1:].min()) / spread if spread > 0.0 else 0.0


def _first_from(loss: Loss, grid: Sequence[float], leads: Sequence[float]) -> float:
    """Return the least p1 from which object 1 comes first up to the end of the grid."""
    behind = [i for i, each in enumerate(leads) if each <= 0.0]
    if not behind:
        return 1.0 / 3.0
    if behind[-1] == len(grid) - 1:
        return math.nan
    low, high = grid[behind[-1]], grid[behind[-1] + 1]
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if lead(loss, middle) > 0.0 else (middle, high)
    return high


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return what the paper's claims are about."""
    rows, curves = select(cells, part="loss"), select(cells, part="proposition 10")
    figures = _of_losses(rows) | _of_minimisers(rows) | _of_spaces(select(cells, part="spaces"))
    for asked, found in curves:
        first = f"{_name(asked)}: object 1 first from p1 ="
        figures[first] = Measured(found["first from"])
    for asked, found in curves:
        behind = [lead <= 0.0 for lead in found["lead"]]
        share = f"{_name(asked)}: share of p1 > p2 with another object first"
        figures[share] = Measured(sum(behind) / len(behind), n=len(behind))
    return figures


def _of_losses(rows: Sequence[Row]) -> dict[str, Measured]:
    """Count violations of definition 3, by what the paper says of which losses."""
    violated = [(a, len(r["violated"])) for a, r in rows]
    top = [(a["loss"], n) for a, n in violated if a["form"] == "top-k"]
    luce = [(a, n) for a, n in violated if a["loss"] == "listnet-luce"]
    original = [n for a, n in violated if _is_original(a) and _is_short(a)]

    def share(found: Iterable[int]) -> Measured:
        return mean(float(n > 0) for n in found)

    return {
        **{
            f"conditions that {NAMES[name]} at the top k violates": _count(
                n for loss, n in top if loss == name
            )
            for name in _LISTWISE
        },
        "original listwise losses, k < n - 1: share that violates definition 3": share(original),
        **{
            f"Luce cross entropy, {said}: share that violates definition 3": share(
                n for a, n in luce if _is_short(a) == short
            )
            for said, short in (("k < n - 1", True), ("k = n - 1", False))
        },
        "conditions that smooth pointwise and pairwise losses at the top k violate": _count(
            n for loss, n in top if loss not in (*_LISTWISE, _KINKED)
        ),
    }


def _of_minimisers(rows: Sequence[Row]) -> dict[str, Measured]:
    """Measure how often the head is the Bayes rankers' where theorem 6 speaks."""
    found = [(a, r["preserving"]["consistent"]) for a, r in rows if _is_original(a)]
    short, whole = (
        mean(each for a, flags in found if _is_short(a) == asked for each in flags)
        for asked in (True, False)
    )
    top = [(a, r) for a, r in rows if a["form"] == "top-k"]
    kept = [r for a, r in top if a["loss"] != _KINKED]
    return {
        "theorem 6: share of spaces, smooth losses at the top k": mean(
            each for r in kept for each in r["preserving"]["consistent"]
        ),
        "theorem 7: pairs that smooth losses at the top k have wrong": _count(
            r["wrong pairs"] for r in kept
        ),
        "theorem 7: pairs tried": _count(r["pairs"] for r in kept),
        "theorem 7: pairs that the hinge at the top k has wrong": _count(
            r["wrong pairs"] for a, r in top if a["loss"] == _KINKED
        ),
        "original listwise losses, k < n - 1: share of spaces": short,
        "original listwise losses, k = n - 1: share of spaces missed": Measured(1.0 - whole.value),
    }


def _of_spaces(rows: Sequence[Row]) -> dict[str, Measured]:
    meets = {
        f"arbitrary spaces that meet theorem 6, n = {a['n']}, k = {a['k']}": mean(r["meets"])
        for a, r in rows
    }
    short = [r for a, r in rows if _is_short(a)]
    n_pairs, n_held = (sum(r[f"converse, {what}"] for r in short) for what in ("pairs", "holds"))
    return {
        **meets,
        "proposition 8: pairs lost from the top k + 1 to the top k": _count(
            r["proposition 8, broken"] for _, r in rows
        ),
        "proposition 8: pairs lost from the top k to the top k + 1, k < n - 1": Measured(
            float(n_pairs - n_held), n=n_pairs
        ),
    }


def _is_original(asked: Mapping[str, str]) -> bool:
    return asked["form"] == "original" and asked["loss"] in _LISTWISE


def _is_short(asked: Mapping[str, str]) -> bool:
    return int(asked["k"]) < int(asked["n"]) - 1


def _count(values: Iterable[float]) -> Measured:
    return Measured(float(sum(values)))


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return proposition 10's curves, and how often each loss finds the best object."""
    return [
        _curves(select(cells, part="proposition 10")),
        _shown(cells, "preserving"),
        _shown(cells, "arbitrary"),
    ]


def _curves(rows: Sequence[Row]) -> Figure:
    """Draw the original losses; all at the top 1 lead by the whole spread, so one is enough."""
    shown = [(a, r) for a, r in rows if a["form"] == "original" or a["loss"] == "listmle"]
    return views.lines(
        "Proposition 10: the lead of object 1, the most probable first",
        [views.curve(_name(a), r["p1"], r["lead"]) for a, r in shown],
        "p1 = p(123); p(213) = p(321) = (1 − p1) / 2",
        "score of object 1 less the best other, by the spread of the scores",
        caption="Below 0 another object is shown first, though object 1 is the most probable "
        "first at every p1 above 1/3. RankCosine, squared and pairwise logistic all but coincide.",
    )


def _shown(cells: Cells, kind: str) -> Figure:
    n, k = "4", "1"
    rows = select(cells, part="loss", n=n, k=k)
    what = "spaces as theorem 6 asks for" if kind == "preserving" else "arbitrary spaces"
    return views.intervals(
        f"Top {k} of {n} objects: {what}",
        {
            NAMES[name]: [_interval(a["form"], r[kind]) for a, r in rows if a["loss"] == name]
            for name in dict.fromkeys(a["loss"] for a, _ in rows)
        },
        axis_label="share of spaces whose Bayes top k the minimiser shows",
        caption="Intervals of 95 % (Wilson's).",
    )


def _interval(form: str, found: Mapping[str, Any]) -> Mapping[str, Any]:
    share, n = mean(found["consistent"]).value, len(found["consistent"])
    extra = views.Z**2 / n
    middle = (share + extra / 2) / (1 + extra)
    half = (views.Z / n**0.5) * (share * (1 - share) + extra / 4) ** 0.5 / (1 + extra)
    low, high = min(share, middle - half), max(share, middle + half)
    return {"label": form, "value": share, "low": low, "high": high, "series": form}


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return the study itself, size by size."""
    sizes = dict.fromkeys((a["n"], a["k"]) for a, _ in select(cells, part="loss"))
    return [_conditions(cells), *(_study(cells, n, k) for n, k in sizes)]


def _study(cells: Cells, n: str, k: str) -> Table:
    rows = [
        [
            NAMES[a["loss"]],
            a["form"],
            ", ".join(r["violated"]) or "none found",
            *(_percent(r[kind]["consistent"]) for kind in ("preserving", "arbitrary")),
            *(max(r[kind]["regret"]) for kind in ("preserving", "arbitrary")),
            r["preserving"]["tied"] + r["arbitrary"]["tied"],
        ]
        for a, r in select(cells, part="loss", n=n, k=k)
    ]
    return {
        "columns": [
            "loss",
            "form",
            "violates of definition 3",
            "% Bayes, theorem 6",
            "% Bayes, arbitrary",
            "regret, theorem 6",
            "regret, arbitrary",
            "ties decide",
        ],
        "rows": rows,
        "caption": f"n = {n}, k = {k}. % Bayes: spaces whose most probable head of {k} every "
        "minimiser shows, ties against it; regret: the largest loss of probability; ties decide: "
        "spaces where some ways to break a minimiser's ties show it and others do not.",
        "digits": 3,
    }


def _conditions(cells: Cells) -> Table:
    return {
        "columns": ["n", "k", "% that meet theorem 6", "% of pairs order preserving", "at k + 1"],
        "rows": [
            [
                int(a["n"]),
                int(a["k"]),
                _percent(r["meets"]),
                100 * r["pairs"],
                100 * r["converse, holds"] / r["converse, pairs"],
            ]
            for a, r in select(cells, part="spaces")
        ],
        "caption": "Arbitrary spaces: how many have the n − 1 pairs of theorem 6, how many pairs "
        "are order preserving at the top k, and how many of these still are at the top k + 1.",
        "digits": 1,
    }


def _percent(flags: Sequence[float]) -> float:
    return 100.0 * sum(flags) / len(flags)


def _name(asked: Mapping[str, str]) -> str:
    name = NAMES[asked["loss"]]
    return f"{name}, top 1" if asked["form"] == "top-k" else name


STUDY = Study(cells, run, fold, plots=plots, tables=tables)
"""The printed study of top-k consistency."""
