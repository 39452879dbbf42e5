"""The check that models have observations of the same users, targets and catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.sampled.estimators import Estimator
from podium.sampled.ranks import Fact, SampledRanks
from podium.sampled.shared import SharedRanks

_ROUNDING = 1e-9  # of weights
_STRATA = (
    " If all tables have strata, their column must have one name: stratum, or that of "
    f"{arg['columns', 'stratum']}."
)
_SAME_USERS = "Models are compared on the same users"


def matched(models: Mapping[str, Any], method: Estimator) -> list[Any]:
    """Return the observations of models that can be compared, with users' labels of one type.

    Parameters
    ----------
    models : mapping of str to SampledRanks, SharedRanks or ScannedRanks
        The observations by the name of the model.
    method : Estimator
        The method. If it reads histories, either all samples or none must have them.

    Returns
    -------
    list of SampledRanks, SharedRanks or ScannedRanks

    Raises
    ------
    ArgumentError
        If the kinds of observations differ, if one has users and another has none, if users differ,
        or if there are no users and the numbers of rows differ. If users have other weights, other
        targets or other catalogues. If the method reads histories and only some samples have them.
    """
    kinds: dict[str, list[str]] = {}
    for name, ranks in models.items():
        kinds.setdefault(_kind(ranks), []).append(name)
    if len(kinds) > 1:
        got = " and ".join(f"{kind} ({', '.join(names)})" for kind, names in kinds.items())
        raise ArgumentError(
            f"models must have samples of one kind, got {got}. Give all models the same candidates."
            f"{_STRATA if 'ScannedRanks' in kinds or 'SharedRanks with strata' in kinds else ''}"
        )
    samples = _of_same_users(models)
    if isinstance(samples[0], SampledRanks):
        without = [name for name, ranks in models.items() if ranks.history is None]
        if method.reads_history and 0 < len(without) < len(samples):
            raise ArgumentError(
                f"{', '.join(without)}: no column of users' history, but other models have one, "
                f"and {method.name} reads it. Add the column, or leave it out of all models."
            )
    first, *others = (ranks.facts() for ranks in samples)
    for name, other in zip(list(models)[1:], others, strict=True):
        names = f"{name} and {next(iter(models))}"
        for fact, expected in zip(other, first, strict=True):
            _require_same(fact, expected, names)
    return samples


def _kind(ranks: Any) -> str:
    has_strata = isinstance(ranks, SharedRanks) and ranks.has_strata
    return f"{type(ranks).__name__}{' with strata' * has_strata}"


def _of_same_users(models: Mapping[str, Any]) -> list[Any]:
    """Return samples whose users' labels have one type; raise unless their users are the same."""
    first, samples = next(iter(models)), list(models.values())
    without = [name for name, ranks in models.items() if ranks.user is None]
    if without and len(without) < len(samples):
        raise ArgumentError(
            f"{without[0]} has no column of users, but another model has one. {_SAME_USERS}. Add "
            "the column, or give its name."
        )
    for name in without:
        if models[name].n_rows != samples[0].n_rows:
            raise ArgumentError(
                f"{name} has {models[name].n_rows} ranks and {first} has {samples[0].n_rows}, "
                f"without a column of users. {_SAME_USERS}. Add a column of users."
            )
    if without:
        return samples
    samples = _with_labels(_with_labels(samples, "user"), "item")
    users = {name: np.unique(ranks.user) for name, ranks in zip(models, samples, strict=True)}
    for a, b in [pair for name in models for pair in ((first, name), (name, first))]:
        missing = users[a][~np.isin(users[a], users[b])]
        if missing.size:
            raise ArgumentError(
                f"{b} lacks {missing.size} of the {users[a].size} users of {a}, first "
                f"{_check.label(missing[0])}. {_SAME_USERS}. Keep the users that all models have."
            )
    return samples


def _with_labels(samples: Sequence[Any], name: str) -> list[Any]:
    """Return samples whose labels are strings if some are (7 becomes '7'), or none if some lack."""
    columns = [getattr(ranks, name) for ranks in samples]
    if any(column is None for column in columns):
        alike = [None] * len(columns)
    elif len({column.dtype.kind in "iu" for column in columns}) == 1:
        alike = columns
    else:
        alike = [column.astype(np.str_) for column in columns]
    pairs = zip(samples, columns, alike, strict=True)
    return [ranks if old is new else replace(ranks, **{name: new}) for ranks, old, new in pairs]


def _require_same(fact: Fact, expected: Fact, names: str) -> None:
    (what, values, users), wanted = fact, expected[1]
    is_float = values.dtype.kind == "f"
    is_other = ~np.isclose(values, wanted, _ROUNDING, 0.0) if is_float else values != wanted
    if is_other.any():
        row = int(np.argmax(is_other))
        raise ArgumentError(
            f"{names} must have the same {what} for each user, got {_check.label(values[row])} and "
            f"{_check.label(wanted[row])} for user {_check.label(users[row])}. Rank the same "
            "held-out items of the same catalogue by all models, with the same ids and weights."
        )
