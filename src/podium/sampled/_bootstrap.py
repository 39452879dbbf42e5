"""Users drawn again with replacement, as counts of what was observed rather than rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.sampled.ranks import SampledRanks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Tally(SampledRanks):
    """Sampled ranks whose rows stand for any number of users, or for a part of one.

    The users' histories are not told apart: who reads these is not fitted to resamples.
    Estimators read it as they read rows that are repeated, at the cost of the distinct rows.
    """

    def __init__(self, rows: SampledRanks, counts: Floats) -> None:
        kept = np.flatnonzero(counts > 0)
        taken: dict[str, Any] = {"ranks": rows.ranks[kept], "user": None}
        for name in ("n_negatives", "n_items"):
            size: int | Ints = getattr(rows, name)
            taken[name] = size[kept] if isinstance(size, np.ndarray) else size
        for field in fields(SampledRanks):
            object.__setattr__(self, field.name, taken.get(field.name, getattr(rows, field.name)))
        object.__setattr__(self, "weights", counts[kept] / counts.sum())
        object.__setattr__(self, "_total", round(float(counts.sum())))

    @property
    def n_users(self) -> int:
        return int(self.__dict__["_total"])


@dataclass(frozen=True, eq=False)
class _Part:
    """One sample's distinct rows, and what a user of each kind adds to them."""

    cells: SampledRanks
    kind: Ints
    cell: Ints
    weight: Floats

    def tally(self, users: Ints) -> Tally:
        """Return the rows of so many users of each kind."""
        added = users[self.kind] * self.weight
        counts = np.bincount(self.cell, added, self.cells.n_rows)
        return Tally(self.cells, counts.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Resampler:
    """Users of one or several samples, those who observed the same counted together.

    Attributes
    ----------
    counts : int64, (n_kinds,)
        Users of each kind.
    """

    counts: Ints
    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, samples: Sequence[SampledRanks]) -> Resampler:
        """Gather the users of samples that have the same users.

        Parameters
        ----------
        samples : sequence of SampledRanks
            Users are matched by `SampledRanks.owner`.
        """
        found = [_cells(each) for each in samples]
        observed = list(
            zip(
                *(_by_user(each, cell) for each, (_, cell) in zip(samples, found, strict=True)),
                strict=True,
            )
        )
        place = {kind: i for i, kind in enumerate(sorted(set(observed)))}
        kinds = np.array([place[each] for each in observed])
        first = np.unique(kinds, return_index=True)[1]
        parts: list[_Part] = []
        for each, (cells, cell) in zip(samples, found, strict=True):
            rows = np.flatnonzero(np.isin(each.owner, first))  # of one user of each kind
            # In an order that labels do not change, since sums of fractions depend on it.
            rows = rows[np.lexsort((cell[rows], kinds[each.owner[rows]]))]
            weight = each.weights[rows] * each.n_users
            parts.append(_Part(cells, kinds[each.owner[rows]], cell[rows], weight))
        return cls(np.bincount(kinds), tuple(parts))

    def draw(self, n: int, seed: int) -> Iterator[tuple[Tally, ...]]:
        """Yield n times as many users as there are, drawn with replacement, sample by sample.

        Parameters
        ----------
        n, seed : int
        """
        rng = np.random.default_rng([_check.seed(seed), *b"users"])
        total = int(self.counts.sum())
        for _ in range(n):
            users = rng.multinomial(total, self.counts / total)
            yield tuple(part.tally(users) for part in self.parts)


def _by_user(ranks: SampledRanks, cell: Ints) -> list[bytes]:
    """Return what each user observed, as text that sorts as the cells do."""
    order = np.lexsort((cell, ranks.owner))
    text = cell[order].astype(">i8").tobytes()
    ends = 8 * np.cumsum(np.bincount(ranks.owner))
    return [text[a:b] for a, b in pairwise([0, *ends.tolist()])]


def _cells(ranks: SampledRanks) -> tuple[SampledRanks, Ints]:
    """Return the distinct rows, and which of them each row is."""
    sizes, items = (
        np.broadcast_to(np.asarray(size), ranks.n_rows)
        for size in (ranks.n_negatives, ranks.n_items)
    )
    rows, place = np.unique(
        np.column_stack([ranks.ranks, sizes, items]), axis=0, return_inverse=True
    )
    cells = SampledRanks(
        rows[:, 0],
        rows[:, 1] if isinstance(ranks.n_negatives, np.ndarray) else ranks.n_negatives,
        rows[:, 2] if isinstance(ranks.n_items, np.ndarray) else ranks.n_items,
        replacement=ranks.replacement,
        stages=ranks.stages or None,
    )
    return cells, place.reshape(-1).astype(np.int64)
