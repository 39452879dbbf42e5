"""The theory of xia2009 by enumeration: the losses that find the best top k, by space.

There are three kinds of cells: a loss in a form on random spaces of a size, the theory's condition
on spaces of a size, and a loss on the three-object space of proposition 10 as p1 varies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from podium.losses import Loss
from podium.report import Figure, Table
from podium_studies import views
from podium_studies.cells import generator, key, mean, select, sweep
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Measured, Result, Study
from podium_studies.xia2009.consistency import (
    Minimum,
    Space,
    agreement,
    is_order_preserving,
    meets_theorem_6,
    minimise,
    preserved_pairs,
    sensitivity,
)
from podium_studies.xia2009.enumeration_losses import NAMES, make_loss

_BISECTIONS = 30  # number of bisections of p1, for a precision of 1e-9


def curve(recipe: Recipe, loss: Loss) -> dict[str, Any]:
    """Return the lead of object 1 on a grid of p1, and the p1 from which it comes first."""
    low, high, n_points = recipe.parameters["p1"]
    grid: list[float] = [low + (high - low) * i / (n_points - 1) for i in range(n_points)]
    leads = [lead(loss, p1) for p1 in grid]
    return {"p1": grid, "lead": leads, "first from": _first_from(loss, grid, leads)}


def lead(loss: Loss, p1: float) -> float:
    """Return the lead of object 1 over the best other object, as a share of the scores' spread."""
    p2 = (1.0 - p1) / 2.0
    space = Space.from_orders({(0, 1, 2): p1, (1, 0, 2): p2, (2, 1, 0): p2})
    minimum = minimise(space, loss)
    spread = float(np.ptp(minimum.scores))
    return float(minimum.gaps[0, 1:].min()) / spread if spread > 0.0 else 0.0


def _first_from(loss: Loss, grid: Sequence[float], leads: Sequence[float]) -> float:
    """Return the least p1 from which object 1 comes first up to the end of the grid.

    The value is 1/3 if object 1 comes first on the whole grid, and nan if it does not at the end.
    """
    behind_positions = [i for i, lead_at_p1 in enumerate(leads) if lead_at_p1 <= 0.0]
    if not behind_positions:
        return 1.0 / 3.0
    if behind_positions[-1] == len(grid) - 1:
        return math.nan
    low, high = grid[behind_positions[-1]], grid[behind_positions[-1] + 1]
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if lead(loss, middle) > 0.0 else (middle, high)
    return high


_N_STARTS = 3  # enough for RankCosine, whose starts all lead to the same direction
_LISTWISE = ("listmle", "listnet", "rankcosine", "permutation-cross-entropy")
_KINKED = "pairwise-hinge"

