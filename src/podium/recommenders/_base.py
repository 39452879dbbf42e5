"""The interface of recommenders: fit pairs, score, recommend and rank items, save to a file."""

from __future__ import annotations

import abc
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from podium import _check
from podium.catalogue import ScoreFunction, target_ranks, top_k
from podium.errors import ArgumentError, arg
from podium.executors import Executor
from podium.executors.local import Threads, or_threads
from podium.ranking import kept_offsets
from podium.recommenders import _ids, _pairs
from podium.recommenders._auto import settled
from podium.recommenders._files import Saved
from podium.recommenders._ids import IdsLike
from podium.recommenders._pairs import Floats, Ints
from podium.types import Labels, PerRow, Ties

Items: TypeAlias = "NDArray[Any]"

_PART = 2**14  # users whose lists are one task of an executor
_BLOCK = 2**22  # scores held in memory at a time when single pairs are scored


class Recommender(Saved, BaseEstimator, abc.ABC):
    """A model that scores all items for each user that it was fitted to.

    To write a new recommender, subclass `MatrixRecommender`, or subclass this class and define
    `fit` and `_score`. The model can be saved if `_learned` has the types and axes of its
    arrays.

    Attributes
    ----------
    user_labels_, item_labels_ : (n_users,), (n_items,), or None
        The ids in ascending order if the pairs came from a table. None if they came from a matrix,
        whose users and items are row and column numbers.
    user_items_ : scipy.sparse.csr_array of float32, (n_users, n_items)
        The pairs that `recommend` leaves out by default, and their weights.
    seen_offsets_, seen_items_, seen_weights_
        The same pairs in the form in which they are saved: user u has the items
        ``seen_items_[lo:hi]`` with ``lo, hi = seen_offsets_[u : u + 2]``. The model has learned
        from those of weight > 0.
    """

    makes_passes: ClassVar[bool] = False
    """Whether `fit` learns in passes: it also takes eval_set, executor, progress, checkpoint and
    resume, and the parameter `eval_metric` names the measure of an eval_set."""
    reads_weights: ClassVar[bool] = True
    """Whether the weights of pairs have an effect."""
    reads_gain: ClassVar[bool] = False
    """Whether the model has the parameter `gain`, which sets the weights of pairs."""
    reads_times: ClassVar[bool] = False
    """Whether the model has the parameter `half_life`, so that times have an effect."""
    repeats: ClassVar[bool] = False
    """Whether the model recommends items that a user has already, unless `exclude_seen` is True."""
    serves_unknown: ClassVar[bool] = False
    """Whether users without a pair get a list, also if their ids are not in the fit."""
    default_space: ClassVar[tuple[dict[str, Any], ...]] = ()
    """The values that a search draws from by default, as `tuning.default_grid` returns them; a
    text such as "log(0.01,1)" is a distribution of `tuning.parse_values`. Empty: no default."""
    stop_reason_: str = ""
    """The reason why the last fit stopped; empty if the model records none."""

    @abc.abstractmethod
    def fit(self, user_items: Any, *, seen: Any = None) -> Self:
        """Learn from pairs of users and items.

        Parameters
        ----------
        user_items : scipy.sparse matrix, (n_users, n_items), or table
            The pairs. A value > 0 is the weight of the pair, if the model uses weights. The values
            of repeated pairs are added up, so that the weight of a pair of a table without values
            is its number of rows (`podium.data.Interactions.repeated_share`). With gain="one", each
            pair has the weight 1. A table is anything that `podium.data.read_interactions` reads. A
            value of 0 in a matrix means that there is no pair. A row of a table with value 0 is a
            pair that is neither learned nor recommended, unless gain is "one".
        seen : as user_items, optional
            Further pairs, such as low ratings, which are neither learned nor recommended.

        Raises
        ------
        ArgumentError
            If a parameter is out of range, if there are no pairs, or if a value is negative or not
            finite.
        MissingExtraError
            If the model belongs to another library that is not installed.
        """

    def for_data(self, user_items: Any) -> Self:
        """Return a copy in which parameters that follow from the data have the values for it."""
        return clone(self)

    def cost(self, user_items: sparse.csr_array[Any]) -> tuple[float, float]:
        """Return rough estimates for a fit: its processor time in seconds, and its memory in bytes.

        A model that declares no estimate returns zeros. `podium.tuning` tries no model that can't
        be fitted with the time and memory at hand.
        """
        del user_items
        return 0.0, 0.0

    @abc.abstractmethod
    def _score(self, users: Ints) -> Floats:
        """Return the scores of all items for the given row numbers of users."""

    @property
    def n_users_(self) -> int:
        """The number of users of the fit."""
        check_is_fitted(self)
        return self.seen_offsets_.size - 1

    @property
    def needs_times(self) -> bool:
        """Whether the times of events have an effect with these parameters."""
        params = self.get_params(deep=False)
        return any(params.get(name) is not None for name in ("half_life", "window"))

    @property
    def every_row(self) -> bool:
        """Whether every row of a table is a pair to learn from, including those with value 0."""
        return self._gain == "one"

    @property
    def _gain(self) -> str:
        """The gain of the pairs: the parameter `gain`, or "value" for a model without it."""
        return str(self.get_params(deep=False)["gain"]) if self.reads_gain else "value"

    @property
    def is_fitted(self) -> bool:
        """Whether the model has users and items."""
        return "seen_offsets_" in vars(self)

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def scores(self, users: ArrayLike | None = None) -> Floats:
        """Score all items for the given users.

        Parameters
        ----------
        users : (n,), optional
            The ids, or the row numbers of a matrix; all users by default.

        Returns
        -------
        float32, (n, n_items): higher is better, within a user. Seen items have scores too.
        """
        check_is_fitted(self)
        return self._score(self._rows(users))

    def score_pairs(self, user: ArrayLike, item: ArrayLike) -> PerRow:
        """Score single pairs.

        Parameters
        ----------
        user, item : (n,)
            The ids, or the row and column numbers of a matrix.

        Returns
        -------
        float64, (n,): nan if the user or item is unknown.
        """
        rows, columns = self.places(user, item)
        scores = np.full(rows.size, np.nan)
        known_pairs = np.flatnonzero((rows >= 0) & (columns >= 0))
        scores[known_pairs] = self._score_pairs(rows[known_pairs], columns[known_pairs])
        return scores

    def places(self, user: ArrayLike, item: ArrayLike) -> tuple[Ints, Ints]:
        """Return the row of each pair's user and the column of its item, -1 if unknown."""
        check_is_fitted(self)
        users, items = _ids.id_array(user, "user"), _ids.id_array(item, "item")
        _check.equal_length(user=users, item=items)
        return (
            _ids.places(users, self.user_labels_, self.n_users_),
            _ids.places(items, self.item_labels_, self.n_items_),
        )

    def _score_pairs(self, rows: Ints, columns: Ints) -> PerRow:
        """Score pairs of known users and items, with all items of a block of users at a time."""
        scores = np.empty(rows.size)
        order, step = np.argsort(rows, kind="stable"), max(1, _BLOCK // self.n_items_)
        users, starts = np.unique(rows[order], return_index=True)
        ends = [*starts[1:].tolist(), rows.size]
        for first in range(0, users.size, step):
            part = order[starts[first] : ends[min(first + step, users.size) - 1]]
            block = users[first : first + step]
            scores[part] = self._score(block)[np.searchsorted(block, rows[part]), columns[part]]
        return scores

    def recommend(
        self,
        users: ArrayLike | None = None,
        k: int = 10,
        *,
        exclude_seen: bool | None = None,
        allow: IdsLike | None = None,
        deny: IdsLike | None = None,
        device: str | None = None,
        executor: Executor | None = None,
    ) -> tuple[Items, Floats]:
        """Return the best items of each user, best first.

        Parameters
        ----------
        users : (n,), optional
            The ids, or the row numbers if the model was fitted to a matrix; all users by default.
            Only a model that `serves_unknown` users has lists for ids that are not in the fit.
        k : int
            The number of items per user, at most the number of items of the model.
        exclude_seen : bool, optional
            Whether to leave out the items with which the user has a pair, by default unless the
            model `repeats`.
        allow, deny : (n,) or set, optional
            The only items that can be recommended, and items that cannot be recommended.
        device : str, optional
            The device of torch, such as "cuda" or "auto"; see `podium.catalogue.top_k`.
        executor : Executor, optional
            The executor of parts of the users, such as ``Ray("auto")`` on a cluster. Each node
            receives the model once. Default: this process.

        Returns
        -------
        items : (n, k)
            The ids or column numbers. If fewer than k items may be recommended, the rest of the
            list is -1, or "" if the ids are text.
        scores : float32, (n, k)
            The scores; -inf if there is no item.
        """
        check_is_fitted(self)
        rows, width = self._rows(users), self._width(k)
        allowed = _ids.allowed(allow, deny, self.item_labels_, self.n_items_)
        options = self._excludes(exclude_seen), allowed, width, device
        parts = [rows[i : i + _PART] for i in range(0, max(rows.size, 1), _PART)]
        workers = Threads(1) if executor is None else or_threads(executor)
        lists = workers.map(_best_of_users, parts, self, *options)
        columns, scores = (np.concatenate(part) for part in zip(*lists, strict=True))
        return self._with_labels(columns), scores

    def ranks(
        self,
        held_out: Any,
        *,
        exclude_seen: bool | None = None,
        ties: Ties = "worst",
        seed: int = 0,
        device: str | None = None,
        executor: Executor | None = None,
    ) -> PerRow:
        """Return the exact rank of each held-out item among all items of the catalogue.

        Parameters
        ----------
        held_out : scipy.sparse matrix, (n_users, n_items), or table
            The pairs to rank. A user may have one, several or none. Rows of a table with value 0
            are left out, unless the model has gain="one".
        exclude_seen : bool, optional
            Whether to leave out the items with which the user has a pair, by default unless the
            model `repeats`. It is then an error if a held-out pair is one of these.
        ties, seed
            The order of equal scores and the seed of random orders; see
            `podium.catalogue.target_ranks`.
        device : str, optional
            The device of torch that counts, see `recommend`.
        executor : Executor, optional
            The executor of parts of the users, see `podium.catalogue.target_ranks`.

        Returns
        -------
        float64, (n_held_out,)
            The ranks from 1, in the order of ``held_out.tocsr().data``, or by user and item for a
            table.

        Raises
        ------
        ArgumentError
            If `held_out` has another shape than the model, or if `exclude_seen` is set and it has
            pairs that the model was fitted to.

        Notes
        -----
        Users without a held-out item are not scored.

        Examples
        --------
        >>> from scipy import sparse
        >>> from podium.recommenders import Popularity
        >>> likes = sparse.csr_array([[1, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 0]])
        >>> held_out = sparse.csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
        >>> Popularity().fit(likes).ranks(held_out)
        array([1., 1.])
        """
        check_is_fitted(self)
        excluded: Any = self.user_items_ if self._excludes(exclude_seen) else None
        if not _pairs.is_matrix(held_out):
            held_out = self.pairs_like(held_out, "held_out", every_row=self.every_row)
        shape = (self.n_users_, self.n_items_)
        if held_out.shape != shape:
            raise ArgumentError(
                f"held_out must have the shape of the model's users and items, {shape}, got "
                f"{held_out.shape}."
            )
        targets: Any = held_out.tocsr()
        users = np.flatnonzero(np.diff(targets.indptr))
        ranks = target_ranks(
            self.as_scores(users),
            targets[users],
            exclude=None if excluded is None else excluded[users],
            overlap="drop",
            ties=ties,
            seed=seed,
            device=device,
            executor=executor,
        )
        n_fitted = int(np.count_nonzero(np.isnan(ranks)))
        if n_fitted:
            raise ArgumentError(
                f"The fit has already seen {n_fitted} of the {ranks.size} pairs in held_out. "
                "Remove them, or pass exclude_seen=False to rank them among all items."
            )
        return ranks

    def as_scores(
        self, rows: Ints | None = None, columns: Ints | None = None
    ) -> ScoreFunction | tuple[Floats, Floats]:
        """Return the scores in the form that `podium.catalogue` reads.

        Parameters
        ----------
        rows, columns : int64, (n,), optional
            The users and items to score; all of them by default.

        Returns
        -------
        pair of float32, or ScoreFunction
            The factors, with the bias as one more factor, if the model has factors, because
            products of factors are fastest. Otherwise a function that scores a block of users at a
            time.

        Examples
        --------
        >>> from podium.catalogue import top_k
        >>> from scipy import sparse
        >>> from podium.recommenders import Popularity
        >>> likes = sparse.csr_array([[1, 0, 1], [0, 0, 1]])
        >>> top_k(Popularity().fit(likes).as_scores(), 1, exclude=likes)[0]
        array([[1],
               [0]])
        """
        users = np.arange(self.n_users_) if rows is None else rows
        n_items = self.n_items_ if columns is None else columns.size
        block = partial(self._score_some, users, columns)
        return ScoreFunction(block, users.size, n_items, np.float32)

    def _score_some(self, users: Ints, columns: Ints | None, positions: Ints) -> Floats:
        """Return the scores of the users at some positions, for all or some items."""
        scores = self._score(users[positions])
        return scores if columns is None else scores[:, columns]

    def pairs_like(self, source: Any, name: str, *, every_row: bool) -> sparse.csr_array[Any]:
        """Return positive pairs of the users and items of the fit as a matrix of ones.

        Rows of a table with value 0 are pairs only with `every_row`. Errors call the pairs `name`.
        """
        fitted = self._seen_pairs()
        return _pairs.read_matching(source, name, fitted, every_row=every_row).matrix()

    def _width(self, k: Any) -> int:
        width = _check.cutoff(k)
        if width > self.n_items_:
            raise ArgumentError(
                f"{arg.k} must be at most {self.n_items_}, the number of items of the model, got "
                f"{width}."
            )
        return width

    def _excludes(self, exclude: bool | None) -> bool:
        """Return whether to leave out seen items: as stated, or as is usual for the model."""
        return not self.repeats if exclude is None else _check.flag(exclude, "exclude_seen")

    def pairs_of(self, rows: Ints) -> Any:
        """Return the pairs of some users as a matrix; those of row -1 are none."""
        pairs: Any = self.user_items_[rows]
        if (rows >= 0).all():
            return pairs
        is_known = np.repeat(rows >= 0, np.diff(pairs.indptr))
        columns = pairs.data[is_known], pairs.indices[is_known]
        offsets = kept_offsets(is_known, pairs.indptr)
        return sparse.csr_array((*columns, offsets), shape=pairs.shape)

    def _rows(self, users: ArrayLike | None) -> Ints:
        """Return the row numbers of users; -1 for an unknown id if the model serves it."""
        if users is None:
            return np.arange(self.n_users_, dtype=np.int64)
        if self.serves_unknown and self.user_labels_ is not None:
            return _ids.places(_ids.id_array(users, "users"), self.user_labels_, self.n_users_)
        return _ids.rows_of(users, self.user_labels_, self.n_users_, "users")

    def _with_labels(self, columns: Ints) -> Items:
        labels: Labels | None = self.item_labels_
        if labels is None:
            return columns
        items: Items = labels[columns]
        items[columns < 0] = "" if labels.dtype.kind == "U" else -1
        return items


class MatrixRecommender(Recommender):
    """A recommender that learns from a sparse matrix; subclasses define `_fit` and `_score`."""

    half_life_: float | None  # declared here, because a dataclass would make them parameters
    window_: float | None

    def fit(self, user_items: Any, *, seen: Any = None) -> Self:
        """Learn from pairs of users and items; see `Recommender.fit`."""
        user_items = _pairs.opened(user_items)
        days = self._settle(user_items) if self.reads_times else {}
        pairs = _pairs.read(user_items, self._gain, unit_scale=True, **days)
        pairs = _pairs.with_others(pairs, seen)
        self._fit(pairs.learned().matrix())
        self._hold_pairs(pairs)
        return self

    def _settle(self, user_items: Any) -> dict[str, Any]:
        """Choose parameters that are "auto"; return the arguments of `_pairs.read` about times."""
        chosen = settled(self, user_items)
        for name, value in chosen.items():
            setattr(self, f"{name}_", value)
        return chosen

    @abc.abstractmethod
    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        """Learn from pairs in canonical form: float32, values > 0.

        The matrix must not be changed.
        """


def _best_of_users(
    rows: Ints, model: Recommender, excludes: bool, candidates: Ints | None, *options: Any
) -> tuple[Ints, Floats]:
    """Return the columns of the best items of some users, and their scores; see `best_items`."""
    seen = model.pairs_of(rows) if excludes else None
    return best_items(model.as_scores(rows, candidates), seen, candidates, *options)


def best_items(
    scores_of: ScoreFunction | tuple[Floats, Floats],
    seen: Any,
    candidates: Ints | None,
    k: int,
    device: str | None = None,
) -> tuple[Ints, Floats]:
    """Return the columns of the best items, without those in `seen`, and their scores.

    The scores are those of the columns `candidates`; None means all items.
    """
    if seen is not None and candidates is not None:
        seen = seen[:, candidates]
    best, scores = top_k(scores_of, k, exclude=seen, device=device)
    return best if candidates is None else np.where(best < 0, -1, candidates[best]), scores
