"""Table 2 of hiranandani2020, and its variation on slide 14: one user, simulated 300 times.

The study runs methods of the paper under three protocols and measures all of them on the rows
that they were fitted on. The protocols are descent with the settings of the paper's code, a long
run of the paper's algorithm 1 from zero, and the minimum of each surrogate, by cutting planes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.metrics import parse
from podium.rankers import LinearRanker
from podium.rankers.fitting import NothingLearnedError
from podium.rankers.objective import times
from podium.ranking import Ranking
from podium_studies.cells import generator, key, mean, repeats, results
from podium_studies.hiranandani2020.baselines import SVMpAUC
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study

Floats = NDArray[np.float64]
Sample = tuple[Floats, Floats]  # features, relevance

GD_AVG = "GD-avg"
_SHORT = 0.01  # coefficients with a smaller norm are zero up to the solver's tolerance
_PRINTED_RUNS = 300  # counts are scaled to this number of runs

LOSSES = {GD_AVG: "pap-avg", "SGD@k-avg": "prec-avg"}
"""The losses of the two descent methods by their names in the table; SVM-pAUC is the third."""


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield one key per run and case."""
    for n in repeats(recipe):
        yield from (key(case=case["name"], run=n) for case in recipe.parameters["cases"])


def run(recipe: Recipe, context: Any, **cell: Any) -> Result:
    """Draw one user, fit both methods under each protocol, and measure the top k."""
    n, cases = cell["run"], recipe.parameters["cases"]
    number, case = next((i, c) for i, c in enumerate(cases) if c["name"] == cell["case"])
    rngs = (generator(recipe, purpose, number, n) for purpose in ("sample", "fresh sample"))
    sample, fresh = (draw(recipe, case, rng) for rng in rngs)
    measures: dict[str, Any] = {}
    for protocol, settings in recipe.parameters["protocols"].items():
        for method in (GD_AVG, case["rival"]):
            coef = _coefficients(method, case["k"], n, settings[method], sample)
            of_sample, of_fresh = (top(times(X, coef), y, case["k"]) for X, y in (sample, fresh))
            length = math.sqrt(float(np.sum(np.square(coef))))
            measured = {**of_sample, "fresh": of_fresh["prec"], "length": length}
            measures |= {f"{protocol}/{method}/{name}": value for name, value in measured.items()}
    return measures


def draw(recipe: Recipe, case: Mapping[str, Any], rng: np.random.Generator) -> Sample:
    """Draw positives around `positive_mean` in each feature, and negatives around 0.

    The first `n_far` positives are drawn around `far_mean` instead.
    """
    d = recipe.parameters["n_features"]
    centres = np.zeros(case["n_pos"] + case["n_neg"])
    centres[: case["n_pos"]] = recipe.parameters["positive_mean"]
    centres[: recipe.parameters["n_far"]] = recipe.parameters["far_mean"]
    X = rng.standard_normal((centres.size, d)) + centres[:, np.newaxis]
    return X, (np.arange(centres.size) < case["n_pos"]).astype(np.float64)


def top(scores: Floats, relevance: Floats, k: int) -> dict[str, float]:
    """Return prec@k, and AUC@k: the area under the ROC curve among the k best-scored items.

    AUC@k is nan if these items are all of one class. Ties count as errors.
    """
    ranking, measures = Ranking.from_scores(scores, relevance), {"prec": "precision", "auc": "auc"}
    return {name: float(parse(f"{text}@{k}")(ranking)[0]) for name, text in measures.items()}


def _coefficients(
    method: str, k: int, seed: int, options: Mapping[str, Any], sample: Sample
) -> Floats:
    """Return the coefficients of a fit; zeros if these are the minimum, which `fit` refuses."""
    if "C" in options:
        ranker = SVMpAUC(k, surrogate=LOSSES.get(method, "pauc-hinge"), **options)
    else:
        ranker = LinearRanker(f"{LOSSES[method]}@{k}", random_state=seed, **options)
    try:
        return ranker.fit(*sample, np.zeros(sample[1].size, np.int64)).coef_
    except NothingLearnedError:
        return np.zeros(int(sample[0].shape[1]))


