"""The users of all looks of a sequential gate, in one file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._arrays import read_arrays, write_arrays
from podium.decide.pairs import Pairs
from podium.decide.rules import Rules, fixed
from podium.errors import ArgumentError, DataError, arg
from podium.protocol import Protocol

_KIND, _FORMAT = "podium_gate", 2
_NOUN = "gate state"
_ORDER = 2  # part of the seed that separates the order of new users from other draws


@dataclass(frozen=True, eq=False)
class State:
    """The users of all looks in the order of arrival.

    Attributes
    ----------
    rules : Rules
    pairs : Pairs
    looks : tuple of int
        The number of users at each look, increasing.
    """

    rules: Rules
    pairs: Pairs
    looks: tuple[int, ...]

    @classmethod
    def first(cls, rules: Rules, pairs: Pairs) -> State:
        """Return the state of the first look."""
        return cls(rules, _shuffled(pairs, 0), (pairs.n_users,))

    def added(self, pairs: Pairs) -> State:
        """Return the state with the new users of `pairs`, or the same state if there are none.

        Raises
        ------
        ArgumentError
            If a user of an earlier look has other values now, if a cluster of an earlier look gets
            new users, or if the horizon was reached before.
        """
        from podium.data.users import user_positions

        known = user_positions(pairs.labels, self.pairs.labels)
        self._refuse_changes(pairs, known)
        new = pairs.rows(known < 0)
        if not new.n_users:
            return self
        self._refuse_late(new)
        joined = _joined(self.pairs, _shuffled(new, len(self.looks)))
        return replace(self, pairs=joined, looks=(*self.looks, joined.n_users))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the state completely or not at all.

        Raises
        ------
        ArgumentError
            If path is a folder, or its folder does not exist.
        """
        header = {"protocol": self.rules.protocol.as_json(), "looks": list(self.looks)}
        write_arrays(path, _KIND, _FORMAT, self.pairs.columns, header)

    @classmethod
    def read(cls, path: str | os.PathLike[str], rules: Rules, pairs: Pairs) -> State:
        """Read a state whose rules must be those of this look.

        Raises
        ------
        ArgumentError
            If a rule or a field of the protocol that decides a value differs.
        DataError
            If the file is damaged or not the state of a gate.
        """
        header, arrays = read_arrays(path, _KIND, _FORMAT, noun=_NOUN)
        try:
            _refuse_other(Path(path), header, rules.protocol)
            earlier = Pairs({name: arrays[name] for name in pairs.columns})
            return cls(rules, earlier, tuple(map(int, header["looks"])))
        except ArgumentError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{path} is not a complete {_NOUN} ({error}). Pass another one."
            ) from None

    def _refuse_changes(self, pairs: Pairs, known: NDArray[np.int64]) -> None:
        current, earlier = pairs.rows(known >= 0), self.pairs.rows(known[known >= 0])
        for column, now in current.columns.items():
            kind, _, name = column.partition(" ")
            if kind in ("labels", "segment"):  # a user stays in the segments of the first look
                continue
            then = earlier.columns[column]
            differs = now != then
            if now.dtype.kind == "f":
                differs = ~np.isclose(now, then, rtol=0, atol=1e-9, equal_nan=True)
            if differs.any():
                row, noun = int(differs.argmax()), f"{name} of {kind}" if name else kind
                raise ArgumentError(
                    f"{arg.state} has {noun} {_text(then[row])} for user "
                    f"{_check.label(current.labels[row])}, but it is {_text(now[row])} now "
                    f"({int(differs.sum())} users differ). The values of earlier users can't "
                    "change: pass only users whose lists and truth are final, or begin a new state."
                )

    def _refuse_late(self, new: Pairs) -> None:
        horizon = self.rules.horizon
        if horizon is not None and self.pairs.n_users >= horizon:
            raise ArgumentError(
                f"{arg.state} has {self.pairs.n_users} users, so the horizon of {horizon} was "
                "reached. The last verdict is final. Begin a new state for another test."
            )
        if new.cluster is None or self.pairs.cluster is None:
            return
        split = np.isin(new.cluster, self.pairs.cluster)
        if split.any():
            raise ArgumentError(
                f"cluster {_check.label(new.cluster[split.argmax()])} has users of an earlier look "
                f"and new ones. With {arg.state}, all users of a cluster must arrive together."
            )


def _text(value: Any) -> str:
    return _check.label(value) if isinstance(value, str) else f"{value:.4g}"


def _refuse_other(path: Path, header: Mapping[str, Any], protocol: Protocol) -> None:
    earlier = Protocol.of_json(header["protocol"])
    then, now = fixed(earlier), fixed(protocol)
    changed = ((name, then[name], now[name]) for name in now if then[name] != now[name])
    differing = next(changed, earlier.differing(protocol))
    if differing is not None:
        name, begun, value = differing
        raise ArgumentError(
            f"{arg.state} {path} was begun with {name} {begun!r}, but this look has {value!r}. The "
            "rules of a gate can't change between looks. Begin a new state for other rules."
        )


def _shuffled(pairs: Pairs, look: int) -> Pairs:
    """Return new users in a random order of users, or of clusters, which depends on nothing else.

    In the order of their ids, the first users could be the oldest ones. In a random order of the
    users of clusters, the first clusters would be the largest ones.
    """
    rng = np.random.default_rng([look, _ORDER])
    if pairs.cluster is None:
        return pairs.rows(rng.permutation(pairs.n_users))
    labels, codes = np.unique(pairs.cluster, return_inverse=True)
    return pairs.rows(np.argsort(rng.permutation(labels.size)[codes], kind="stable"))


def _joined(first: Pairs, second: Pairs) -> Pairs:
    new = second.columns
    joined = {name: np.concatenate([c, new[name]]) for name, c in first.columns.items()}
    if first.labels.dtype.kind != second.labels.dtype.kind:  # the same ids, some not numbers
        joined["labels"] = np.concatenate([p.labels.astype(np.str_) for p in (first, second)])
    return Pairs(joined)
