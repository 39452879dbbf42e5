"""Which objective is best at pAp@k on MovieLens: podium's against those that people use."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.data import movielens as read_movielens
from podium.metrics import pap
from podium.papers.hiranandani2020 import movielens
from podium.papers.hiranandani2020.objectives_methods import (
    ABLATION,
    LINEAR,
    METHODS,
    OWN,
    PODIUM,
    Candidate,
    Split,
)
from podium.papers.recipe import Recipe
from podium.papers.rows import Parts, Rows, drawn
from podium.papers.study import Cells, Figures, Measured, Result, Study, generator, key, mean, parts
from podium.ranking import Ranking
from podium.report import Figure, Table
from podium.types import PerGroup, PerRow

_FIVE_STARS = 5.0
_DECIMALS = 6


class Context:
    """The rows and their items, and the last split."""

    def __init__(self, recipe: Recipe, rows: Rows, item: NDArray[np.int64]) -> None:
        self._recipe, self._rows, self._item = recipe, rows, item
        self._last: tuple[int, Split] | None = None

    def split(self, seed: int) -> Split:
        """Return the split of one repeat: that of `pap-table3-movielens` for the same seed."""
        if self._last is None or self._last[0] != seed:
            self._last = seed, self._drawn(seed)
        return self._last[1]

    def _drawn(self, seed: int) -> Split:
        whole = self._rows
        places = np.arange(whole.y.size)
        where = [
            part.X[:, 0]
            for part in drawn(
                Rows(places[:, None], whole.y, whole.qid), generator(self._recipe, "split", seed)
            )
        ]
        train, valid, test = (self._item[rows] for rows in where)
        return Split(Parts(*(whole.take(rows) for rows in where)).scaled(), (train, valid, test))


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Prepare MovieLens-100k as hiranandani2020 did."""
    (path,) = paths.values()
    prepared = movielens.prepare(read_movielens(path, "100k"))
    positive = (prepared.rating == _FIVE_STARS).astype(np.float64)
    return Context(recipe, Rows(prepared.X, positive, prepared.user), prepared.item)


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: every method on every split, for all cutoffs at once; ablations last."""
    names = [_check.choice(name, "methods", list(METHODS)) for name in recipe.parameters["methods"]]
    last = [name for name in names if METHODS[name].kind == ABLATION]
    first = [name for name in names if name not in last]
    splits = range(recipe.repeats or 1)
    return [
        key(seed=seed, method=name) for some in (first, last) for seed in splits for name in some
    ]


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Try all of a method's options on one split; for each cutoff test the best by validation.

    Returns lists with a value for each of the recipe's cutoffs: "valid" and "pap", the means;
    "user" and "gain", the test users that pap is defined on with their values; and "chosen".
    """
    asked = parts(cell)
    seed, cutoffs = int(asked["seed"]), recipe.parameters["cutoffs"]
    split = context.split(seed)
    start = int(generator(recipe, "start", seed).integers(2**31))
    tried = METHODS[asked["method"]].candidates(split, recipe.parameters, start)
    best = choose(tried, split.parts.valid, cutoffs)
    return {
        "valid": [value for value, _ in best],
        "chosen": [dict(found.options) for _, found in best],
        **_tested([found.test for _, found in best], split.parts.test, cutoffs),
    }


def choose(
    tried: Iterator[Candidate], valid: Rows, cutoffs: Sequence[int]
) -> list[tuple[float, Candidate]]:
    """Return for each cutoff the best on validation, the first of equal ones."""
    best: list[tuple[float, Candidate]] = []
    for candidate in tried:
        values = [float(np.nanmean(each)) for each in _gains(candidate.valid, valid, cutoffs)]
        if not best:
            best = [(value, candidate) for value in values]
        best = [
            (value, candidate) if value > held[0] else held
            for value, held in zip(values, best, strict=True)
        ]
    return best


def _tested(scores: Sequence[PerRow], test: Rows, cutoffs: Sequence[int]) -> dict[str, Any]:
    """Return users and values, each cutoff by its own scores."""
    labels = np.unique(test.qid)
    pairs = zip(scores, cutoffs, strict=True)
    gains = [_gains(each, test, [k])[0] for each, k in pairs]
    known = [np.isfinite(gain) for gain in gains]
    return {
        "pap": [float(gain[rows].mean()) for gain, rows in zip(gains, known, strict=True)],
        "user": [labels[rows].tolist() for rows in known],
        "gain": [
            gain[rows].round(_DECIMALS).tolist() for gain, rows in zip(gains, known, strict=True)
        ],
    }


