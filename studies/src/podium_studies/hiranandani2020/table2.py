"""Table 2 of hiranandani2020, and its variation on slide 14: one user, simulated 300 times.

The study runs methods of the paper under three protocols and measures all of them on the rows
that they were fitted on. The protocols are descent with the settings of the paper's code, a long
run of the paper's algorithm 1 from zero, and the minimum of each surrogate, certified by a
duality gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from podium.report import Figure, Table
from podium_studies import views
from podium_studies.hiranandani2020.baselines import PrecisionAverage, SVMpAUC
from podium_studies.recipe import Recipe
from podium_studies.study import (
    Cells,
    Figures,
    Measured,
    Result,
    Study,
    generator,
    key,
    mean,
    parts,
)

Sample = tuple[NDArray[np.float64], NDArray[np.float64]]  # features, relevance

GD_AVG = "GD-avg"
_SHORT = 0.01  # coefficients with a smaller norm are zero up to the solver's tolerance
_PRINTED_RUNS = 300  # counts are scaled to this number of runs

LOSSES: dict[str, Callable[[int], Loss]] = {"GD-avg": PApAverage, "SGD@k-avg": PrecisionAverage}
"""The losses of the two descent methods by their names in the table; SVM-pAUC is the third."""


def cells(recipe: Recipe) -> Sequence[str]:
    """Return one key per case and run."""
    return [
        key(case=case["name"], run=run_index)
        for run_index in range(recipe.repeats or 1)
        for case in recipe.parameters["cases"]
    ]


def run(recipe: Recipe, context: Any, cell: str) -> Result:
    """Draw one user, fit both methods under each protocol, and measure the top k."""
    fields = parts(cell)
    run_index = int(fields["run"])
    names = [case["name"] for case in recipe.parameters["cases"]]
    case_index = names.index(fields["case"])
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
    case : str
        The name of the case.
    k : int
        The cutoff.
    protocol : str
        The name of the protocol.
    rival : str
        The method that GD-avg is compared with.
    values : mapping of str to float64, (n_runs,)
        The values of "method/prec", "method/auc", "method/fresh" and "method/length".
    """

    case: str
    k: int
    protocol: str
    rival: str
    values: Mapping[str, NDArray[np.float64]]

    @property
    def gain(self) -> NDArray[np.float64]:
        """The prec@k of GD-avg less that of the rival, by run."""
        return self.values[f"{GD_AVG}/prec"] - self.values[f"{self.rival}/prec"]

    @property
    def equal(self) -> NDArray[np.bool_]:
        """The mask of runs in which both tops have the same number of positives."""
        return np.abs(self.gain) < 0.5 / self.k

    @property
    def auc_gain(self) -> NDArray[np.float64]:
        """The AUC@k of GD-avg less that of the rival in these runs; nan if a top has one class."""
        return (self.values[f"{GD_AVG}/auc"] - self.values[f"{self.rival}/auc"])[self.equal]

    def sides(self) -> Iterator[tuple[str, NDArray[np.float64], int, NDArray[np.float64], int]]:
        """Yield (method, prec@k, runs with higher prec@k, AUC@k, runs with higher AUC@k)."""
        for method, sign in ((self.rival, -1), (GD_AVG, 1)):
            n_prec_higher = int(np.sum(~self.equal & (sign * self.gain > 0)))
            auc = self.values[f"{method}/auc"][self.equal]
            n_auc_higher = int(np.sum(sign * self.auc_gain > 0))
            yield method, self.values[f"{method}/prec"], n_prec_higher, auc, n_auc_higher


def duels(recipe: Recipe, cells: Cells) -> list[list[Duel]]:
    """Return the duels under every protocol, one list per case."""
    return [
        [_duel(recipe, cells, case, protocol) for protocol in recipe.parameters["protocols"]]
        for case in recipe.parameters["cases"]
    ]


def _duel(recipe: Recipe, cells: Cells, case: Mapping[str, Any], protocol: str) -> Duel:
    runs = [cells[key(case=case["name"], run=run)] for run in range(recipe.repeats or 1)]
    values = {
        name.removeprefix(f"{protocol}/"): np.array([run[name] for run in runs])
        for name in runs[0]
        if name.startswith(f"{protocol}/")
    }
    return Duel(case["name"], case["k"], protocol, case["rival"], values)


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the table's columns for the first protocol, and the differences for all protocols."""
    figures: dict[str, Measured] = {}
    for first_duel, *other_duels in duels(recipe, cells):
        figures |= columns(first_duel) | _differences(first_duel, "")
        for duel in other_duels:
            figures |= _differences(duel, f" ({duel.protocol})")
    return figures


