"""Table 2 of hiranandani2020, and its variation on slide 14: one user, simulated 300 times.

The study runs methods of the paper under three protocols and measures all of them on the rows
that they were fitted on. The protocols are descent with the settings of the paper's code, a long
run of the paper's algorithm 1 from zero, and the minimum of each surrogate, certified by a
duality gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.losses import Loss, PApAverage
from podium.metrics import parse
from podium.rankers import LinearRanker
from podium.rankers.fitting import NothingLearnedError
from podium.rankers.objective import times
from podium.ranking import Ranking
from podium_studies.cells import generator, key, mean, repeats
from podium_studies.hiranandani2020.baselines import SVMpAUC
from podium_studies.hiranandani2020.surrogates import PrecisionAverage
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study

Sample = tuple[NDArray[np.float64], NDArray[np.float64]]  # features, relevance

GD_AVG = "GD-avg"
_SHORT = 0.01  # coefficients with a smaller norm are zero up to the solver's tolerance
_PRINTED_RUNS = 300  # counts are scaled to this number of runs

LOSSES: dict[str, Callable[[int], Loss]] = {"GD-avg": PApAverage, "SGD@k-avg": PrecisionAverage}
"""The losses of the two descent methods by their names in the table; SVM-pAUC is the third."""


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield one key per run and case."""
    for n in repeats(recipe):
        yield from (key(case=case["name"], run=n) for case in recipe.parameters["cases"])


def run(recipe: Recipe, context: Any, **cell: Any) -> Result:
    """Draw one user, fit both methods under each protocol, and measure the top k."""
    run_index = cell["run"]
    names = [case["name"] for case in recipe.parameters["cases"]]
    case_index = names.index(cell["case"])
    case = recipe.parameters["cases"][case_index]
    sample, fresh = (
        draw(recipe, case, generator(recipe, purpose, case_index, run_index))
        for purpose in ("sample", "fresh sample")
    )
    results: dict[str, Any] = {}
    for protocol, settings in recipe.parameters["protocols"].items():
        for method in (GD_AVG, case["rival"]):
            ranker = _ranker(method, case["k"], run_index, settings[method])
            for name, value in _fitted_and_measured(ranker, sample, fresh, case["k"]).items():
                results[f"{protocol}/{method}/{name}"] = value
    return results


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


def top(scores: NDArray[np.float64], relevance: NDArray[np.float64], k: int) -> dict[str, float]:
    """Return prec@k, and AUC@k: the area under the ROC curve among the k best-scored items.

    AUC@k is nan if these items are all of one class. Ties count as errors.
    """
    top_relevance = Ranking.from_scores(scores, relevance).relevance[:k]
    top_ranking = Ranking.from_scores(
        -np.arange(top_relevance.size, dtype=np.float64), top_relevance
    )
    return {"prec": float(top_relevance.mean()), "auc": float(parse("auc")(top_ranking)[0])}


def _fitted_and_measured(ranker: Any, sample: Sample, fresh: Sample, k: int) -> dict[str, float]:
    coef = _coefficients(ranker, sample)
    return {
        **top(times(sample[0], coef), sample[1], k),
        "fresh": top(times(fresh[0], coef), fresh[1], k)["prec"],
        "length": math.sqrt(float(np.sum(np.square(coef)))),
    }


def _coefficients(ranker: Any, sample: Sample) -> NDArray[np.float64]:
    """Return the coefficients of a fit; zeros if these are the minimum, which `fit` refuses."""
    try:
        ranker.fit(*sample, group=[sample[1].size])
    except NothingLearnedError:
        return np.zeros(int(sample[0].shape[1]))
    return np.asarray(ranker.coef_, np.float64)


def _ranker(method: str, k: int, seed: int, options: Mapping[str, Any]) -> Any:
    if method in LOSSES:
        return LinearRanker(LOSSES[method](k), random_state=seed, **options)
    return SVMpAUC(k, **options)  # cutting planes need no seed