def _gains(scores: PerRow, rows: Rows, cutoffs: Sequence[int]) -> list[PerGroup]:
    """Return pap by user, tied pairs as errors; nan for a user that a cutoff does not suit."""
    ranking = Ranking.from_scores(scores, rows.y, qid=rows.qid, ties="worst")
    return [pap(ranking, k=k) for k in cutoffs]


Gains: TypeAlias = NDArray[np.float64]
"""By split, user and cutoff, in points; nan for a user that pap is not defined on."""
Pair: TypeAlias = tuple[str, Gains, Gains]

PERCENT = 100.0
Z = 1.96  # an interval of 95 %
LOGISTIC, PAP_LOGISTIC, BINARY = "logistic regression", "pap-logistic", "LightGBM binary"
BEST, CHOSEN = "LightGBM's own best on test", "LightGBM's own best on validation"


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return each method's percentages, and the differences by cutoff and over them."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    figures: dict[str, Measured] = {}
    for name in recipe.parameters["methods"]:
        found = [cells[key(seed=seed, method=name)]["pap"] for seed in range(recipe.repeats or 1)]
        for at, k in enumerate(cutoffs):
            figures[f"{name} k={k}"] = mean(PERCENT * each[at] for each in found)
    by_method = gains(recipe, cells)
    drawn = DrawnUsers(recipe, np.isfinite(next(iter(by_method.values()))))
    for label, one, other in pairs(recipe, cells, by_method):
        figures |= differences(label, one - other, drawn, cutoffs)
    return figures


def gains(recipe: Recipe, cells: Cells) -> Mapping[str, Gains]:
    """Return every method's values, (n_splits, n_users, n_cutoffs)."""
    names, splits = recipe.parameters["methods"], range(recipe.repeats or 1)
    found = {name: [cells[key(seed=seed, method=name)] for seed in splits] for name in names}
    last = max(user for each in found[names[0]] for users in each["user"] for user in users)
    by_method: dict[str, Gains] = {}
    for name in names:
        values = np.full((len(splits), last + 1, len(recipe.parameters["cutoffs"])), np.nan)
        for split, each in enumerate(found[name]):
            for at, (users, gain) in enumerate(zip(each["user"], each["gain"], strict=True)):
                values[split, users, at] = PERCENT * np.array(gain)
        by_method[name] = values
    return by_method


def pairs(recipe: Recipe, cells: Cells, by_method: Mapping[str, Gains]) -> Iterator[Pair]:
    """Yield what is compared: its label, and the values of both."""
    trees = [name for name in by_method if METHODS[name].kind != LINEAR]
    for one, other in _OF_LINEAR:
        if {one, other} <= {*by_method}:
            yield f"{one} − {other}", by_method[one], by_method[other]
    own = {name: by_method[name] for name in trees if METHODS[name].kind == OWN}
    for ours in (name for name in trees if METHODS[name].kind == PODIUM and own):
        yield f"{ours} − {BEST}", by_method[ours], best_on_test(own)
        yield f"{ours} − {CHOSEN}", by_method[ours], best_on_validation(recipe, cells, own)
    for name in trees:
        if name != BINARY and BINARY in trees:
            yield f"{name} − {BINARY}", by_method[name], by_method[BINARY]
    for one, other in _OF_TREES:
        if {one, other} <= {*by_method}:
            yield f"{one} − {other}", by_method[one], by_method[other]


def best_on_test(own: Mapping[str, Gains]) -> Gains:
    """Return for each cutoff the values of the method whose mean over test users is best.

    Nobody could have chosen so; it puts what is compared with it at a disadvantage.
    """
    stacked = np.stack([*own.values()])
    best = np.nanmean(stacked, axis=2).mean(axis=1).argmax(axis=0)
    return np.stack([stacked[name, :, :, at] for at, name in enumerate(best)], axis=-1)


def best_on_validation(recipe: Recipe, cells: Cells, own: Mapping[str, Gains]) -> Gains:
    """Return for each split and cutoff the values of the method that is best on validation."""
    stacked = np.stack([*own.values()])
    chosen = np.empty(stacked.shape[1:])
    for split in range(stacked.shape[1]):
        valid = [cells[key(seed=split, method=name)]["valid"] for name in own]
        for at, name in enumerate(np.argmax(valid, axis=0)):
            chosen[split, :, at] = stacked[name, split, :, at]
    return chosen


