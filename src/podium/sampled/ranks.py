"""Observations of a sampled evaluation: the items above each held-out item.

`SampledRanks` are ranks among items that are drawn uniformly. `ScannedRanks` are numbers of items
above a target among the first ones of a proxy's list, and among items drawn from the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError, arg, warn
from podium.metrics import Measure
from podium.sampled.design import Design, Floats, Ints, refuse_large
from podium.sampled.distribution import RANK_AUC, require_defined
from podium.types import Mask, PerRow

_LARGEST_INTEGER = 2**53 - 1  # the largest integer that float64 distinguishes from its neighbours


def labels(values: ArrayLike | None, name: str, n_rows: int) -> Any:
    """Return a copy of labels, integers or strings: (n,); None without labels.

    Raises
    ------
    ArgumentError
        If there is another object, such as None, or nan, or if there are not n_rows labels.
    """
    if values is None:
        return None
    column = _check.one_dimensional(_check.array(values, name).copy(), name)
    if column.size != n_rows:
        raise ArgumentError(
            f"{arg[name]} must have one label for each of the {n_rows} rows, got {column.size}."
        )
    if column.dtype.kind == "O":
        if not all(isinstance(label, str) for label in column):
            raise ArgumentError(f"{name} must hold integers or strings, got other objects.")
        return column.astype(str)
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise ArgumentError(
            f"{name} must hold integers or strings, got nan at row "
            f"{int(np.argmax(np.isnan(column)))}."
        )
    return column


def weights(values: ArrayLike | None, n_rows: int) -> Floats | None:
    """Return weights of rows, at least 0 and not all 0; None without weights."""
    if values is None:
        return None
    column = _check.weights(values, n_rows, name="row_weights")
    if not column.any():
        raise ArgumentError("row_weights must hold a weight above 0, got 0 for all rows.")
    return column


def integers(
    values: ArrayLike, name: str, n_rows: int | None = None, *, low: int | None = None
) -> Ints:
    """Return integers as int64, or raise for other numbers, another length, or one below `low`."""
    numbers = _check.column(values, name)
    is_whole = _check.whole(numbers, _LARGEST_INTEGER)
    if not is_whole.all():
        row = int(np.argmin(is_whole))
        limit = " below 2 ** 53" if np.abs(numbers[row]) > _LARGEST_INTEGER else ""
        raise ArgumentError(
            f"{name} must be whole numbers{limit}, got {numbers[row]:g} at row {row}."
        )
    if n_rows not in (None, numbers.size):
        raise ArgumentError(
            f"{name} must have one number for each of the {n_rows} rows, got {numbers.size}."
        )
    if low is not None and numbers.min(initial=low) < low:
        row = int(np.argmin(numbers))
        raise ArgumentError(f"{name} must be >= {low}, got {numbers[row]:g} at row {row}.")
    return numbers.astype(np.int64)


def span(size: int | Ints) -> str:
    """Return one size, or the smallest and the largest, as text."""
    low, high = int(np.min(size)), int(np.max(size))
    return str(low) if low == high else f"{low} .. {high}"


def rows_by(a: Ints, b: Ints) -> list[tuple[tuple[int, int], Ints]]:
    """Return the distinct pairs of two columns in increasing order, each with its rows."""
    span = int(np.max(b)) + 1
    keys, number = np.unique(a * span + b, return_inverse=True)
    rows = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
    return [(divmod(key, span), of_key) for key, of_key in zip(keys.tolist(), rows, strict=True)]


def columns_at(table: object, names: Sequence[str], rows: Any) -> dict[str, Any]:
    """Return attributes at some rows; those that are one value for all rows, or None, as it is."""
    columns = {name: getattr(table, name) for name in names}
    return {n: c[rows] if isinstance(c, np.ndarray) else c for n, c in columns.items()}


Fact: TypeAlias = tuple[str, NDArray[Any], NDArray[Any]]
"""What is compared, in words, its values by user or target, and the users."""


@dataclass(frozen=True, eq=False)
class Part:
    """Targets whose ranks have one distribution, and their part of a measure.

    The term of a target is a function of the number of items above it, times a factor. The value of
    a user is the sum over the user's targets.

    Attributes
    ----------
    observed : Observation
    measure : Measure
        The mean of the targets' terms, divided by the mean of their factors.
    rows : int64, (n,)
        The rows of the targets in the observations.
    sizes : float64, (n,)
        The factor of each target's term. Their sum over n_users is the part's.
    key : hashable
        A key that is equal for parts with the same targets and weights up to a factor.
    members : sequence of Part
        The targets by their own terms, if these differ by more than a factor.
    """

    observed: Observation
    measure: Measure
    rows: Ints
    sizes: Floats
    key: Hashable = None
    members: Sequence[Part] = ()

    @property
    def shapes(self) -> Sequence[Part]:
        """The parts whose terms differ by a factor only."""
        return self.members or (self,)

    @property
    def ranks(self) -> Any:
        """The observations of the targets, as if each were the only one of its user.

        They are the same for parts with one key, whose weights differ by a factor.
        """
        return self.observed.ranks_of(self)


class Observation:
    """What a sample shows of users' targets: the contract that estimates and comparisons read.

    Users have the same weight unless rows have weights. A subclass says which `parts` a measure is
    the sum of, and which measures it refuses (`require`). The rest follows from its columns.

    Attributes
    ----------
    above : int64, (n,)
        The number of scored items above each target.
    n_scored : int or int64, (n,)
        The number of scored items of each target.
    is_shared : bool
        Whether whole rankings are observed, so that a measure is a sum over a user's targets.
    """

    user: Any
    item: Any
    n_items: Any
    replacement: bool
    row_weights: Any
    above: Any
    n_scored: Any
    is_shared: ClassVar[bool] = False

    @property
    def n_rows(self) -> int:
        """The number of targets."""
        return self.above.size

    @property
    def sizes(self) -> dict[str, Any]:
        """The sizes of samples that conventions state, by their names."""
        return {"n_items": self.n_items, "n_negatives": self.n_scored}

    @property
    def is_exact(self) -> bool:
        """Whether the ranks are exact, as far as measures of them go."""
        raise NotImplementedError

    @property
    def targets(self) -> Any:
        """The observations of targets, as if each were the only one of its user."""
        return self

    @property
    def n_users(self) -> int:
        """The number of users; without users, that of targets."""
        return self.n_rows if self.user is None else self._owner_and_sizes[1].size

    @property
    def most_items(self) -> int:
        """The number of items of the largest catalogue: the largest rank among all items."""
        return int(np.max(self.n_items))

    @property
    def fewest_items(self) -> int:
        """The number of items of the smallest catalogue."""
        return int(np.min(self.n_items))

    @property
    def owner(self) -> Ints:
        """The number of each row's user, from 0 to n_users - 1: int64, (n,)."""
        return self._owner_and_sizes[0]

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row: float64, (n,). They sum to 1.

        By default, a weight is 1 / (n_users * number of the user's rows).
        """
        if self.row_weights is not None:
            return self.row_weights / self.row_weights.sum()
        if self.user is None:
            return np.full(self.n_rows, 1.0 / self.n_rows)
        owner, sizes = self._owner_and_sizes
        return 1.0 / (sizes.size * sizes[owner])

    @cached_property
    def _owner_and_sizes(self) -> tuple[Ints, Ints]:
        """Return the number of each row's user, and each user's number of rows."""
        if self.user is None:
            return np.arange(self.n_rows), np.broadcast_to(np.int64(1), self.n_rows)
        labels: NDArray[Any] = np.asarray(self.user)
        unique = np.unique(labels, return_inverse=True, return_counts=True)
        return unique[1].astype(np.int64), unique[2].astype(np.int64)

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; warn of a named model with a bad sample."""
        require_defined(measures, self.targets.fewest_items)

    def parts(self, measure: Measure) -> list[Part]:
        """Return the parts that a measure is the sum of."""
        return [Part(self, measure, np.arange(self.n_rows), self.weights * self.n_users)]

    def at(self, part: Part) -> Any:
        """Return the observations of the targets of a part."""
        return self

    ranks_of = at

    def about_mean(self, sums: Floats) -> Floats:
        """Return values of users with the same mean, whose variance gives its error: (n_users,).

        A weighted mean divides by the sum of the weights, so that only the difference of a user
        from the mean counts, times the user's weight. `sums` are those over the user's rows of
        values times weights times n_users.
        """
        if self.row_weights is None:
            return sums
        shares = np.bincount(self.owner, self.weights * self.n_users, self.n_users)
        return sums + sums.mean() * (1.0 - shares)

    def means_of_users(self, values: PerRow) -> Floats:
        """Return a value of each user, by increasing label: float64, (n_users,).

        Their mean is the mean of the rows, weighted by `weights`. Its standard error follows from
        their variance. Without `row_weights`, the value of a user is the mean of its rows.
        """
        shares = self.weights * self.n_users
        sums = np.bincount(self.owner, values * shares, self.n_users)
        return self.about_mean(sums.astype(np.float64))

    def refuse(self, is_bad: Any, text: str) -> None:
        """Raise if a rule, which is the text, fails for a row, with the numbers of the first one.

        Parameters
        ----------
        is_bad : bool, (n,)
        text : str
        """
        if not np.any(is_bad):
            return
        row = int(np.argmax(is_bad))
        user = "" if self.user is None else f" (user {_check.label(self.user[row])})"
        columns = {field.name: vars(self)[field.name] for field in fields(cast("Any", self))}
        whole = {n: np.asarray(c) for n, c in columns.items() if isinstance(c, int | np.ndarray)}
        numbers = ", ".join(
            f"{name} {column[row] if column.ndim else column}"
            for name, column in whole.items()
            if column.dtype.kind == "i" and name != "user"
        )
        n_bad = int(np.sum(is_bad))
        raise ArgumentError(f"{text} Wrong rows: {n_bad}, first row {row}{user} with {numbers}.")

    def labelled(self, name: str, labels: Any) -> Any:
        """Return the same observations with other labels of users or items."""
        return replace(cast("Any", self), **{name: labels})

    def facts(self) -> list[Fact]:
        """Return what models that are compared must have in common."""
        users, counts = np.unique(self.user, return_counts=True)
        columns = {"targets": self.item, f"{arg.n_items}": self.n_items}
        columns = {what: column for what, column in columns.items() if column is not None}
        order = np.lexsort((*reversed(columns.values()), self.user))
        by_target = [(what, column[order], self.user[order]) for what, column in columns.items()]
        return [("number of targets", counts, users), *by_target]


@dataclass(frozen=True, eq=False)
class SampledRanks(Observation):
    """Ranks of held-out items (targets) among items sampled uniformly from the others.

    Parameters
    ----------
    ranks : int, (n,)
        The ranks, from 1 to n_negatives + 1.
    n_negatives : int or int, (n,)
        The number of sampled items beside the target. One number is the size of all samples. An
        array gives the size of each and is required if sizes differ.
    n_items : int or int, (n,)
        The number of items that the sample is drawn from, including the target. Pass an array
        with one number per target if users' catalogues differ because seen items were left out.
    replacement : bool
        Whether an item could be drawn twice.
    user : (n,), optional
        The user of each target, integers or strings. All users have the same weight, and so do the
        targets of one user. By default, each target is a separate user.
    history : int, (n,), optional
        The number of the user's own (training) items among the items that the sample is drawn
        from, without the target; 0 if seen items were left out. Most models rank these items
        first. Only `Smooth` uses it.
    row_weights : float64, (n,), optional
        The weight of each rank, at least 0, if users do not have the same weight. Rows of weight 0
        are left out.
    item : (n,), optional
        The item of each target, integers or strings. Comparisons of whole rankings check that these
        agree.

    Raises
    ------
    ArgumentError
        If there are no ranks, if columns differ in length, or if numbers are not integers.
        If a rank is below 1 or above n_negatives + 1, if n_negatives is n_items or more, or if
        n_items is above 10 ** 8.
        If a history is below 0 or above n_items - 1.

    Notes
    -----
    If a user has several targets, each of them is evaluated in a separate ranking. The user's other
    targets are either left out of this ranking or treated like any other item.

    Examples
    --------
    >>> ((design, counts),) = SampledRanks([1, 3, 1], 4, 100).designs
    >>> counts.tolist()
    [2.0, 0.0, 1.0, 0.0, 0.0]
    >>> ((design, counts),) = SampledRanks([1, 3, 1], 4, 100, user=["a", "a", "b"]).designs
    >>> counts.tolist()
    [1.5, 0.0, 0.5, 0.0, 0.0]
    """

    ranks: Ints
    n_negatives: int | Ints
    n_items: int | Ints
    replacement: bool = True
    user: NDArray[Any] | None = None
    history: Ints | None = None
    row_weights: Floats | None = None
    item: NDArray[Any] | None = None

    def __init__(
        self,
        ranks: ArrayLike,
        n_negatives: ArrayLike,
        n_items: ArrayLike,
        *,
        replacement: bool = True,
        user: ArrayLike | None = None,
        history: ArrayLike | None = None,
        row_weights: ArrayLike | None = None,
        item: ArrayLike | None = None,
    ) -> None:
        observed = integers(ranks, "ranks")
        if not observed.size:
            raise ArgumentError("ranks must hold at least one rank, got none.")
        vars(self).update(
            ranks=observed,
            n_negatives=_sizes(n_negatives, "n_negatives", observed.size),
            n_items=_sizes(n_items, "n_items", observed.size),
            replacement=_check.flag(replacement, "replacement"),
            user=labels(user, "user", observed.size),
            item=labels(item, "item", observed.size),
            history=None if history is None else integers(history, "history", observed.size, low=0),
            row_weights=weights(row_weights, observed.size),
        )
        refuse_large(self.most_items)
        self._refuse_impossible()
        if self.row_weights is not None and not self.row_weights.all():
            names = [field.name for field in fields(self)]
            vars(self).update(columns_at(self, names, self.row_weights > 0))

    def __repr__(self) -> str:
        return (
            f"SampledRanks({self.n_rows} ranks of {self.n_users} users, "
            f"n_negatives={span(self.n_negatives)}, n_items={span(self.n_items)}, "
            f"replacement={self.replacement}"
            f"{'' if self.history is None else f', history={span(self.history)}'})"
        )

    @property
    def n_scored(self) -> int | Ints:
        """The number of sampled items of each target."""
        return self.n_negatives

    @property
    def is_exact(self) -> bool:
        """Whether the samples are the whole catalogue, so that the ranks are exact."""
        return all(design.is_whole for design, _ in self.design_rows)

    @property
    def n_effective(self) -> float:
        """The number of users of equal weight whose mean would vary as much (Kish)."""
        if self.row_weights is None:
            return float(self.n_users)
        shares = np.bincount(self.owner, self.weights, self.n_users)
        return 1.0 / float(shares @ shares)

    @cached_property
    def designs(self) -> tuple[tuple[Design, Floats], ...]:
        """Each design with the number of users per outcome: float64, (design.n_outcomes,).

        A user with m targets counts 1 / m for each of them, so that all sums together are n_users.
        Outcome r - 1 is rank r.
        """
        designs: list[tuple[Design, Floats]] = []
        for design, rows in self.design_rows:
            users = self.weights[rows] * self.n_users
            counts = np.bincount(self.above[rows], users, design.n_outcomes)
            designs.append((design, counts.astype(np.float64)))
        return tuple(designs)

    @property
    def above(self) -> Ints:
        """The number of sampled items above each target, its outcome: int64, (n,)."""
        return self.ranks - 1

    @cached_property
    def design_rows(self) -> tuple[tuple[Design, Ints], ...]:
        """Each design with the rows that have it, in increasing order."""
        columns = (np.broadcast_to(n, self.n_rows) for n in (self.n_negatives, self.n_items))
        return tuple((Design(*pair, self.replacement), rows) for pair, rows in rows_by(*columns))

    def facts(self) -> list[Fact]:
        """Return the catalogue and the weight of each user."""
        sizes = np.zeros(self.n_users, np.int64)
        np.maximum.at(sizes, self.owner, self.n_items)
        weights = np.bincount(self.owner, self.weights)
        users = np.arange(self.n_rows) if self.user is None else np.unique(self.user)
        return [(f"{arg.n_items}", sizes, users), ("row_weights", weights, users)]

    def _refuse_impossible(self) -> None:
        sizes, n_items = (np.broadcast_to(n, self.n_rows) for n in (self.n_negatives, self.n_items))
        self.refuse(
            sizes >= n_items,
            f"{arg.n_negatives} must be below {arg.n_items}, the size of the whole catalogue with "
            "the target.",
        )
        self.refuse(
            (self.ranks < 1) | (self.ranks > sizes + 1),
            f"ranks must lie from 1 to {arg.n_negatives} + 1, the number of items with the target.",
        )
        if self.history is not None:
            self.refuse(
                self.history > n_items - 1,
                f"history must be at most {arg.n_items} - 1. It is the number of the user's own "
                "items in the catalogue, without the target.",
            )


def _sizes(values: ArrayLike, name: str, n_rows: int) -> int | Ints:
    """Return the size of all rows, or one per row if they differ; at least 1."""
    if np.ndim(values) == 0:
        return _check.cutoff(values, name=name)
    sizes = integers(values, name, n_rows, low=1)
    return int(sizes[0]) if (sizes == sizes[0]).all() else sizes


LEAST_DEPTH = 1.5
"""The depth of lists, in multiples of k, from which on the open targets can be extrapolated."""

_LEAST_GAIN = 2  # useful proxies have 5 or more times as many listed as drawn items above targets
_FEW_ABOVE = 10  # fewer drawn items above targets say nothing about the proxy


@dataclass(frozen=True, eq=False)
class ScannedRanks(Observation):
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
        items were scored than the catalogue has.

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
    user: NDArray[Any]
    row_weights: Floats | None
    item: NDArray[Any] | None

    replacement = False

    def __init__(
        self,
        above_listed: ArrayLike,
        n_listed: ArrayLike,
        above_drawn: ArrayLike,
        n_drawn: ArrayLike,
        n_items: ArrayLike,
        *,
        k: int,
        user: ArrayLike | None = None,
        row_weights: ArrayLike | None = None,
        item: ArrayLike | None = None,
    ) -> None:
        counts = Counts(above_listed, n_listed, above_drawn, n_drawn)._asdict()  # pyright: ignore[reportArgumentType]
        n_rows = np.size(above_listed)
        if not n_rows:
            raise ArgumentError("above_listed must hold at least one target, got none.")
        counts["n_items"] = n_items
        counts = {n: c if np.ndim(c) else np.broadcast_to(c, n_rows) for n, c in counts.items()}
        vars(self).update(
            {name: integers(values, name, n_rows, low=0) for name, values in counts.items()},
            user=labels(np.arange(n_rows) if user is None else user, "user", n_rows),
            k=_check.cutoff(k),
            row_weights=weights(row_weights, n_rows),
            item=labels(item, "item", n_rows),
        )
        self.refuse(self.above_listed > self.n_listed, "above_listed must be at most n_listed.")
        self.refuse(self.above_drawn > self.n_drawn, "above_drawn must be at most n_drawn.")
        self.refuse(self.n_rest < 0, "At most n_items - 1 items can be listed or drawn.")

    def __repr__(self) -> str:
        return (
            f"ScannedRanks({self.above_listed.size} targets of {self.n_users} users, k={self.k}, "
            f"{self.n_scored.mean():.4g} items scored per target, {self.is_open.mean():.1%} open)"
        )

    @property
    def is_exact(self) -> bool:
        """Whether all targets are settled, so that measures at k are exact."""
        return not self.is_open.any()

    @property
    def above(self) -> Ints:
        """The number of scored items above each target: int64, (n,)."""
        return self.above_listed + self.above_drawn

    @property
    def n_scored(self) -> Ints:
        """The number of scored items of each target: int64, (n,)."""
        return self.n_listed + self.n_drawn

    @property
    def n_rest(self) -> Ints:
        """The number of items of each target that were not scored: int64, (n,)."""
        return self.n_items - 1 - self.n_scored

    @property
    def is_open(self) -> Mask:
        """Whether unscored items can change a measure at k: bool, (n,)."""
        return (self.above < self.k) & (self.n_rest > 0)

    @property
    def is_fitted(self) -> Mask:
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

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that a scan to k does not settle; warn of a bad proxy."""
        for measure in measures:
            if measure.k is None or measure.k > self.k or measure.name == RANK_AUC:
                raise ArgumentError(
                    f"{measure} cannot be estimated from a scan to k = {self.k}, which shows the "
                    "top of lists only. Use a measure with a cutoff, such as recall@10, and scan "
                    "with a k of at least the cutoff."
                )
        super().require(measures, name)
        is_used = self.is_fitted & (self.n_listed > 0)
        if self.above_drawn[is_used].sum() < _FEW_ABOVE:
            return
        listed = float((self.above_listed[is_used] / self.n_listed[is_used]).mean())
        drawn = float((self.above_drawn[is_used] / self.n_drawn[is_used]).mean())
        if listed < _LEAST_GAIN * drawn:
            model = name and f" for {name}"
            warn(
                f"Of the items that the proxy lists{model}, {listed:.2%} are above an open target, "
                f"and of the random items {drawn:.2%}. The list is hardly better than a random "
                "one, with which estimates can be biased. Use a better proxy, or random candidates "
                "without a proxy."
            )


class Counts(NamedTuple):
    """The first columns of `ScannedRanks`: int64, (n_targets,) each."""

    above_listed: Ints
    n_listed: Ints
    above_drawn: Ints
    n_drawn: Ints
