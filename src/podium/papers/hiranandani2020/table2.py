"""Table 2 of hiranandani2020, and its variation on slide 14: one user, made up 300 times.

Methods of the paper under three protocols, all judged on the rows that they were fitted on:
descent with the settings of the paper's code, the paper's algorithm 1 run long from zero, and
the minimum of each surrogate, which is certified by a duality gap.
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
from podium.papers import views
from podium.papers.hiranandani2020.baselines import PrecisionAverage, SVMpAUC
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, Study, generator, key, mean, parts
from podium.rankers import LinearRanker
from podium.ranking import Ranking
from podium.report import Figure, Table

Sample = tuple[NDArray[np.float64], NDArray[np.float64]]  # features, relevance

OURS = "GD-avg"
_SHORT = 0.01  # coefficients this short are at zero, up to the solver's tolerance
_PRINTED_RUNS = 300  # counts are of so many runs, whatever the number of repeats

LOSSES: dict[str, Callable[[int], Loss]] = {"GD-avg": PApAverage, "SGD@k-avg": PrecisionAverage}
"""What the methods by descent minimise, by their names in the table; SVM-pAUC is the third."""


def cells(recipe: Recipe) -> Sequence[str]:
    """Return a cell for each case and run."""
    return [
        key(case=case["name"], run=run)
        for run in range(recipe.repeats or 1)
        for case in recipe.parameters["cases"]
    ]


def run(recipe: Recipe, context: Any, cell: str) -> Result:
    """Draw one user, fit both methods under each protocol, and look at the top k."""
    asked = parts(cell)
    index = int(asked["run"])
    names = [case["name"] for case in recipe.parameters["cases"]]
    number = names.index(asked["case"])
    case = recipe.parameters["cases"][number]
    sample, fresh = (
        draw(recipe, case, generator(recipe, purpose, number, index))
        for purpose in ("sample", "fresh sample")
    )
    found: dict[str, Any] = {}
    for protocol, settings in recipe.parameters["protocols"].items():
        for method in (OURS, case["rival"]):
            ranker = _ranker(method, case["k"], index, settings[method])
            for name, value in _judged(ranker, sample, fresh, case["k"]).items():
                found[f"{protocol}/{method}/{name}"] = value
    return found


def draw(recipe: Recipe, case: Mapping[str, Any], rng: np.random.Generator) -> Sample:
    """Draw positives around `positive_mean` in each feature, a few further off, negatives around 0.

    The first `n_far` positives are drawn around `far_mean`.
    """
    d = recipe.parameters["n_features"]
    centres = np.zeros(case["n_pos"] + case["n_neg"])
    centres[: case["n_pos"]] = recipe.parameters["positive_mean"]
    centres[: recipe.parameters["n_far"]] = recipe.parameters["far_mean"]
    X = rng.standard_normal((centres.size, d)) + centres[:, np.newaxis]
    return X, (np.arange(centres.size) < case["n_pos"]).astype(np.float64)


def top(scores: NDArray[np.float64], relevance: NDArray[np.float64], k: int) -> dict[str, float]:
    """Return prec@k, and AUC@k: the area under the ROC curve among the k best-scored items.

    AUC@k is nan where these are all of one class. Ties count as errors.
    """
    best = Ranking.from_scores(scores, relevance).relevance[:k]
    among = Ranking.from_scores(-np.arange(best.size, dtype=np.float64), best)
    return {"prec": float(best.mean()), "auc": float(parse("auc")(among)[0])}


def _judged(ranker: Any, sample: Sample, fresh: Sample, k: int) -> dict[str, float]:
    ranker.fit(*sample, group=[sample[1].size])
    return {
        **top(ranker.predict(sample[0]), sample[1], k),
        "fresh": top(ranker.predict(fresh[0]), fresh[1], k)["prec"],
        "length": math.sqrt(float(np.sum(np.square(ranker.coef_)))),
    }


def _ranker(method: str, k: int, seed: int, options: Mapping[str, Any]) -> Any:
    if method in LOSSES:
        return LinearRanker(LOSSES[method](k), random_state=seed, **options)
    return SVMpAUC(k, **options)  # cutting planes draw nothing


@dataclass(frozen=True)
class Duel:
    """Two methods in one case under one protocol, run by run."""

    case: str
    k: int
    protocol: str
    rival: str
    values: Mapping[str, NDArray[np.float64]]  # "method/prec" and so on

    @property
    def gain(self) -> NDArray[np.float64]:
        """By how much GD-avg's prec@k is higher."""
        return self.values[f"{OURS}/prec"] - self.values[f"{self.rival}/prec"]

    @property
    def equal(self) -> NDArray[np.bool_]:
        """Runs with the same number of positives in both tops."""
        return np.abs(self.gain) < 0.5 / self.k

    @property
    def auc_gain(self) -> NDArray[np.float64]:
        """By how much GD-avg's AUC@k is higher in those; nan where a top is all of one class."""
        return (self.values[f"{OURS}/auc"] - self.values[f"{self.rival}/auc"])[self.equal]

    def sides(self) -> Iterator[tuple[str, NDArray[np.float64], int, NDArray[np.float64], int]]:
        """Yield of both methods prec@k and AUC@k, and in how many runs each is higher."""
        for method, sign in ((self.rival, -1), (OURS, 1)):
            higher = int(np.sum(~self.equal & (sign * self.gain > 0)))
            auc = self.values[f"{method}/auc"][self.equal]
            auc_higher = int(np.sum(sign * self.auc_gain > 0))
            yield method, self.values[f"{method}/prec"], higher, auc, auc_higher


