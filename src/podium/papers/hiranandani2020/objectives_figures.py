"""From values by user to means, and to differences with intervals over users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.papers.hiranandani2020.objectives_methods import LINEAR, METHODS, OWN, PODIUM
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, generator, key, mean

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
