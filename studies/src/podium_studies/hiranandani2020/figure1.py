"""Figure 1 of hiranandani2020: four surrogates while one of them is minimised, by margin.

The rows of one user are drawn and then thinned so that a margin holds. There are three settings,
which differ in the location of the negatives: the paper's code (with the same random numbers, so
that the curves can be compared digit by digit), the paper's text, and its slides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.groups import Groups
from podium.losses import PApAverage, PApMax, PApRamp, PApTightStruct, margins
from podium.rankers.objective import LinearObjective, times
from podium.report import Figure, Table
from podium.types import Mask
from podium_studies import views
from podium_studies.cells import generator, parts, sweep
from podium_studies.study import Cells, Figures, Measured, Recipe, Result, Study

Rows = NDArray[np.float64]  # (n_rows, n_features)
Scores = NDArray[np.float64]

LOSSES: dict[str, Callable[[int], Any]] = {
    "max": PApMax,
    "avg": PApAverage,
    "TS": PApTightStruct,
    "ramp": PApRamp,
}
"""The surrogates by their names in the figure."""


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield one key per setting and margin."""
    return sweep(setting=recipe.parameters["settings"], margin=recipe.parameters["margins"])


def run(recipe: Recipe, context: Any, setting: str, margin: str) -> Result:
    """Draw rows with the margin, descend, and evaluate every surrogate at every iterate."""
    parameters = recipe.parameters
    settings, k = parameters["settings"][setting], parameters["k"]
    rng: Any = generator(recipe, "rows")
    if settings["seed"] >= 0:
        rng = np.random.RandomState(settings["seed"])  # the generator of the paper's code
    positives, negatives, direction, middle = drawn(rng, settings, parameters["n_features"])
    is_kept = THIN[margin](positives @ direction, negatives @ direction, k, middle)
    positives, negatives = positives[is_kept[0]], negatives[is_kept[1]]
    rows = np.concatenate([positives, negatives])
    y = np.repeat([1.0, 0.0], [len(positives), len(negatives)])
    measured = margins(rows @ direction, y, k=k, delta=1.0 - 1e-9)
    held = [name for name in ("weak", "plain", "moderate", "strong") if measured.holds(name)[0]]
    if settings["train_share"] < 1.0:
        order = rng.permutation(len(rows))
        order = order[rng.random_sample(len(rows)) < settings["train_share"]]
        rows, y = rows[order], y[order]
    start = np.zeros(rows.shape[1])
    if settings["start_seed"] >= 0:
        start_rng: Any = np.random.RandomState(settings["start_seed"])
        start = start_rng.normal(0.0, 1.0, rows.shape[1])
    low, high = rows.min(axis=0), rows.max(axis=0)
    X = (rows - (low + high) / 2) / (high - low)  # in [-1/2, 1/2], as all data of the paper
    curves = descended(X, y, start, parameters["margins"][margin], parameters)
    n_pos = int(y.sum())
    return {**curves, "held": held, "n_pos": n_pos, "n_neg": y.size - n_pos}


def drawn(rng: Any, setting: Mapping[str, Any], d: int) -> tuple[Rows, Rows, Scores, float]:
    """Draw positives and negatives; return both, the unit vector w, and the middle.

    w points from the centre of the negatives to the centre of the positives. The middle is the
    score by w of the point half-way between the centres.
    """
    eye, n_pos = np.eye(d), setting["n_pos"]
    if setting["random_centres"]:
        n_pos = int(rng.randint(n_pos - 20, n_pos + 20, size=1)[0])
    centres: list[Scores] = []
    samples: list[Rows] = []
    for mean, n in ((0.0, n_pos), (setting["negative_mean"], setting["n_neg"])):
        centre = mean * np.ones(d)
        if setting["random_centres"]:
            centre = rng.multivariate_normal(centre, 0.2 * eye)
        centres.append(centre)
        samples.append(rng.multivariate_normal(centre, eye, size=n))
    w = centres[0] - centres[1]
    w = w / np.linalg.norm(w)
    return samples[0], samples[1], w, float((centres[0] + centres[1]) / 2 @ w)


