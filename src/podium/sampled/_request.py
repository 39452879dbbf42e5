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
from podium.sampled._measures import rank_weights, read_measure
from podium.sampled.estimators.base import Estimator
from podium.sampled.estimators.registry import get, text
from podium.sampled.estimators.smooth.data import has_history
from podium.sampled.likelihood import likelihood
from podium.sampled.ranks import SampledRanks

Pair = tuple[SampledRanks, SampledRanks]


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


def name_of(method: Estimator) -> str:
    """Return the text of an estimator, or how Python shows one that has none."""
    try:
        return text(method)
    except ArgumentError:
        return repr(method)


def conventions(
    method: Estimator, ranks: SampledRanks, seed: int, n_bootstrap: int | None
) -> dict[str, Any]:
    """Return method and design as JSON can hold them; sizes that differ as [least, most]."""
    return {
        "method": name_of(method),
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


def _extent(size: int | NDArray[np.int64]) -> int | list[int]:
    low, high = int(np.min(size)), int(np.max(size))
    return low if low == high else [low, high]


def same_users(a: SampledRanks, b: SampledRanks) -> Pair:
    """Return both if they are of the same users and catalogue."""
    if (a.user is None) != (b.user is None):
        raise ArgumentError("a and b must both have user labels, or neither: one has none.")
    if a.user is None or b.user is None:
        if a.n_rows != b.n_rows:
            raise ArgumentError(
                f"a and b must be of the same users, got {a.n_rows} and {b.n_rows} ranks. Give "
                "both their users' labels (user)."
            )
    else:
        a, b = with_labels_alike((a, b))
        _refuse_others(np.unique(np.asarray(a.user)), np.unique(np.asarray(b.user)))
    if a.most_items != b.most_items:
        raise ArgumentError(
            f"a and b must be of the same catalogue, got n_items of {a.most_items} and "
            f"{b.most_items}."
        )
    return a, b


def with_labels_alike(samples: Sequence[SampledRanks]) -> list[SampledRanks]:
    """Return samples whose users are text in all where they are text in one: 7 is '7'."""
    labels: list[NDArray[Any]] = [np.asarray(ranks.user) for ranks in samples]
    if len({each.dtype.kind in "iu" for each in labels}) == 1:
        return list(samples)
    return [
        replace(ranks, user=each.astype(np.str_))
        for ranks, each in zip(samples, labels, strict=True)
    ]


def _refuse_others(a: NDArray[Any], b: NDArray[Any]) -> None:
    for one, other, name in ((a, b, "b"), (b, a, "a")):
        lost = one[~np.isin(one, other)]
        if lost.size:
            raise ArgumentError(
                f"a and b must be of the same users, but {name} lacks {lost.size} of them, first "
                f"{_check.label(lost[0])}. Keep the users that both have."
            )