Row = tuple[Mapping[str, Any], Result]
"""The fields of a cell's key, and the result of the cell."""


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield one key per size, loss and form, per size, and per curve of a loss."""
    sizes = recipe.parameters["sizes"]
    for (n, k), (name, forms) in itertools.product(sizes, recipe.parameters["losses"].items()):
        yield from sweep(part=["loss"], n=[n], k=[k], loss=[name], form=forms)
    yield from (key(part="spaces", n=n, k=k) for n, k in sizes)
    for name, form in recipe.parameters["curves"]:
        yield key(part="proposition 10", loss=name, form=form)


def run(recipe: Recipe, context: Any, part: str, **fields: Any) -> Result:
    """Return the result of one cell."""
    if part == "spaces":
        return conditions(recipe, **fields)
    loss = make_loss(fields["loss"], fields["form"], fields.get("k", 1))
    if part == "proposition 10":
        return curve(recipe, loss)
    return on_spaces(recipe, loss, fields["n"], fields["k"])


def on_spaces(recipe: Recipe, loss: Loss, n: int, k: int) -> dict[str, Any]:
    """Search for counter-examples to a loss, and minimise it on every drawn space."""
    search_result = sensitivity(loss, n, k, n_random=recipe.parameters["n_random_scores"])
    results: dict[str, Any] = {
        "violated": list(search_result.violated),
        "n_scores": search_result.n_scores,
    }
    for kind in ("preserving", "arbitrary"):
        spaces = drawn(recipe, kind, n, k)
        minima = [minimise(space, loss, n_starts=_N_STARTS) for space in spaces]
        agreements = [
            agreement(space, loss, k, minimum=minimum)
            for space, minimum in zip(spaces, minima, strict=True)
        ]
        results[kind] = {
            "consistent": [float(comparison.consistent) for comparison in agreements],
            "regret": [comparison.regret for comparison in agreements],
            "tied": sum(comparison.tied for comparison in agreements),
            "unbounded": sum(not comparison.minimum.finite for comparison in agreements),
        }
        if kind == "preserving":
            results["pairs"], results["wrong pairs"] = theorem_7(spaces, minima, k)
    return results


def theorem_7(spaces: Sequence[Space], minima: Sequence[Minimum], k: int) -> tuple[int, int]:
    """Return the number of order preserving pairs, and of those that minimisers order wrongly."""
    n_pairs = n_wrong = 0
    for space, minimum in zip(spaces, minima, strict=True):
        pairs = preserved_pairs(space, k)
        n_pairs += len(pairs)
        n_wrong += sum(bool(minimum.gaps[i, j] <= 0.0) for i, j in pairs)
    return n_pairs, n_wrong


def drawn(recipe: Recipe, kind: str, n: int, k: int) -> list[Space]:
    """Draw the spaces of one kind and size, which are the same for all losses."""
    rng = generator(recipe, kind, n, k)
    shape = recipe.parameters["concentration"]
    return [
        Space.random(n, rng, concentration=shape)
        if kind == "arbitrary"
        else Space.random_order_preserving(n, k, rng, concentration=shape)
        for _ in range(recipe.parameters["spaces"])
    ]


def conditions(recipe: Recipe, n: int, k: int) -> dict[str, Any]:
    """Measure how often arbitrary spaces meet theorem 6, and how often proposition 8 holds."""
    rng = generator(recipe, "conditions", n, k)
    arbitrary = [Space.random(n, rng) for _ in range(recipe.parameters["many_spaces"])]
    deeper = min(k + 1, n)
    n_up_held, n_pairs_up = _count_preserved(arbitrary, k, deeper)
    n_down_held, n_pairs_down = _count_preserved(
        [*arbitrary, *drawn(recipe, "preserving", n, deeper)], deeper, k
    )
    return {
        "meets": [float(meets_theorem_6(space, k)) for space in arbitrary],
        "pairs": n_pairs_up / (len(arbitrary) * n * (n - 1) / 2),
        "proposition 8, pairs": n_pairs_down,
        "proposition 8, broken": n_pairs_down - n_down_held,
        "converse, pairs": n_pairs_up,
        "converse, holds": n_up_held,
    }


def _count_preserved(spaces: Iterable[Space], k: int, other_k: int) -> tuple[int, int]:
    """Return (kept, total): order preserving pairs at k that are so at `other_k` too, and all."""
    is_preserved = [
        is_order_preserving(space, i, j, other_k)
        for space in spaces
        for i, j in preserved_pairs(space, k)
    ]
    return sum(is_preserved), len(is_preserved)


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the figures of the paper's claims."""
    rows, curves = select(cells, part="loss"), select(cells, part="proposition 10")
    figures = (
        _loss_figures(rows)
        | _minimiser_figures(rows)
        | _space_figures(select(cells, part="spaces"))
    )
    for fields, result in curves:
        first_label = f"{_name(fields)}: object 1 first from p1 ="
        figures[first_label] = Measured(result["first from"])
    for fields, result in curves:
        is_behind = [lead_at_p1 <= 0.0 for lead_at_p1 in result["lead"]]
        share_label = f"{_name(fields)}: share of p1 > p2 with another object first"
        figures[share_label] = Measured(sum(is_behind) / len(is_behind), n=len(is_behind))
    return figures


def _loss_figures(rows: Sequence[Row]) -> dict[str, Measured]:
    """Return the numbers of violations of definition 3 by the losses in the paper's claims."""
    violated = [(fields, len(result["violated"])) for fields, result in rows]
    top = [(fields["loss"], n) for fields, n in violated if fields["form"] == "top-k"]
    luce = [(fields, n) for fields, n in violated if fields["loss"] == "listnet-luce"]
    original = [n for fields, n in violated if _is_original(fields) and _is_short(fields)]

    def share(counts: Iterable[int]) -> Measured:
        return mean(float(n > 0) for n in counts)

    return {
        **{
            f"conditions that {NAMES[name]} at the top k violates": _count(
                n for loss, n in top if loss == name
            )
            for name in _LISTWISE
        },
        "original listwise losses, k < n - 1: share that violates definition 3": share(original),
        **{
            f"Luce cross entropy, {condition}: share that violates definition 3": share(
                n for fields, n in luce if _is_short(fields) == short
            )
            for condition, short in (("k < n - 1", True), ("k = n - 1", False))
        },
        "conditions that smooth pointwise and pairwise losses at the top k violate": _count(
            n for loss, n in top if loss not in (*_LISTWISE, _KINKED)
        ),
    }


def _minimiser_figures(rows: Sequence[Row]) -> dict[str, Measured]:
    """Return how often minimisers find the Bayes rankers' head on spaces that meet theorem 6."""
    original = [(fields, result) for fields, result in rows if _is_original(fields)]
    short_mean, long_mean = (
        _consistent(result for fields, result in original if _is_short(fields) == is_short)
        for is_short in (True, False)
    )
    top = [(fields, result) for fields, result in rows if fields["form"] == "top-k"]
    smooth = [result for fields, result in top if fields["loss"] != _KINKED]
    return {
        "theorem 6: share of spaces, smooth losses at the top k": _consistent(smooth),
        "theorem 7: pairs that smooth losses at the top k have wrong": _count(
            result["wrong pairs"] for result in smooth
        ),
        "theorem 7: pairs tried": _count(result["pairs"] for result in smooth),
        "theorem 7: pairs that the hinge at the top k has wrong": _count(
            result["wrong pairs"] for fields, result in top if fields["loss"] == _KINKED
        ),
        "original listwise losses, k < n - 1: share of spaces": short_mean,
        "original listwise losses, k = n - 1: share of spaces missed": Measured(
            1.0 - long_mean.value
        ),
    }