def duel(case: Mapping[str, Any], values: Mapping[str, Floats], suffix: str) -> Figures:
    """Return the figures in the paper's columns, for both methods, and the differences.

    Parameters
    ----------
    case : mapping
        The case of the recipe.
    values : mapping of str to float64, (n_runs,)
        The values of "method/prec", "method/auc", "method/fresh" and "method/length" by run.
    suffix : str
        The end of the labels, which names the protocol.
    """
    name, rival, k = case["name"], case["rival"], case["k"]
    prec, auc, of_runs = f"prec@{k}", f"AUC@{k}", f"of {_PRINTED_RUNS}"
    parts = ("prec", "auc", "fresh")
    gain = {part: values[f"{GD_AVG}/{part}"] - values[f"{rival}/{part}"] for part in parts}
    equal = np.abs(gain["prec"]) < 0.5 / k  # runs in which both tops have as many positives
    figures: dict[str, Measured] = {}
    for method, sign in ((rival, -1), (GD_AVG, 1)):
        precs, aucs = values[f"{method}/prec"], values[f"{method}/auc"][equal]
        method_figures = {
            prec: mean(precs),
            f"{prec}, s.d.": _deviation(precs),
            f"{prec} higher, {of_runs}": _count(~equal & (sign * gain["prec"] > 0)),
            f"{auc} at equal prec": mean(aucs),
            f"{auc} at equal prec, s.d.": _deviation(aucs),
            f"{auc} higher, {of_runs}": _count(equal & (sign * gain["auc"] > 0)),
            f"{prec}, fresh sample": mean(values[f"{method}/fresh"]),
            f"minimum at zero, {of_runs}": _count(values[f"{method}/length"] < _SHORT),
        }
        figures |= {f"{name}, {method}{suffix}: {end}": v for end, v in method_figures.items()}
    start = f"{name}, gain{suffix}"
    return figures | {
        f"{name}, both{suffix}: {prec} equal, {of_runs}": _count(equal),
        f"{start}: {prec}": mean(gain["prec"]),
        f"{start}: {auc} at equal prec": mean(gain["auc"][equal]),
        f"{start}: {prec}, fresh sample": mean(gain["fresh"]),
    }


def _suffixes(recipe: Recipe) -> dict[str, str]:
    """Return the end of a figure's label by protocol; that of the first, the paper's, is ""."""
    first, *others = recipe.parameters["protocols"]
    return {first: "", **{protocol: f" ({protocol})" for protocol in others}}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the table's columns and the differences for each case and protocol."""
    figures: dict[str, Measured] = {}
    for case in recipe.parameters["cases"]:
        runs = results(cells, case=case["name"])
        values = {name: np.array([run[name] for run in runs]) for name in runs[0]}
        for protocol, suffix in _suffixes(recipe).items():
            start = f"{protocol}/"
            of_protocol = {n.removeprefix(start): v for n, v in values.items() if start in n}
            figures |= duel(case, of_protocol, suffix)
    return figures


def _count(is_counted: NDArray[np.bool_]) -> Measured:
    n = is_counted.size
    share = int(np.sum(is_counted)) / n
    return Measured(_PRINTED_RUNS * share, _PRINTED_RUNS * math.sqrt(share * (1 - share) / n), n)


def _deviation(values: Floats) -> Measured:
    """Return the standard deviation of defined values, with the standard error of a normal sample.

    Both are undefined with fewer than two values.
    """
    defined = values[np.isfinite(values)]
    if defined.size < 2:
        return Measured(float("nan"), n=int(defined.size))
    spread = float(defined.std(ddof=1))
    return Measured(spread, spread / math.sqrt(2 * (defined.size - 1)), int(defined.size))


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid]:
    """Yield a table per case with every column under every protocol, and a plot of prec@k."""
    for case in recipe.parameters["cases"]:
        rows = {
            f"{protocol}: {method}": f"{case['name']}, {method}{suffix}"
            for protocol, suffix in _suffixes(recipe).items()
            for method in (case["rival"], GD_AVG)
        }
        prec = f"prec@{case['k']}"
        start = f"{next(iter(rows.values()))}: "
        columns = [label.removeprefix(start) for label in figures if label.startswith(start)]
        title = f"{case['name']}: means and standard deviations over runs, and numbers of runs"
        note = "AUC is over the runs with equal precision. At zero, all scores are equal."
        yield Grid(f"{title}. {note}", rows, columns, "{}: {}", head="protocol and method")
        title, axis = f"{case['name']}: mean {prec} by protocol", f"{prec} on the training rows"
        yield Grid(title, rows, [prec], "{}: {}", text="", plot="intervals", axis=axis)


STUDY = Study(cells, run, fold, shown=shown)
"""Table 2, or slide 14 if `n_far` is not 0."""
