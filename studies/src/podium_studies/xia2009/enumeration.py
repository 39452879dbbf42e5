"""The theory of xia2009 by enumeration: the losses that find the best top k, by space.

There are three kinds of cells: a loss in a form on random spaces of a size, the theory's condition
on spaces of a size, and a loss on the three-object space of proposition 10 as p1 varies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import bisect

from podium import losses
from podium.groups import Groups
from podium.losses import Loss
from podium.report import Figure, Table
from podium.types import PerGroup, PerRow
from podium_studies import views
from podium_studies.cells import generator, key, mean, select, sweep
from podium_studies.study import Cells, Figures, Measured, Recipe, Result, Study
from podium_studies.xia2009 import consistency
from podium_studies.xia2009.consistency import Space, Truncated, minimise, preserved_pairs
from podium_studies.xia2009.luce import ListNetLuce

NAMES = {
    "listmle": "ListMLE",
    "listnet": "ListNet",
    "rankcosine": "RankCosine",
    "permutation-cross-entropy": "full cross entropy",
    "listnet-luce": "Luce cross entropy of the top k",
    "softmax": "softmax of grades",
    "squared": "squared",
    "logistic": "logistic: in the top k or not",
    "pairwise-logistic": "pairwise logistic",
    "pairwise-exponential": "pairwise exponential",
    "pairwise-hinge": "pairwise hinge",
    "lambdarank": "LambdaRank",
    "gentle": "counter-example",
}
"""The names of the losses on the page."""

_OWN_CUTOFF = ("listmle", "listnet", "rankcosine")
_ALL = 8  # at least the number of objects


def make_loss(name: str, form: str, k: int) -> Loss | Truncated:
    """Return a loss in a form, "original" or "top-k" with this k."""
    is_top = form == "top-k"
    if name == "listnet-luce":  # the top-k form of Cao et al., which keeps all grades
        return ListNetLuce(k=k)
    if name == "gentle":
        return Gentle()
    if is_top and name in _OWN_CUTOFF:
        return losses.get(name, k=k)
    if name == "permutation-cross-entropy":  # of all places, less the entropy of the grades
        loss: Loss = ListNetLuce(k=_ALL)
    else:
        loss = losses.get(name, k=k) if name == "lambdarank" else losses.get(name)
    return Truncated(loss, k) if is_top else loss


_LIKELIHOOD = losses.ListMLE(k=1)


@dataclass(frozen=True)
class Gentle(Loss):
    """A loss on three objects that meets the conditions of proposition 10 and is consistent.

    The loss is the top-1 likelihood loss plus ``share * h(d)``. d is the score of the object at
    place 2 less the score of the object at place 3, and ``h(d) = |d|^3 / (1 + d^2)`` for d < 0,
    or else 0. h decreases strictly if the two objects are in the wrong order, and its slope is 0
    if they tie.

    Parameters
    ----------
    share : float
        The weight of h.
    """

    share: float = 0.1

    smooth: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def prepare(self, relevance: PerRow, groups: Groups, **given: Any) -> Any:
        """Return the likelihood's target and the rows at each place, for groups of three rows."""
        places = np.argsort(-relevance.reshape(-1, 3), axis=1)
        first_rows = 3 * np.arange(groups.n_groups)[:, None]
        return _LIKELIHOOD.prepare(relevance, groups, **given), first_rows + places

    def value_and_grad(self, scores: PerRow, target: Any) -> tuple[PerGroup, PerRow]:
        """Return the value of each group, and the gradient of their mean."""
        likelihood, rows = target
        values, grad = _LIKELIHOOD.value_and_grad(scores, likelihood)
        _, second, third = rows.T
        d = np.minimum(scores[second] - scores[third], 0.0)
        slope = -self.share * d**2 * (3.0 + d**2) / (1.0 + d**2) ** 2 / len(d)
        grad[second] += slope
        grad[third] -= slope
        return values - self.share * d**3 / (1.0 + d**2), grad

    def curvature(self, scores: PerRow, target: Any) -> PerRow:
        """Return a bound on the second derivatives: 1/4 for the softmax, and at most 3 for h."""
        return np.full(scores.size, (0.25 + 3.0 * self.share) / len(target[1]))


_N_STARTS = 3  # enough for RankCosine, whose starts all lead to the same direction
_LISTWISE = ("listmle", "listnet", "rankcosine", "permutation-cross-entropy")
_KINKED = "pairwise-hinge"
_SPACES = {"theorem 6": "preserving", "arbitrary": "arbitrary"}
"""The kinds of drawn spaces, by their names on the page."""

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


