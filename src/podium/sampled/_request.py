"""What is asked of sampled ranks: estimator and measures that fit them, and the record of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.metrics import Measure, listed_measures
from podium.sampled.design import Ints
from podium.sampled.distribution import rank_weights, read_measure
from podium.sampled.estimators import Estimator, get
from podium.sampled.estimators.smooth.data import has_history
from podium.sampled.likelihood import likelihood
from podium.sampled.ranks import SampledRanks

Pair = tuple[SampledRanks, SampledRanks]

_WHY = "Models are compared on the same users"


def read_request(
    estimator: str | Estimator,
    measures: str | Measure | Iterable[str | Measure],
    samples: Sequence[SampledRanks],
) -> tuple[Estimator, list[Measure]]:
    """Return the estimator and the measures, or say why these cannot be estimated so."""
    method = get(estimator)
    wanted = [read_measure(each) for each in listed_measures(measures)]
    if not wanted:
        raise ArgumentError("measures must name at least one measure, as ['ndcg@10'].")
    for i, each in enumerate(wanted):
        if each in wanted[:i]:
            raise ArgumentError(f"measures names {each} twice. Keep one.")
    for ranks in samples:
        method.check(ranks)
        smallest = int(np.min(ranks.n_items))
        for each in wanted:
            if np.isnan(rank_weights(each, smallest)).any():
                raise ArgumentError(
                    f"{each} is undefined in a catalogue of {smallest} items. Lower its cutoff."
                )
    return method, wanted


def read_resamples(n_bootstrap: int) -> int:
    """Return a number of resamples that has a variance."""
    if _check.cutoff(n_bootstrap, name="n_bootstrap") < 2:
        raise ArgumentError(f"n_bootstrap must be >= 2, got {n_bootstrap}.")
    return int(n_bootstrap)


def conventions(
    method: Estimator, ranks: SampledRanks, seed: int, n_bootstrap: int | None
) -> dict[str, Any]:
    """Return method and design as JSON can hold them; sizes that differ as [least, most]."""
    return {
        "method": str(method),
        "n_users": ranks.n_users,
        "n_items": _extent(ranks.n_items),
        "n_negatives": _extent(ranks.n_negatives),
        "replacement": ranks.replacement,
        "stages": list(ranks.stages) or None,
        "history": _use_of_history(method, ranks),
        "n_bootstrap": n_bootstrap,
        "seed": seed,
    }


def _use_of_history(method: Estimator, ranks: SampledRanks) -> str | None:
    """Return whether histories are part of the estimate, or None if there are none."""
    if ranks.history is None:
        return None
    used = method.reads_history and not likelihood(ranks).is_exact and has_history(ranks)
    return "read" if used else "not read"


def _extent(size: int | Ints) -> int | list[int]:
    low, high = int(np.min(size)), int(np.max(size))
    return low if low == high else [low, high]


def same_catalogue(a: SampledRanks, b: SampledRanks) -> Pair:
    """Return both if they are of the same users and catalogue."""
    a, b = same_users((a, b), ("a", "b"))
    if a.most_items != b.most_items:
        raise ArgumentError(
            f"a and b must be of the same catalogue, got n_items of {a.most_items} and "
            f"{b.most_items}."
        )
    return a, b


def comparable(
    samples: Sequence[SampledRanks],
    names: Sequence[str],
    estimator: str | Estimator = "auto",
    *,
    noun: str = "sample",
) -> list[SampledRanks]:
    """Return samples with users' labels of one type, if their models can be compared.

    Parameters
    ----------
    samples : sequence of SampledRanks
        One for each model.
    names : sequence of str
        What messages call the samples.
    estimator : str or Estimator
        Where it reads histories, all samples must have one or none.
    noun : str
        What messages call a sample.

    Raises
    ------
    ArgumentError
        If one sample has users and another has none, if their users differ, or the numbers of
        rows where there are no users; if a history is read that others lack.
    """
    method = get(estimator)
    without = [name for name, ranks in zip(names, samples, strict=True) if ranks.history is None]
    if method.reads_history and 0 < len(without) < len(samples):
        raise ArgumentError(
            f"{', '.join(without)}: no column of users' history, and other {noun}s have one, which "
            f"{method.name} reads. Add it, or leave it out of all {noun}s."
        )
    return same_users(samples, names, noun=noun)


def same_users(
    samples: Sequence[SampledRanks], names: Sequence[str], *, noun: str = "sample"
) -> list[SampledRanks]:
    """Return samples with users' labels of one type, if they are of the same users."""
    without = [name for name, ranks in zip(names, samples, strict=True) if ranks.user is None]
    if without and len(without) < len(samples):
        raise ArgumentError(
            f"{without[0]} has no column of users, and another {noun} has one. {_WHY}: add it, or "
            "name it by columns['user']."
        )
    if without:
        _refuse_lengths(samples, names)
        return list(samples)
    alike = _labels_alike(samples)
    users: list[NDArray[Any]] = [np.unique(np.asarray(ranks.user)) for ranks in alike]
    for there, name in zip(users[1:], names[1:], strict=True):
        _refuse_others(users[0], names[0], there, name, noun)
        _refuse_others(there, name, users[0], names[0], noun)
    return alike


def _labels_alike(samples: Sequence[SampledRanks]) -> list[SampledRanks]:
    """Return samples whose users are text in all where they are text in one: 7 is '7'."""
    labels: list[NDArray[Any]] = [np.asarray(ranks.user) for ranks in samples]
    if len({each.dtype.kind in "iu" for each in labels}) == 1:
        return list(samples)
    return [
        replace(ranks, user=each.astype(np.str_))
        for ranks, each in zip(samples, labels, strict=True)
    ]


def _refuse_lengths(samples: Sequence[SampledRanks], names: Sequence[str]) -> None:
    first = samples[0].n_rows
    for ranks, name in zip(samples[1:], names[1:], strict=True):
        if ranks.n_rows != first:
            raise ArgumentError(
                f"{name} has {ranks.n_rows} ranks and {names[0]} has {first}, without a column of "
                f"users. {_WHY}: add one."
            )


def _refuse_others(
    users: NDArray[Any], name: str, others: NDArray[Any], other: str, noun: str
) -> None:
    """Refuse users that the other sample lacks."""
    lost = users[~np.isin(users, others)]
    if lost.size:
        raise ArgumentError(
            f"{other} lacks {lost.size} of the {users.size} users of {name}, first "
            f"{_check.label(lost[0])}. {_WHY}: keep those that all {noun}s have."
        )
