"""The check that models have observations of the same users, targets and catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError, arg
from podium.metrics import Measure, listed_measures
from podium.sampled.design import Ints
from podium.sampled.distribution import read_measure
from podium.sampled.estimators import Estimator, get
from podium.sampled.ranks import SampledRanks
from podium.sampled.shared.ranks import SharedRanks

_ROUNDING = 1e-9  # of weights
_SAME_USERS = "Models are compared on the same users"


def read_measures(measures: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Return measures that ranks determine: at least one, and none of them twice."""
    parsed = [read_measure(measure) for measure in listed_measures(measures)]
    if not parsed:
        raise ArgumentError(f"{arg.measures} must name at least one measure, such as ['ndcg@10'].")
    for i, measure in enumerate(parsed):
        if measure in parsed[:i]:
            raise ArgumentError(f"{arg.measures} names {measure} twice. Keep one.")
    return parsed


def require_kind(value: Any, kind: type, name: str, advice: str) -> None:
    """Raise unless a value is of a kind of observations."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{name} must be {kind.__name__}, got {type(value).__name__}. {advice}")


def require_several(models: Mapping[str, Any]) -> None:
    """Raise unless there are two models or more, with one kind of observations."""
    if not isinstance(models, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            "models must be a mapping of names to samples, such as {'a': a, 'b': b}, "
            f"got {type(models).__name__}."
        )
    if len(models) < 2:
        raise ArgumentError(
            f"models must be at least two, got {len(models)}. Use evaluate for one model."
        )


def read_resamples(n_bootstrap: int) -> int:
    """Return a number of resamples of at least 2, so that it has a variance."""
    if _check.cutoff(n_bootstrap, name="n_bootstrap") < 2:
        raise ArgumentError(f"{arg.n_bootstrap} must be >= 2, got {n_bootstrap}.")
    return int(n_bootstrap)


def extent(size: int | Ints) -> int | list[int]:
    """Return a size, or the smallest and the largest one."""
    low, high = int(np.min(size)), int(np.max(size))
    return low if low == high else [low, high]


def same_catalogue(a: SampledRanks, b: SampledRanks) -> tuple[SampledRanks, SampledRanks]:
    """Return both samples if they have the same users, with the same catalogues and weights."""
    a, b = same_users((a, b), ("a", "b"))
    sizes_a, sizes_b = map(_catalogue_sizes, (a, b))
    is_other = sizes_a != sizes_b
    if is_other.any():
        user = int(np.argmax(is_other))
        raise ArgumentError(
            f"a and b must have the same catalogue, got {arg.n_items} = {sizes_a[user]} and "
            f"{sizes_b[user]}{_of_user(a, user)}. Rank the same catalogue by both models."
        )
    weights_a, weights_b = (np.bincount(ranks.owner, ranks.weights) for ranks in (a, b))
    is_other = ~np.isclose(weights_a, weights_b, rtol=_ROUNDING, atol=0.0)
    if is_other.any():
        raise ArgumentError(
            "a and b must have the same weights of users, got different row_weights"
            f"{_of_user(a, int(np.argmax(is_other)))}. Weight users equally in both."
        )
    return a, b


def _catalogue_sizes(ranks: SampledRanks) -> Ints:
    """Return the number of items of each user's largest catalogue: int64, (n_users,)."""
    sizes = np.zeros(ranks.n_users, np.int64)
    np.maximum.at(sizes, ranks.owner, ranks.n_items)
    return sizes


def _of_user(ranks: SampledRanks, number: int) -> str:
    if ranks.user is None:
        return f" at row {number}"
    return f" for user {_check.label(np.unique(ranks.user)[number])}"


def comparable(
    samples: Sequence[SampledRanks],
    names: Sequence[str],
    estimator: str | Estimator = "auto",
    *,
    noun: str = "sample",
) -> list[SampledRanks]:
    """Return samples whose users' labels have one type, if their models can be compared.

    Parameters
    ----------
    samples : sequence of SampledRanks
        One sample per model.
    names : sequence of str
        The names of the samples in messages.
    estimator : str or Estimator
        The method. If it reads histories, either all samples or none must have them.
    noun : str
        The word for a sample in messages.

    Returns
    -------
    list of SampledRanks

    Raises
    ------
    ArgumentError
        If one sample has users and another has none, if the users differ, or if there are no users
        and the numbers of rows differ. If the method reads histories and only some samples have
        them.
    """
    method = get(estimator)
    names_without = [
        name for name, ranks in zip(names, samples, strict=True) if ranks.history is None
    ]
    if method.reads_history and 0 < len(names_without) < len(samples):
        raise ArgumentError(
            f"{', '.join(names_without)}: no column of users' history, but other {noun}s have one, "
            f"and {method.name} reads it. Add the column, or leave it out of all {noun}s."
        )
    return same_users(samples, names, noun=noun)


