"""From the cells of Table 3 to its figures: means over splits, and differences paired by user."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from podium.papers.hiranandani2020.table3_methods import METHODS, PAPER, ZERO
from podium.papers.hiranandani2020.table3_runs import RANDOM
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, key, mean

FROM_ZERO = " (w0 = 0)"
PERCENT = 100.0
COUNTS = ("rows", "positives", "users")
_RIVALS = ("SVM-pAUC", "Greedy", "SGD@k-avg", "Select")
_OURS = ("GD-max", "GD-avg", "GD-TS")


def runs(recipe: Recipe) -> list[tuple[str, str, str]]:
    """Return each row of the table: its label, and the method and protocol behind it.

    A method with both protocols has two rows; that of the paper's has the plain name.
    """
    rows = [(RANDOM, RANDOM, PAPER)]
    for name in recipe.parameters["methods"]:
        for protocol in METHODS[name].protocols:
            both = len(METHODS[name].protocols) > 1
            rows.append((name + FROM_ZERO if both and protocol == ZERO else name, name, protocol))
    return rows


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the counts of the data, each row's percentages, and the differences of the claims."""
    counts = cells[key(data="counts")]
    figures = {name: Measured(float(counts[name])) for name in COUNTS}
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    for label, name, protocol in runs(recipe):
        for k in cutoffs:
            found = _cells(recipe, cells, name, protocol, k)
            figures[f"{label} k={k}"] = mean(PERCENT * each["pap"] for each in found)
    for label, (name, protocol), (other, its_protocol) in _pairs(recipe):
        figures[label] = difference(recipe, cells, (name, protocol), (other, its_protocol))
    return {**figures, **_above_printed(recipe, figures)}


def _above_printed(recipe: Recipe, figures: Figures) -> Figures:
    """Return how far logistic regression is above all printed figures, where that is least."""
    if "logistic" not in recipe.parameters["methods"]:
        return {}
    above: list[Measured] = []
    for k in recipe.parameters["cutoffs"]:
        printed = [v for label, v in recipe.printed.items() if label.endswith(f" k={k}")]
        if not printed:
            continue
        found = figures[f"logistic k={k}"]
        above += [Measured(found.value - max(printed), found.std_error, found.n)]
    if not above:
        return {}
    return {"logistic − best printed, least over k": min(above, key=lambda each: each.value)}


def difference(
    recipe: Recipe, cells: Cells, one: tuple[str, str], other: tuple[str, str]
) -> Measured:
    """Return how far one run is above another, in points: the mean over cutoffs and repeats.

    Both users and repeats (splits and starts) are what was drawn, so the standard error counts
    both: that of a bootstrap over users, each with all its values, to first order, and what the
    means of the repeats vary beyond that. With one repeat only the former is known. `n` is the
    number of users.
    """
    by_repeat = [
        _influences(recipe, cells, one, other, seed) for seed in range(recipe.repeats or 1)
    ]
    means = np.array([mean for mean, _ in by_repeat])
    users = np.concatenate([np.fromiter(part, np.int64) for _, part in by_repeat])
    parts = np.concatenate([np.fromiter(part.values(), float) for _, part in by_repeat])
    parts /= means.size
    labels, codes = np.unique(users, return_inverse=True)
    of_users = float(np.sum(np.bincount(codes, weights=parts) ** 2))
    of_repeats = float(means.var(ddof=1)) / means.size if means.size > 1 else 0.0
    in_both = float(np.sum(parts**2))
    spread = math.sqrt(of_users + max(0.0, of_repeats - in_both))
    return Measured(float(means.mean()), spread, labels.size)


def _influences(
    recipe: Recipe, cells: Cells, one: tuple[str, str], other: tuple[str, str], seed: int
) -> tuple[float, dict[int, float]]:
    """Return one repeat's mean difference over cutoffs, and what each user moves it by."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    influence: dict[int, float] = {}
    means: list[float] = []
    for k in cutoffs:
        ours, theirs = (
            cells[key(seed=seed, k=k, method=name, protocol=protocol)]
            for name, protocol in (one, other)
        )
        gain = PERCENT * (np.array(ours["gain"]) - np.array(theirs["gain"]))
        means.append(float(gain.mean()))
        moved = (gain - gain.mean()) / gain.size / len(cutoffs)
        for user, part in zip(ours["user"], moved.tolist(), strict=True):
            influence[user] = influence.get(user, 0.0) + part
    return float(np.mean(means)), influence


def _cells(recipe: Recipe, cells: Cells, name: str, protocol: str, k: int) -> list[Result]:
    """Return a run's results over the repeats."""
    return [
        cells[key(seed=seed, k=k, method=name, protocol=protocol)]
        for seed in range(recipe.repeats or 1)
    ]


def _pairs(recipe: Recipe) -> Iterator[tuple[str, tuple[str, str], tuple[str, str]]]:
    there = set(recipe.parameters["methods"])
    for ours in _OURS:
        for other in _RIVALS:
            if {ours, other} <= there:
                yield f"{ours} − {other}", (ours, PAPER), (other, PAPER)
        if ours in there:
            yield f"{ours} − {RANDOM}", (ours, PAPER), (RANDOM, PAPER)
        if {ours, "logistic"} <= there:
            yield f"{ours} − logistic", (ours, PAPER), ("logistic", ZERO)