def _moderate(s: Scores, t: Scores, k: int, middle: float) -> tuple[Mask, Mask]:
    """Keep negatives a margin below the k-th best positive, and positives not below them."""
    is_kept_negative = t - np.sort(s)[-k] <= -1.0
    return s >= np.max(t[is_kept_negative]), is_kept_negative


THIN: dict[str, Callable[[Scores, Scores, int, float], tuple[Mask, Mask]]] = {
    # Rows on their own side of the middle, at least half a margin from it.
    "strong": lambda s, t, k, middle: (s - middle >= 0.5, t - middle <= -0.5),
    # Negatives a margin below the mean of all positives.
    "beta": lambda s, t, k, middle: (np.ones(s.size, np.bool_), t - np.mean(s) <= -1.0),
    "moderate": _moderate,
}
"""Functions that return the positives and negatives that the paper's code keeps, by margin."""


def descended(
    X: Rows, y: Scores, start: Scores, descent: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, list[float]]:
    """Return the value of every surrogate at each iterate of subgradient descent on one of them."""
    groups, name = Groups.single(y.size), descent["loss"]
    losses = {surrogate: make(parameters["k"]) for surrogate, make in LOSSES.items()}
    targets = {surrogate: loss.prepare(y, groups) for surrogate, loss in losses.items()}
    objective = LinearObjective(X, losses[name], targets[name], parameters["l2"])
    curves: dict[str, list[float]] = {surrogate: [] for surrogate in LOSSES}
    w = start
    for step in range(parameters["n_iter"]):
        scores = times(X, w)
        for surrogate, loss in losses.items():
            curves[surrogate].append(float(loss.value_and_grad(scores, targets[surrogate])[0][0]))
        w = w - descent["learning_rate"] / np.sqrt(step + 1) * objective.evaluate(w).grad
    return curves


_ZERO = {"strong": tuple(LOSSES), "beta": ("avg", "ramp"), "moderate": ("TS", "ramp")}
_TITLES = {"strong": "strong margin", "beta": "beta-margin", "moderate": "moderate margin"}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the last value of each surrogate, and the values that the paper's claims concern."""
    figures: dict[str, Measured] = {}
    for cell, curves in cells.items():
        setting, margin = parts(cell).values()
        zero = _ZERO[margin]
        listed_names = "all" if zero == tuple(LOSSES) else " and ".join(zero)
        ends = {f"{name} at the end": curves[name][-1] for name in LOSSES}
        ends["TS at its least"] = min(curves["TS"])
        ends[f"worst of {listed_names}"] = max(curves[name][-1] for name in zero)
        if margin == "beta":
            others = [curves[name] for name in ("max", "TS")]
            ends["least of max and TS"] = min(curve[-1] for curve in others)
            ends["rise of max and TS"] = min(curve[-1] - min(curve) for curve in others)
        figures |= {f"{setting}, {margin}: {name}": Measured(end) for name, end in ends.items()}
    return figures


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Figure | Table]:
    """Yield a plot per setting and margin, and the margins that hold after thinning."""
    rows: list[list[Any]] = []
    for cell, result in cells.items():
        setting, margin = parts(cell).values()
        loss = recipe.parameters["margins"][margin]["loss"]
        title = f"{setting}: {loss} minimised under the {_TITLES[margin]}"
        curves = [views.curve(name, range(len(result[name])), result[name]) for name in LOSSES]
        yield views.lines(title, ("iteration", "value of the surrogate"), curves)
        held = ", ".join(result["held"]) or "none"
        rows.append([setting, margin, result["n_pos"], result["n_neg"], held])
    yield {
        "columns": ["setting", "thinned to", "positives", "negatives", "margins that hold"],
        "rows": rows,
        "caption": "Margins of 1 along the direction of the thinning, before features were "
        "scaled. The plain margin is the beta-margin of the paper (definition 3).",
    }


STUDY = Study(cells, run, fold, shown=shown)
"""Figure 1."""