def duels(recipe: Recipe, cells: Cells) -> list[list[Duel]]:
    """Return the duels under every protocol, by case."""
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
    """Return the table's columns for the first protocol, and differences for the others."""
    figures: dict[str, Measured] = {}
    for first, *others in duels(recipe, cells):
        figures |= columns(first) | _differences(first, "")
        for duel in others:
            figures |= _differences(duel, f" ({duel.protocol})")
    return figures


def columns(duel: Duel) -> dict[str, Measured]:
    """Return the columns that the paper prints, for both methods."""
    figures: dict[str, Measured] = {}
    at, runs, n = f"@{duel.k}", f"of {_PRINTED_RUNS}", duel.gain.size
    for method, prec, higher, auc, auc_higher in duel.sides():
        named = {
            f"prec{at}": mean(prec),
            f"prec{at}, s.d.": _deviation(prec),
            f"prec{at} higher, {runs}": _count(higher, n),
            f"AUC{at} at equal prec": mean(auc),
            f"AUC{at} at equal prec, s.d.": _deviation(auc),
            f"AUC{at} higher, {runs}": _count(auc_higher, n),
        }
        figures |= {f"{duel.case}, {method}: {name}": value for name, value in named.items()}
    equal = f"{duel.case}, both: prec{at} equal, {runs}"
    return {**figures, equal: _count(int(duel.equal.sum()), n)}


def _differences(duel: Duel, suffix: str) -> dict[str, Measured]:
    start = f"{duel.case}, gain{suffix}"
    fresh = duel.values[f"{OURS}/fresh"] - duel.values[f"{duel.rival}/fresh"]
    return {
        f"{start}: prec@{duel.k}": mean(duel.gain),
        f"{start}: AUC@{duel.k} at equal prec": mean(duel.auc_gain),
        f"{start}: prec@{duel.k}, fresh sample": mean(fresh),
    }


def _count(count: int, n: int) -> Measured:
    share = count / n
    return Measured(_PRINTED_RUNS * share, _PRINTED_RUNS * math.sqrt(share * (1 - share) / n), n)


def _deviation(values: NDArray[np.float64]) -> Measured:
    """Return the standard deviation of defined values; its own error is a normal sample's."""
    found = values[np.isfinite(values)]
    if found.size < 2:
        return Measured(float("nan"), n=int(found.size))
    spread = float(found.std(ddof=1))
    return Measured(spread, spread / math.sqrt(2 * (found.size - 1)), int(found.size))


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return every column under every protocol."""
    return [_table(group) for group in duels(recipe, cells)]


def _table(duels: Sequence[Duel]) -> Table:
    first = duels[0]
    return {
        "columns": [
            *("protocol", "method", f"prec@{first.k}", "s.d.", "higher", "fresh", "at zero"),
            *(f"AUC@{first.k}", "of", "higher"),
        ],
        "rows": [row for duel in duels for row in _rows(duel)],
        "align": ["left", "left", *["right"] * 8],
        "caption": f"{first.case}: means, standard deviations and counts of runs. Fresh is the "
        f"mean of prec@{first.k} on rows that were not fitted. AUC@{first.k} is of the runs with "
        "equal precision where it is defined. A method is at zero where its surrogate has its "
        "minimum there: it finds nothing then, since ties count as errors.",
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
    """Show prec@k of both methods under every protocol, and how often each is higher."""
    return [_plot(group) for group in duels(recipe, cells)]


def _plot(duels: Sequence[Duel]) -> Figure:
    def panel(duel: Duel) -> Mapping[str, Any]:
        (rival, theirs, lower, *_), (_, ours, higher, *_) = duel.sides()
        both = {rival: mean(theirs), OURS: mean(ours)}
        return {
            "title": duel.protocol,
            "note": f"higher in {higher}, lower in {lower}",
            "rows": [views.row(name, found, series=name) for name, found in both.items()],
        }

    case, k = duels[0].case, duels[0].k
    return {
        "kind": "grouped_intervals",
        "title": f"{case}: mean prec@{k} by protocol",
        "axis_label": f"prec@{k} on the rows that were fitted",
        "panels": [panel(duel) for duel in duels],
        "caption": "Bars are 95 % intervals of the mean over runs. Below each protocol: in how "
        f"many runs {OURS} has the higher precision, and the lower one.",
    }


STUDY = Study(cells, run, fold, plots=plots, tables=tables)
"""Table 2, and slide 14 where `n_far` is not 0."""