def curve(recipe: Recipe, loss: Any) -> dict[str, Any]:
    """Return the lead of object 1 on a grid of p1, and the p1 from which it comes first.

    This p1 is 1/3 if object 1 comes first on the whole grid, and nan if it does not at the end.
    The lead is that over the best other object, as a share of the scores' spread.
    """

    def lead(p1: float) -> float:
        p2 = (1.0 - p1) / 2.0
        minimum = minimise(Space.from_orders({(0, 1, 2): p1, (1, 0, 2): p2, (2, 1, 0): p2}), loss)
        spread = float(np.ptp(minimum.scores))
        return float(minimum.gaps[0, 1:].min()) / spread if spread > 0.0 else 0.0

    start, end, n_points = recipe.parameters["p1"]
    grid: list[float] = [start + (end - start) * i / (n_points - 1) for i in range(n_points)]
    leads = [lead(p1) for p1 in grid]
    behind = [i for i, lead_at_p1 in enumerate(leads) if lead_at_p1 <= 0.0]
    first = 1.0 / 3.0
    if behind:
        low, high = [*grid, math.nan][behind[-1] : behind[-1] + 2]
        is_seen = math.isfinite(high)
        first = bisect(lambda p1: lead(p1) or -1.0, low, high, xtol=1e-9) if is_seen else math.nan
    return {"p1": grid, "lead": leads, "first from": first}


def on_spaces(recipe: Recipe, loss: Any, n: int, k: int) -> dict[str, Any]:
    """Search for counter-examples to a loss, and minimise it on every drawn space.

    On the spaces of theorem 6, the result has the number of order preserving pairs, and of those
    that minimisers order wrongly, as theorem 7 is about.
    """
    found = consistency.sensitivity(loss, n, k, n_random=recipe.parameters["n_random_scores"])
    results: dict[str, Any] = {"violated": list(found.violated), "n_scores": found.n_scores}
    for kind in _SPACES.values():
        minima = [minimise(space, loss, n_starts=_N_STARTS) for space in drawn(recipe, kind, n, k)]
        results[kind] = {
            "consistent": [float(minimum.is_consistent(k)) for minimum in minima],
            "regret": [minimum.regret(k) for minimum in minima],
            "tied": sum(minimum.is_tied(k) for minimum in minima),
            "unbounded": sum(not minimum.finite for minimum in minima),
        }
        if kind == "preserving":
            gaps = [m.gaps[pair] for m in minima for pair in preserved_pairs(m.space, k)]
            results |= {"pairs": len(gaps), "wrong pairs": sum(bool(gap <= 0.0) for gap in gaps)}
    return results


def drawn(recipe: Recipe, kind: str, n: int, k: int) -> list[Space]:
    """Draw the spaces of one kind and size, which are the same for all losses."""
    rng, shape = generator(recipe, kind, n, k), recipe.parameters["concentration"]
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
    up = _kept(arbitrary, k, deeper)
    down = _kept([*arbitrary, *drawn(recipe, "preserving", n, deeper)], deeper, k)
    return {
        "meets": [float(consistency.meets_theorem_6(space, k)) for space in arbitrary],
        "proposition 8, pairs": len(down),
        "proposition 8, broken": len(down) - sum(down),
        "converse, pairs": len(up),
        "converse, holds": sum(up),
    }