def _consistent(results: Iterable[Result]) -> Measured:
    """Return the share of spaces on which minimisers find the Bayes rankers' head."""
    return mean(flag for result in results for flag in result["preserving"]["consistent"])


def _space_figures(rows: Sequence[Row]) -> dict[str, Measured]:
    meets = {
        f"arbitrary spaces that meet theorem 6, n = {fields['n']}, k = {fields['k']}": mean(
            result["meets"]
        )
        for fields, result in rows
    }
    short_rows = [result for fields, result in rows if _is_short(fields)]
    n_pairs, n_held = (
        sum(result[f"converse, {quantity}"] for result in short_rows)
        for quantity in ("pairs", "holds")
    )
    return {
        **meets,
        "proposition 8: pairs lost from the top k + 1 to the top k": _count(
            result["proposition 8, broken"] for _, result in rows
        ),
        "proposition 8: pairs lost from the top k to the top k + 1, k < n - 1": Measured(
            float(n_pairs - n_held), n=n_pairs
        ),
    }


def _is_original(fields: Mapping[str, Any]) -> bool:
    return fields["form"] == "original" and fields["loss"] in _LISTWISE


def _is_short(fields: Mapping[str, Any]) -> bool:
    return fields["k"] < fields["n"] - 1


def _count(values: Iterable[float]) -> Measured:
    return Measured(float(sum(values)))


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure | Table]:
    """Yield proposition 10's curves, the conditions on spaces, and a table of losses per size."""
    curves = [
        views.curve(_name(fields), result["p1"], result["lead"])
        for fields, result in select(cells, part="proposition 10")
        if fields["form"] == "original" or fields["loss"] == "listmle"
    ]
    yield views.lines(
        "Proposition 10: the lead of object 1, which is most probably first",
        curves,
        "p1 = p(123); p(213) = p(321) = (1 − p1) / 2",
        "score of object 1 less the best other, divided by the spread",
        caption="Below 0, another object ranks first, although object 1 is the most probable "
        "first object for p1 above 1/3. All losses at the top 1 coincide.",
    )
    yield {
        "columns": ["n", "k", "% that meet theorem 6", "% of pairs order preserving", "at k + 1"],
        "rows": [
            [
                fields["n"],
                fields["k"],
                100 * mean(result["meets"]).value,
                100 * result["pairs"],
                100 * result["converse, holds"] / result["converse, pairs"],
            ]
            for fields, result in select(cells, part="spaces")
        ],
        "caption": "Arbitrary spaces: the share that has the n − 1 pairs of theorem 6, the share "
        "of pairs that are order preserving at the top k, and the share of these that are order "
        "preserving at the top k + 1 too.",
        "digits": 1,
    }
    for n, k in recipe.parameters["sizes"]:
        yield from _of_size(select(cells, part="loss", n=n, k=k), n, k)


def _of_size(rows: Sequence[Row], n: int, k: int) -> Iterator[Figure | Table]:
    kinds = {"theorem 6": "preserving", "arbitrary": "arbitrary"}
    yield {
        "columns": [
            "loss",
            "form",
            "violated conditions of definition 3",
            *(f"% Bayes, {title}" for title in kinds),
            *(f"regret, {title}" for title in kinds),
            "ties decide",
        ],
        "rows": [
            [
                NAMES[fields["loss"]],
                fields["form"],
                ", ".join(result["violated"]) or "none found",
                *(100 * mean(result[kind]["consistent"]).value for kind in kinds.values()),
                *(max(result[kind]["regret"]) for kind in kinds.values()),
                sum(result[kind]["tied"] for kind in kinds.values()),
            ]
            for fields, result in rows
        ],
        "caption": f"n = {n}, k = {k}. % Bayes: spaces in which every minimiser has a most "
        f"probable head of {k}, however ties are broken. Regret: the largest loss of probability. "
        "Ties decide: number of spaces in which only some ways to break ties give such a head.",
        "digits": 3,
    }
    for title, kind in kinds.items() if (n, k) == (4, 1) else ():
        panels: dict[str, list[views.Row]] = {}
        for fields, result in rows:
            shares = views.row(fields["form"], mean(result[kind]["consistent"]))
            panels.setdefault(NAMES[fields["loss"]], []).append(shares)
        axis = "share of spaces in which the minimiser has the Bayes top k"
        yield views.intervals(f"Top {k} of {n} objects: {title}", panels, axis_label=axis)


def _name(fields: Mapping[str, Any]) -> str:
    name = NAMES[fields["loss"]]
    return f"{name}, top 1" if fields["form"] == "top-k" else name


STUDY = Study(cells, run, fold, shown=shown)
"""The study of top-k consistency by enumeration."""