def columns(duel: Duel) -> dict[str, Measured]:
    """Return the figures in the paper's columns, for both methods."""
    figures: dict[str, Measured] = {}
    cutoff, of_runs, n = f"@{duel.k}", f"of {_PRINTED_RUNS}", duel.gain.size
    for method, prec, higher, auc, auc_higher in duel.sides():
        method_figures = {
            f"prec{cutoff}": mean(prec),
            f"prec{cutoff}, s.d.": _deviation(prec),
            f"prec{cutoff} higher, {of_runs}": _count(higher, n),
            f"AUC{cutoff} at equal prec": mean(auc),
            f"AUC{cutoff} at equal prec, s.d.": _deviation(auc),
            f"AUC{cutoff} higher, {of_runs}": _count(auc_higher, n),
        }
        figures |= {
            f"{duel.case}, {method}: {name}": value for name, value in method_figures.items()
        }
    equal = f"{duel.case}, both: prec{cutoff} equal, {of_runs}"
    return {**figures, equal: _count(int(duel.equal.sum()), n)}


def _differences(duel: Duel, suffix: str) -> dict[str, Measured]:
    start = f"{duel.case}, gain{suffix}"
    fresh = duel.values[f"{GD_AVG}/fresh"] - duel.values[f"{duel.rival}/fresh"]
    return {
        f"{start}: prec@{duel.k}": mean(duel.gain),
        f"{start}: AUC@{duel.k} at equal prec": mean(duel.auc_gain),
        f"{start}: prec@{duel.k}, fresh sample": mean(fresh),
    }


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


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return one table per case, with every column under every protocol."""
    return [_table(group) for group in duels(recipe, cells)]


def _table(duels: Sequence[Duel]) -> Table:
    first = duels[0]
    return {
        "columns": [
            *("protocol", "method", f"prec@{first.k}", "s.d.", "higher", "fresh", "at zero"),
            *(f"AUC@{first.k}", "runs", "higher"),
        ],
        "rows": [row for duel in duels for row in _rows(duel)],
        "align": ["left", "left", *["right"] * 8],
        "caption": f"{first.case}: means, standard deviations and numbers of runs. Fresh: the "
        f"mean of prec@{first.k} on rows that were not fitted. AUC@{first.k}: over the runs with "
        "equal precision in which it is defined. At zero: the runs in which the surrogate has its "
        "minimum at zero. All scores are equal there, and ties count as errors.",
    }


def _rows(duel: Duel) -> Iterator[list[Any]]:
    for method, prec, higher, auc, auc_higher in duel.sides():
        defined = auc[np.isfinite(auc)]
        yield [
            duel.protocol if method == duel.rival else "",
            method,
            f"{prec.mean():.3f}",
            f"{prec.std():.2f}",
            higher,
            f"{np.mean(duel.values[f'{method}/fresh']):.3f}",
            int(np.sum(duel.values[f"{method}/length"] < _SHORT)),
            f"{defined.mean():.3f}" if defined.size else None,
            int(defined.size),
            auc_higher,
        ]


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return one figure per case: prec@k of both methods, and how often each is higher."""
    return [_plot(group) for group in duels(recipe, cells)]


def _plot(duels: Sequence[Duel]) -> Figure:
    def panel(duel: Duel) -> Mapping[str, Any]:
        (rival, rival_values, n_lower, *_), (_, own_values, n_higher, *_) = duel.sides()
        mean_by_method = {rival: mean(rival_values), GD_AVG: mean(own_values)}
        return {
            "title": duel.protocol,
            "note": f"higher in {n_higher} runs, lower in {n_lower}",
            "rows": [
                views.row(name, measured, series=name) for name, measured in mean_by_method.items()
            ],
        }

    case, k = duels[0].case, duels[0].k
    return {
        "kind": "grouped_intervals",
        "title": f"{case}: mean prec@{k} by protocol",
        "axis_label": f"prec@{k} on the training rows",
        "panels": [panel(duel) for duel in duels],
        "caption": "Bars are 95 % intervals of the mean over runs. Below each protocol: the "
        f"number of runs in which {GD_AVG} has the higher precision, and the lower one.",
    }


STUDY = Study(cells, run, fold, plots=plots, tables=tables)
"""Table 2, or slide 14 if `n_far` is not 0."""