def _kept(spaces: Iterable[Space], k: int, other_k: int) -> list[bool]:
    """Return for each order preserving pair at k whether it is one at `other_k` too."""
    pairs = ((space, pair) for space in spaces for pair in preserved_pairs(space, k))
    return [pair in preserved_pairs(space, other_k) for space, pair in pairs]


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the figures of the paper's claims."""
    rows, spaces = select(cells, part="loss"), select(cells, part="spaces")
    top = [(fields["loss"], result) for fields, result in rows if fields["form"] == "top-k"]
    smooth = [result for loss, result in top if loss != _KINKED]
    graded = [result for loss, result in top if loss not in (*_LISTWISE, _KINKED)]
    hinge = [result for loss, result in top if loss == _KINKED]
    original = [row for row in rows if row[0]["form"] == "original" and row[0]["loss"] in _LISTWISE]
    original_short, original_long = _by_length(original)
    luce_short, luce_long = _by_length([row for row in rows if row[0]["loss"] == "listnet-luce"])
    figures: dict[str, Measured] = {}
    for name in _LISTWISE:
        violated = _sum((result for loss, result in top if loss == name), "violated")
        figures[f"conditions that {NAMES[name]} at the top k violates"] = violated
    for kind, results in {
        "original listwise losses, k < n - 1": original_short,
        "Luce cross entropy, k < n - 1": luce_short,
        "Luce cross entropy, k = n - 1": luce_long,
    }.items():
        share = mean(float(bool(result["violated"])) for result in results)
        figures[f"{kind}: share that violates definition 3"] = share
    label = "conditions that smooth pointwise and pairwise losses at the top k violate"
    missed = Measured(1.0 - _consistent(original_long).value)
    figures |= {
        label: _sum(graded, "violated"),
        "theorem 6: share of spaces, smooth losses at the top k": _consistent(smooth),
        "theorem 7: pairs that smooth losses at the top k have wrong": _sum(smooth, "wrong pairs"),
        "theorem 7: pairs tried": _sum(smooth, "pairs"),
        "theorem 7: pairs that the hinge at the top k has wrong": _sum(hinge, "wrong pairs"),
        "original listwise losses, k < n - 1: share of spaces": _consistent(original_short),
        "original listwise losses, k = n - 1: share of spaces missed": missed,
    }
    for fields, result in spaces:
        label = f"arbitrary spaces that meet theorem 6, n = {fields['n']}, k = {fields['k']}"
        figures[label] = mean(result["meets"])
    broken = _sum((result for _, result in spaces), "proposition 8, broken")
    figures["proposition 8: pairs lost from the top k + 1 to the top k"] = broken
    tried, held = (_sum(_by_length(spaces)[0], f"converse, {name}") for name in ("pairs", "holds"))
    lost = Measured(tried.value - held.value, n=int(tried.value))
    figures["proposition 8: pairs lost from the top k to the top k + 1, k < n - 1"] = lost
    curves = {_name(fields): result for fields, result in select(cells, part="proposition 10")}
    for name, result in curves.items():
        figures[f"{name}: object 1 first from p1 ="] = Measured(result["first from"])
    for name, result in curves.items():
        behind = np.less_equal(result["lead"], 0.0)
        share = Measured(float(behind.mean()), n=behind.size)
        figures[f"{name}: share of p1 > p2 with another object first"] = share
    return figures


def _by_length(rows: Sequence[Row]) -> tuple[list[Result], list[Result]]:
    """Return the results with k < n - 1, and those with k = n - 1."""
    by_length: dict[bool, list[Result]] = {True: [], False: []}
    for fields, result in rows:
        by_length[fields["k"] < fields["n"] - 1].append(result)
    return by_length[True], by_length[False]


def _sum(results: Iterable[Result], name: str) -> Measured:
    """Return the sum of a number, or the total length of a list, over results."""
    values = (result[name] for result in results)
    return Measured(float(sum(v if isinstance(v, int) else len(v) for v in values)))


def _consistent(results: Iterable[Result]) -> Measured:
    """Return the share of spaces on which minimisers find the Bayes rankers' head."""
    return mean(flag for result in results for flag in result["preserving"]["consistent"])


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure | Table]:
    """Yield proposition 10's curves, and a table of losses per size."""
    curves = [
        views.curve(_name(fields), result["p1"], result["lead"])
        for fields, result in select(cells, part="proposition 10")
        if fields["form"] == "original" or fields["loss"] == "listmle"
    ]
    x_label = "p1 = p(123); p(213) = p(321) = (1 − p1) / 2"
    axes = x_label, "score of object 1 less the best other, divided by the spread"
    caption = "Below 0, another object ranks first, although object 1 is the most probable first "
    caption += "object for p1 above 1/3. All losses at the top 1 coincide."
    title = "Proposition 10: the lead of object 1, which is most probably first"
    yield views.lines(title, axes, curves, caption=caption)
    for n, k in recipe.parameters["sizes"]:
        yield _of_size(select(cells, part="loss", n=n, k=k), n, k)


def _of_size(rows: Sequence[Row], n: int, k: int) -> Table:
    kinds = _SPACES.values()
    found = (f"{measure}, {title}" for measure in ("% Bayes", "regret") for title in _SPACES)
    return {
        "columns": ["loss", "form", "violated conditions of definition 3", *found, "ties decide"],
        "rows": [
            [
                NAMES[fields["loss"]],
                fields["form"],
                ", ".join(result["violated"]) or "none found",
                *(100 * mean(result[kind]["consistent"]).value for kind in kinds),
                *(max(result[kind]["regret"]) for kind in kinds),
                sum(result[kind]["tied"] for kind in kinds),
            ]
            for fields, result in rows
        ],
        "caption": f"n = {n}, k = {k}. % Bayes: spaces in which every minimiser has a most "
        f"probable head of {k}, however ties are broken. Regret: the largest loss of probability. "
        "Ties decide: number of spaces in which only some ways to break ties give such a head.",
        "digits": 3,
    }


def _name(fields: Mapping[str, Any]) -> str:
    name = NAMES[fields["loss"]]
    return f"{name}, top 1" if fields["form"] == "top-k" else name


STUDY = Study(cells, run, fold, shown=shown)
"""The study of top-k consistency by enumeration."""
