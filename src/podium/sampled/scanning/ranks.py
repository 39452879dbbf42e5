"""The result of a scan: the numbers of listed and of drawn items above each target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError, warn
from podium.sampled.design import Floats, Ints
from podium.sampled.ranks import RowsOfUsers, about_mean, integers, labels, weights
from podium.types import PerRow

LEAST_DEPTH = 1.5
"""The depth of lists, in multiples of k, from which on the open targets can be extrapolated."""

_LEAST_GAIN = 2  # useful proxies have 5 or more times as many listed as drawn items above targets
_FEW_ABOVE = 10  # fewer drawn items above targets say nothing about the proxy


@dataclass(frozen=True, eq=False)
class ScannedRanks(RowsOfUsers):
    """The number of items above each target among listed items and among drawn ones.

    The listed items of a target come from the top of a proxy's list. The drawn ones are a uniform
    sample without replacement of the rest of the catalogue. Neither contains the target.

    Parameters
    ----------
    above_listed, n_listed : int, (n,)
        The number of listed items above the target, and of all its listed items.
    above_drawn, n_drawn : int, (n,)
        The number of drawn items above the target, and of all its drawn items. The draws of a
        target may stop as soon as k items are above it, or after a number of draws that does not
        depend on its score.
    n_items : int or int, (n,)
        The number of items that are ranked, including the target.
    k : int
        The largest cutoff of measures.
    above_all : int, (n,), optional
        The number of all items above the targets of an audit, and -1 for other targets. An audit
        ranks randomly chosen open targets among all items.
    user : (n,), optional
        The user of each target, integers or strings. All users have the same weight, and so do the
        targets of one user. By default, each target is a separate user.
    row_weights : (n,), optional
        The weight of each target, instead of equal weights of users.
    item : (n,), optional
        The item of each target, integers or strings. Comparisons of models check that these agree.

    Raises
    ------
    ArgumentError
        If columns differ in length, if more items are above a target than were scored, or if more
        items were scored than the catalogue has. If an audit has targets that are not open, or
        fewer than two.

    Notes
    -----
    A target with k or more items above it is *settled*: each measure with a cutoff of at most k is
    exactly 0. A target is also settled if all items of the catalogue were scored. The other targets
    are *open*.

    Examples
    --------
    >>> ranks = ScannedRanks([10, 2], [20, 30], [0, 1], [0, 15], 1000, k=10)
    >>> ranks.is_open.tolist(), ranks.n_scored.tolist()
    ([False, True], [20, 45])
    """

    above_listed: Ints
    n_listed: Ints
    above_drawn: Ints
    n_drawn: Ints
    n_items: Ints
    k: int
    above_all: Ints
    user: NDArray[Any]
    row_weights: Floats | None
    item: NDArray[Any] | None

    def __init__(
        self,
        above_listed: ArrayLike,
        n_listed: ArrayLike,
        above_drawn: ArrayLike,
        n_drawn: ArrayLike,
        n_items: ArrayLike,
        *,
        k: int,
        above_all: ArrayLike | None = None,
        user: ArrayLike | None = None,
        row_weights: ArrayLike | None = None,
        item: ArrayLike | None = None,
    ) -> None:
        counts = Counts(above_listed, n_listed, above_drawn, n_drawn)._asdict()  # pyright: ignore[reportArgumentType]
        n_rows = np.size(above_listed)
        if not n_rows:
            raise ArgumentError("above_listed must hold at least one target, got none.")
        counts["n_items"] = np.broadcast_to(n_items, n_rows) if np.ndim(n_items) == 0 else n_items
        audited = np.full(n_rows, -1) if above_all is None else above_all
        vars(self).update(
            {name: integers(values, name, n_rows, low=0) for name, values in counts.items()},
            user=np.arange(n_rows) if user is None else labels(user, "user", n_rows),
            k=_check.cutoff(k),
            row_weights=weights(row_weights, n_rows),
            item=None if item is None else labels(item, "item", n_rows),
            above_all=integers(audited, "above_all", n_rows),
        )
        self._refuse_impossible()
        self._refuse_audit()

    def __repr__(self) -> str:
        return (
            f"ScannedRanks({self.above_listed.size} targets of {self.n_users} users, k={self.k}, "
            f"{self.n_scored.mean():.4g} items scored per target, {self.is_open.mean():.1%} open)"
        )

    @property
    def n_rows(self) -> int:
        """The number of targets."""
        return self.above_listed.size

    @property
    def above(self) -> Ints:
        """The number of scored items above each target: int64, (n,)."""
        return self.above_listed + self.above_drawn

    @property
    def n_scored(self) -> Ints:
        """The number of scored items of each target, without an audit: int64, (n,)."""
        return self.n_listed + self.n_drawn

    @property
    def is_audited(self) -> NDArray[np.bool_]:
        """Whether each target was ranked among all items by an audit: bool, (n,)."""
        return self.above_all >= 0

    @property
    def n_rest(self) -> Ints:
        """The number of items of each target that were not scored: int64, (n,)."""
        return self.n_items - 1 - self.n_scored

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Whether unscored items can change a measure at k: bool, (n,)."""
        return (self.above < self.k) & (self.n_rest > 0)

    @property
    def is_fitted(self) -> NDArray[np.bool_]:
        """Whether each target has draws, and is open after the listed items: bool, (n,).

        With strata, other targets have draws too, but their distribution is of no use.
        """
        return (self.n_drawn > 0) & (self.above_listed < self.k)

    @property
    def counts(self) -> Floats:
        """How often each target counts in fits: float64, (n,); 1 for targets of equal weight.

        Fits weight targets as `weights` does, so that they describe the mean user. The sum
        is the number of targets of equal weight whose mean would vary as much (Kish).
        """
        owner, sizes = self._owner_and_sizes
        weights = 1.0 / sizes[owner] if self.row_weights is None else self.row_weights
        return weights * weights.sum() / (weights @ weights)

    def warn_of_random_list(self, name: str = "") -> None:
        """Warn if listed items are hardly better than random ones, unless there is an audit."""
        is_used = self.is_fitted & (self.n_listed > 0)
        if self.is_audited.any() or self.above_drawn[is_used].sum() < _FEW_ABOVE:
            return
        listed = float((self.above_listed[is_used] / self.n_listed[is_used]).mean())
        drawn = float((self.above_drawn[is_used] / self.n_drawn[is_used]).mean())
        if listed < _LEAST_GAIN * drawn:
            model = name and f" for {name}"
            warn(
                f"Of the items that the proxy lists{model}, {listed:.2%} are above an open target, "
                f"and of the random items {drawn:.2%}. The list is hardly better than a random "
                "one, with which estimates can be biased. Use a better proxy, an audit, or random "
                "candidates without a proxy."
            )

    def means_of_users(self, values: PerRow) -> Floats:
        """Return a value of each user, by increasing label: float64, (n_users,).

        Their mean is the mean of the targets, weighted by `weights`. Its standard error
        follows from their variance. Without `row_weights`, the value of a user is the mean
        of its targets.
        """
        owner, sizes = self._owner_and_sizes
        if self.row_weights is None:
            return np.bincount(owner, values) / sizes
        shares = self.weights * sizes.size
        sums = np.bincount(owner, values * shares).astype(np.float64)
        return about_mean(sums, np.bincount(owner, shares).astype(np.float64))

    def _refuse_audit(self) -> None:
        if not self.is_audited.any():
            return
        n_audited, n_open = int(self.is_audited.sum()), int(self.is_open.sum())
        wrong = self.is_audited & ~self.is_open
        wrong |= self.is_audited & (self.above_all < self.above)
        wrong |= self.above_all > self.above + self.n_rest
        if wrong.any() or n_audited < min(2, n_open):
            raise ArgumentError(
                f"above_all must be -1, or the number of all items above an open target, for at "
                f"least two targets, got {n_audited} targets, of which "
                f"{int(wrong.sum())} are settled or have an impossible number."
            )

    def _refuse_impossible(self) -> None:
        for text, is_bad in (
            ("more listed items above the target than listed", self.above_listed > self.n_listed),
            ("more drawn items above the target than drawn", self.above_drawn > self.n_drawn),
            ("more scored items than n_items - 1", self.n_rest < 0),
        ):
            if is_bad.any():
                first = int(np.argmax(is_bad))
                raise ArgumentError(
                    f"{int(is_bad.sum())} targets have {text}, first at row {first} "
                    f"(user {_check.label(self.user[first])}). Correct these rows."
                )


class Counts(NamedTuple):
    """The first columns of `ScannedRanks`: int64, (n_targets,) each."""

    above_listed: Ints
    n_listed: Ints
    above_drawn: Ints
    n_drawn: Ints