class DrawnUsers:
    """Samples of users for the bootstrap, the same for all that is compared.

    Parameters
    ----------
    recipe : Recipe
    known : bool, (n_splits, n_users, n_cutoffs)
        Where there are values.
    """

    def __init__(self, recipe: Recipe, known: NDArray[np.bool_]) -> None:
        n_users, draws = known.shape[1], recipe.parameters["draws"]
        times = generator(recipe, "users").multinomial(
            n_users, np.full(n_users, 1 / n_users), draws
        )
        self.times = times.astype(np.float64)
        self.known = known
        self.counts = np.einsum("du,suk->dsk", self.times, known.astype(np.float64))

    def means(self, gap: Gains) -> NDArray[np.float64]:
        """Return the mean over splits of the mean over drawn users, (n_draws, n_cutoffs).

        A split that none of its users was drawn for counts as no difference; with tens of users
        that does not happen.
        """
        total = np.einsum("du,suk->dsk", self.times, np.where(self.known, gap, 0.0))
        return (total / np.maximum(self.counts, 1.0)).mean(axis=1)


def differences(label: str, gap: Gains, drawn: DrawnUsers, cutoffs: Sequence[int]) -> Figures:
    """Return a difference by cutoff, averaged over cutoffs, and where it is weakest and strongest.

    Each is the mean over splits of the mean over users. The same users are in all splits, so the
    bootstrap draws users, each with all of its values, and the error is how the means vary.
    """
    known, varied = drawn.known, drawn.means(gap)
    means = np.nanmean(gap, axis=1).mean(axis=0)
    users = known.any(axis=0).sum(axis=0)
    found = [
        Measured(float(means[at]), float(varied[:, at].std(ddof=1)), int(users[at]))
        for at in range(len(cutoffs))
    ]
    over_all = Measured(
        float(means.mean()),
        float(varied.mean(axis=1).std(ddof=1)),
        int(known.any(axis=(0, 2)).sum()),
    )
    return {
        **{f"{label} k={k}": each for k, each in zip(cutoffs, found, strict=True)},
        f"{label}, mean over k": over_all,
        f"{label}, least mean of all k": Measured(float(means.min()), n=int(users.min())),
        f"{label}, lowest interval of all k": min(found, key=_low),
        f"{label}, highest interval of all k": max(found, key=_low),
    }


def _low(found: Measured) -> float:
    return found.value - Z * found.std_error