def same_users(samples: Sequence[Any], names: Sequence[str], *, noun: str = "sample") -> list[Any]:
    """Return samples whose users' labels have one type, if they have the same users."""
    names_without = [name for name, ranks in zip(names, samples, strict=True) if ranks.user is None]
    if names_without and len(names_without) < len(samples):
        raise ArgumentError(
            f"{names_without[0]} has no column of users, but another {noun} has one. "
            f"{_SAME_USERS}. Add the column, or give its name as columns['user']."
        )
    for ranks, name in zip(samples if names_without else (), names, strict=False):
        if ranks.n_rows != samples[0].n_rows:
            raise ArgumentError(
                f"{name} has {ranks.n_rows} ranks and {names[0]} has {samples[0].n_rows}, without "
                f"a column of users. {_SAME_USERS}. Add a column of users."
            )
    if names_without:
        return list(samples)
    labels = _of_one_type([ranks.user for ranks in samples])
    users = dict(zip(names, map(np.unique, labels), strict=True))
    for a, b in [pair for name in names[1:] for pair in ((names[0], name), (name, names[0]))]:
        missing = users[a][~np.isin(users[a], users[b])]
        if missing.size:
            raise ArgumentError(
                f"{b} lacks {missing.size} of the {users[a].size} users of {a}, first "
                f"{_check.label(missing[0])}. {_SAME_USERS}. Keep the users that all {noun}s have."
            )
    return [
        ranks if user is ranks.user else replace(ranks, user=user)
        for ranks, user in zip(samples, labels, strict=True)
    ]


def same_rows(models: Mapping[str, Any], estimator: str | Estimator) -> list[Any]:
    """Return samples of one kind whose models can be compared, with labels of one type."""
    samples, names = list(models.values()), list(models)
    kinds = {type(ranks).__name__ for ranks in samples}
    if len(kinds) > 1:
        raise ArgumentError(
            f"models must have samples of one kind, got {' and '.join(sorted(kinds))}."
        )
    if isinstance(samples[0], SharedRanks) and len({ranks.has_strata for ranks in samples}) > 1:
        raise ArgumentError(
            "models must all have strata, or none of them, because the methods differ. Give all "
            "models the same candidates."
        )
    if not isinstance(samples[0], SampledRanks):
        return same_targets(samples, names)
    first, *others = comparable(samples, names, estimator)
    return [first, *(same_catalogue(first, ranks)[1] for ranks in others)]


def same_targets(samples: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return samples whose users' labels have one type, if they have the same targets.

    Without items in all samples, users must have the same numbers of targets.

    Parameters
    ----------
    samples : sequence of ScannedRanks or SharedRanks
        One sample per model.
    names : sequence of str
        The names of the models in messages.

    Returns
    -------
    list of ScannedRanks or SharedRanks

    Raises
    ------
    ArgumentError
        If users, targets or sizes of catalogues differ.
    """
    relabelled = same_users(samples, names, noun="model")
    items = _common_items(relabelled)
    orders = [
        np.lexsort((ranks.n_items, *([] if item is None else [item]), ranks.user))
        for ranks, item in zip(relabelled, items, strict=True)
    ]
    for i in range(1, len(relabelled)):
        first, other = ((relabelled[j], items[j], orders[j]) for j in (0, i))
        _refuse_other_targets(first, other, f"{names[i]} and {names[0]}")
    return relabelled


def _of_one_type(labels: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return labels that are all strings if some are, so that 7 becomes '7'."""
    if len({column.dtype.kind in "iu" for column in labels}) == 1:
        return list(labels)
    return [column.astype(np.str_) for column in labels]


def _common_items(samples: Sequence[Any]) -> Sequence[NDArray[Any] | None]:
    """Return items of one type, strings if one sample has strings; None if one has no items."""
    items = [ranks.item for ranks in samples]
    return [None] * len(items) if any(item is None for item in items) else _of_one_type(items)


_Ordered = tuple[Any, "NDArray[Any] | None", Ints]


def _refuse_other_targets(first: _Ordered, other: _Ordered, names: str) -> None:
    """Raise unless two samples have the same targets, and as many items for each."""
    (a, a_item, a_order), (b, b_item, b_order) = first, other
    users = a.user[a_order]
    if not np.array_equal(users, b.user[b_order]):
        raise ArgumentError(
            f"{names} must have the same targets, but users have different numbers of them. Rank "
            "the same held-out items by all models."
        )
    if a_item is not None and b_item is not None:
        is_other = a_item[a_order] != b_item[b_order]
        if is_other.any():
            row = int(np.argmax(is_other))
            raise ArgumentError(
                f"{names} must have the same targets, but those of user "
                f"{_check.label(users[row])} differ. Rank the same held-out items by all models, "
                "with the same item ids."
            )
    is_other = a.n_items[a_order] != b.n_items[b_order]
    if is_other.any():
        row = int(np.argmax(is_other))
        sizes = b.n_items[b_order][row], a.n_items[a_order][row]
        raise ArgumentError(
            f"{names} must rank the same items, got {arg.n_items} = {sizes[0]} and {sizes[1]} for "
            f"user {_check.label(users[row])}. Rank the same catalogue by all models."
        )