@dataclass(frozen=True)
class Duel:
    """The values of two methods in one case under one protocol, by run.

    Attributes
    ----------
    case, protocol, rival : str
        The names of the case, the protocol, and the method that GD-avg is compared with.
    k : int
        The cutoff.
    values : mapping of str to float64, (n_runs,)
        The values of "method/prec", "method/auc", "method/fresh" and "method/length".
    """

    case: str
    k: int
    protocol: str
    rival: str
    values: Mapping[str, NDArray[np.float64]]

    def gain(self, name: str) -> NDArray[np.float64]:
        """Return the values of GD-avg less those of the rival, by run."""
        return self.values[f"{GD_AVG}/{name}"] - self.values[f"{self.rival}/{name}"]

    @property
    def equal(self) -> NDArray[np.bool_]:
        """The mask of runs in which both tops have the same number of positives."""
        return np.abs(self.gain("prec")) < 0.5 / self.k

    def figures(self, suffix: str) -> dict[str, Measured]:
        """Return the figures in the paper's columns, for both methods, and the differences."""
        figures: dict[str, Measured] = {}
        prec, auc, of_runs = f"prec@{self.k}", f"AUC@{self.k}", f"of {_PRINTED_RUNS}"
        equal, n = self.equal, self.equal.size
        for method, sign in ((self.rival, -1), (GD_AVG, 1)):
            precs, aucs = self.values[f"{method}/prec"], self.values[f"{method}/auc"][equal]
            n_higher = int(np.sum(~equal & (sign * self.gain("prec") > 0)))
            n_auc_higher = int(np.sum(sign * self.gain("auc")[equal] > 0))
            n_zero = int(np.sum(self.values[f"{method}/length"] < _SHORT))
            method_figures = {
                prec: mean(precs),
                f"{prec}, s.d.": _deviation(precs),
                f"{prec} higher, {of_runs}": _count(n_higher, n),
                f"{auc} at equal prec": mean(aucs),
                f"{auc} at equal prec, s.d.": _deviation(aucs),
                f"{auc} higher, {of_runs}": _count(n_auc_higher, n),
                f"{prec}, fresh sample": mean(self.values[f"{method}/fresh"]),
                f"minimum at zero, {of_runs}": _count(n_zero, n),
            }
            figures |= {f"{self.case}, {method}{suffix}: {k}": v for k, v in method_figures.items()}
        start = f"{self.case}, gain{suffix}"
        return figures | {
            f"{self.case}, both{suffix}: {prec} equal, {of_runs}": _count(int(equal.sum()), n),
            f"{start}: {prec}": mean(self.gain("prec")),
            f"{start}: {auc} at equal prec": mean(self.gain("auc")[equal]),
            f"{start}: {prec}, fresh sample": mean(self.gain("fresh")),
        }


def _duel(recipe: Recipe, cells: Cells, case: Mapping[str, Any], protocol: str) -> Duel:
    runs = [cells[key(case=case["name"], run=n)] for n in repeats(recipe)]
    values = {
        name.removeprefix(f"{protocol}/"): np.array([run[name] for run in runs])
        for name in runs[0]
        if name.startswith(f"{protocol}/")
    }
    return Duel(case["name"], case["k"], protocol, case["rival"], values)


def _suffixes(recipe: Recipe) -> dict[str, str]:
    """Return the end of a figure's label by protocol; that of the first, the paper's, is ""."""
    first, *others = recipe.parameters["protocols"]
    return {first: "", **{protocol: f" ({protocol})" for protocol in others}}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the table's columns and the differences for each case and protocol."""
    figures: dict[str, Measured] = {}
    for case in recipe.parameters["cases"]:
        for protocol, suffix in _suffixes(recipe).items():
            figures |= _duel(recipe, cells, case, protocol).figures(suffix)
    return figures


def _count(count: int, n: int) -> Measured:
    share = count / n
    return Measured(_PRINTED_RUNS * share, _PRINTED_RUNS * math.sqrt(share * (1 - share) / n), n)


def _deviation(values: NDArray[np.float64]) -> Measured:
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