_OF_LINEAR = (
    (PAP_LOGISTIC, LOGISTIC),
    ("pap-logistic, sharper", LOGISTIC),
    ("group-logistic, linear", LOGISTIC),
    (PAP_LOGISTIC, "group-logistic, linear"),
)
_OF_TREES = (
    ("group-logistic, pooled", "LightGBM lambdarank"),
    ("group-logistic, pooled", "LightGBM rank_xendcg"),
    ("group-logistic, pooled", "group-logistic, labels"),
    ("group-logistic, pooled", "LightGBM cross_entropy, pooled"),
    ("group-logistic, pooled", "LightGBM binary, item as category"),
    ("group-logistic, pooled, item as category", "group-logistic, pooled"),
    ("group-logistic, pooled, item as category", "LightGBM binary, item as category"),
)


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return pap against k by method, and the differences with their intervals."""
    names = recipe.parameters["methods"]
    main = [name for name in names if METHODS[name].kind in (OWN, PODIUM)]
    main = [name for name in names if name in (LOGISTIC, PAP_LOGISTIC, *main)]
    ours = [name for name in names if METHODS[name].kind == PODIUM]
    compared = [
        f"{PAP_LOGISTIC} − {LOGISTIC}",
        *(f"{name} − {other}" for name in ours for other in (BEST, CHOSEN)),
    ]
    trees = [name for name in names if f"{name} − {BINARY}{_OVER_K}" in figures]
    return [
        _levels(recipe, figures, main),
        *(_by_cutoff(recipe, figures, pair) for pair in compared if pair + _OVER_K in figures),
        *([_trees(figures, trees)] if trees else []),
    ]


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return pap by method and k, differences by k, users, and what was chosen."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    names: Sequence[str] = recipe.parameters["methods"]
    columns = [f"k={k}" for k in cutoffs]
    pairs = [label.removesuffix(_OVER_K) for label in figures if label.endswith(_OVER_K)]
    return [
        {
            "caption": "pap@k on test, per cent: mean over splits ± its standard error",
            "columns": ["method", *columns],
            "rows": [
                [name, *(_text(figures[f"{name} k={k}"], 2) for k in cutoffs)] for name in names
            ],
        },
        {
            "caption": "Differences in points, with intervals of 95 % over users",
            "columns": ["difference", *columns, "mean over k"],
            "rows": [
                [
                    pair,
                    *(_interval(figures[f"{pair} k={k}"]) for k in cutoffs),
                    _interval(figures[pair + _OVER_K]),
                ]
                for pair in pairs
            ],
        },
        {
            "caption": "Test users that pap@k is defined on, mean over splits",
            "columns": ["", *columns],
            "rows": [["users", *_users(recipe, cells)]],
        },
        {
            "caption": "Options chosen on validation in most splits (in how many)",
            "columns": ["method", *columns],
            "rows": [[name, *_chosen(recipe, cells, name)] for name in names],
        },
    ]


def _levels(recipe: Recipe, figures: Figures, names: Sequence[str]) -> Figure:
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    return {
        "kind": "line_plot",
        "title": "pap@k on test by objective",
        "x_label": "k",
        "y_label": "pap@k (%)",
        "series": [
            _line(name, cutoffs, [figures[f"{name} k={k}"] for k in cutoffs]) for name in names
        ],
        "caption": "Mean over splits; the band is its 95 % interval over splits.",
    }


def _line(label: str, cutoffs: Sequence[int], found: Sequence[Measured]) -> Mapping[str, Any]:
    return {
        "label": label,
        "x": list(cutoffs),
        "y": [each.value for each in found],
        "low": [each.value - _margin(each) for each in found],
        "high": [each.value + _margin(each) for each in found],
    }


def _by_cutoff(recipe: Recipe, figures: Figures, pair: str) -> Figure:
    rows = [_row(f"k = {k}", figures[f"{pair} k={k}"]) for k in recipe.parameters["cutoffs"]]
    one, _, other = pair.partition(" − ")
    return _differences([*rows, _row("mean", figures[pair + _OVER_K])], one, other)


def _differences(rows: Sequence[Mapping[str, Any]], one: str, other: str) -> Figure:
    return {
        "kind": "difference_plot",
        "title": f"{one} − {other}",
        "axis_label": "difference in pap@k (points)",
        "rows": rows,
        "digits": 2,
        "caption": "Paired by user; intervals of 95 % from a bootstrap over users.",
    }


def _trees(figures: Figures, names: Sequence[str]) -> Figure:
    return {
        "kind": "difference_plot",
        "title": f"Trees above {BINARY}, mean over k",
        "axis_label": "difference in pap@k (points)",
        "rows": [
            _row(name.replace(" as category", ""), figures[f"{name} − {BINARY}{_OVER_K}"])
            for name in names
        ],
        "digits": 2,
        "caption": "Paired by user; intervals of 95 % from a bootstrap over users.",
    }


def _row(label: str, found: Measured) -> Mapping[str, Any]:
    margin = _margin(found)
    return {
        "label": label,
        "value": found.value,
        "low": found.value - margin,
        "high": found.value + margin,
    }


def _margin(found: Measured) -> float:
    return 0.0 if math.isnan(found.std_error) else Z * found.std_error


def _text(found: Measured, digits: int) -> str:
    error = "" if math.isnan(found.std_error) else f" ± {found.std_error:.{digits}f}"
    return f"{found.value:.{digits}f}{error}"


def _interval(found: Measured) -> str:
    low, high = found.value - _margin(found), found.value + _margin(found)
    return f"{found.value:+.2f} [{low:+.2f}, {high:+.2f}]"


def _users(recipe: Recipe, cells: Cells) -> list[str]:
    splits = range(recipe.repeats or 1)
    found = [cells[key(seed=s, method=recipe.parameters["methods"][0])]["user"] for s in splits]
    return [
        f"{sum(len(each[at]) for each in found) / len(found):.0f}"
        for at in range(len(recipe.parameters["cutoffs"]))
    ]


def _chosen(recipe: Recipe, cells: Cells, name: str) -> list[str]:
    splits = range(recipe.repeats or 1)
    texts: list[str] = []
    for at in range(len(recipe.parameters["cutoffs"])):
        found = [cells[key(seed=seed, method=name)]["chosen"][at] for seed in splits]
        counts = Counter(
            ", ".join(f"{_SHORT.get(option, option)} {value:g}" for option, value in each.items())
            for each in ({k: v for k, v in one.items() if k != "trees"} for one in found)
        )
        (text, times), *_ = counts.most_common(1)
        trees = sorted(each["trees"] for each in found if "trees" in each)
        median = f"; median trees {trees[len(trees) // 2]}" if trees else ""
        texts.append(f"{text} ({times}){median}")
    return texts


_OVER_K = ", mean over k"
_SHORT = {
    "learning_rate": "rate",
    "num_leaves": "leaves",
    "min_data_in_leaf": "rows in leaf",
    "bagging_fraction": "share of rows",
}


STUDY = Study(cells, run, fold, prepare, plots, tables)
"""podium's objectives against logistic regression and LightGBM's own."""
