"""The search for recommenders: candidates are measured on held-out pairs of the same users."""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from podium import __version__, _check
from podium.catalogue.lists import measured as of_catalogue
from podium.data.interactions import Interactions, opened
from podium.errors import ArgumentError, arg, warn
from podium.executors import Executor, Threads
from podium.metrics import Measure
from podium.ranking import kept_offsets
from podium.recommenders import Popularity, Recommender
from podium.tuning.candidates import Params
from podium.tuning.results import Trial
from podium.tuning.trials import FACTOR, Task
from podium.types import PerGroup, Progress

_PURPOSE = 5  # part of the seeds of draws


@dataclass(frozen=True, eq=False)
class Parts:
    """Pairs of the same users and items, as matrices.

    Attributes
    ----------
    train, valid : csr_array
        The pairs that candidates learn from, and those that they are measured on.
    seen : csr_array or None
        Further pairs that candidates neither learn from nor are measured on.
    has_zeros : bool
        Whether some pairs of the table have the value 0.
    events : Interactions or None
        The events of `train`, if they have times.
    """

    train: Any
    valid: Any
    seen: Any = None
    has_zeros: bool = False
    events: Interactions | None = None

    def digest(self) -> str:
        """Return a text that identifies the pairs."""
        digest = blake2b(repr(self.train.shape).encode(), digest_size=16)
        for matrix in (self.train, self.valid, self.seen):
            if matrix is not None:
                for values in (matrix.indptr, matrix.indices, matrix.data):
                    digest.update(np.ascontiguousarray(values, np.float64).data)
        ages = None if self.events is None else self.events.ages()
        digest.update(b"" if ages is None else ages.data)
        return digest.hexdigest()


def divided_pairs(
    user_items: Any,
    eval_set: Any,
    seen: Any,
    share: float,
    seed: int,
    *,
    every_row: bool = False,
    most_users: int | None = None,
) -> Parts:
    """Return the parts of a search; without an eval_set, draw a share of each user's pairs.

    With `every_row`, all rows of a table are pairs of weight 1. Otherwise, rows with value 0 are
    seen pairs. If there are more than `most_users`, only so many of them, which are drawn, have
    validation pairs.

    Raises
    ------
    ArgumentError
        If the pairs are invalid, or an eval_set or `seen` has other users or items.
    """
    user_items = opened(user_items)
    timed = isinstance(user_items, Interactions) and user_items.timestamp is not None
    reader = Popularity().fit(user_items)  # the pairs are read and checked as in any fit
    learned, zeros = _split(reader.user_items_, every_row=every_row)
    others = None if seen is None else reader.pairs_like(seen, "seen", every_row=True)
    others = zeros if others is None else others if zeros is None else others + zeros
    has_zeros = not reader.user_items_.data.all()
    if eval_set is not None:
        valid = reader.pairs_like(eval_set, "eval_set", every_row=every_row)
        if most_users is not None:
            n_pairs = np.diff(valid.indptr)
            valid = _selected(valid, np.repeat(_some_users(n_pairs, most_users, seed), n_pairs))
        return Parts(learned, valid, others, has_zeros, user_items if timed else None)
    is_valid = _drawn(learned, share, seed)
    if most_users is not None:
        user = learned.tocoo().row
        n_pairs = np.bincount(user[is_valid], minlength=learned.shape[0])
        is_valid &= _some_users(n_pairs, most_users, seed)[user]
    train, valid = (_selected(learned, rows) for rows in (~is_valid, is_valid))
    return Parts(train, valid, others, has_zeros)


def divided_by_time(
    user_items: Any, seen: Any, share: float, split: str
) -> tuple[Interactions, Interactions, Interactions | None]:
    """Return the events to learn from, the last share of events, and the rest of seen.

    Events of users and items without an earlier event are left out.
    """
    _check.choice(split, "split", ("time",))
    events = opened(user_items)
    if not isinstance(events, Interactions) or events.timestamp is None:
        raise ArgumentError(
            f"{arg.split('time')} needs a table of pairs with a column of times. Name it, or leave "
            f"{arg.split} out."
        )
    earlier, held_out = events.by_time(share)
    return earlier, held_out, None if seen is None else opened(seen).seen_in(earlier)


def _split(pairs: Any, *, every_row: bool) -> tuple[Any, Any]:
    """Return the pairs to learn from, and those of weight 0 as a matrix of ones, or None."""
    is_learned = pairs.data > 0
    if is_learned.all():
        return pairs, None
    if every_row:
        return _ones(pairs), None
    return _selected(pairs, is_learned), _ones(_selected(pairs, ~is_learned))


def _ones(pairs: Any) -> Any:
    return sparse.csr_array((np.ones_like(pairs.data), pairs.indices, pairs.indptr), pairs.shape)


def check_measured(parts: Parts, measure: Measure) -> None:
    """Raise unless the measure is defined on a user with validation pairs."""
    if np.isnan(measured(Popularity().fit(parts.train), parts, measure)).all():
        raise ArgumentError(
            f"{measure} is defined on no user with both validation pairs and pairs to learn from. "
            "Hold out more pairs, choose another measure, or fit a model without a search, such as "
            "popularity."
        )


def measured(
    model: Recommender, parts: Parts, measure: Measure, *, excludes: bool | None = None
) -> PerGroup:
    """Return the measure of each user with validation pairs, among all items not in training.

    A model that `repeats` is measured among all items, unless `excludes` decides.
    """
    users, valid, known = known_pairs(parts)
    if not users.size:
        return np.full(1, np.nan)
    excluded = known if (not model.repeats if excludes is None else excludes) else None
    return of_catalogue(model.as_scores(users), valid, excluded, measure)


def known_pairs(parts: Parts) -> tuple[NDArray[np.int64], Any, Any]:
    """Return the users with validation pairs, these pairs, and those that are left out of lists."""
    users = np.flatnonzero(np.diff(parts.valid.indptr))
    known = parts.train if parts.seen is None else parts.train + parts.seen
    return users, parts.valid[users], known[users]


def _drawn(pairs: Any, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which pairs are held out: a share of each user's, rounded up or down at random.

    Each user keeps at least one pair.
    """
    rng = np.random.default_rng([_check.seed(seed), _PURPOSE])
    sizes: NDArray[np.int64] = np.diff(pairs.indptr)
    n_valid = np.minimum(np.floor(sizes * share + rng.random(sizes.size)), np.maximum(sizes - 1, 0))
    rows = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((rng.random(rows.size), rows))
    places = np.empty(rows.size, np.int64)
    places[order] = np.arange(rows.size) - np.repeat(pairs.indptr[:-1], sizes)
    return places < n_valid[rows]


def _some_users(n_pairs: NDArray[np.int64], most: int | None, seed: int) -> NDArray[np.bool_]:
    """Return at most so many of the users with pairs, drawn at random."""
    users = np.flatnonzero(n_pairs)
    drawn = np.random.default_rng([_check.seed(seed), _PURPOSE, 1]).permutation(users)[:most]
    is_drawn = np.zeros(n_pairs.size, np.bool_)
    is_drawn[drawn] = True
    return is_drawn


def _selected(pairs: Any, is_selected: NDArray[np.bool_]) -> Any:
    offsets = kept_offsets(is_selected, pairs.indptr)
    columns = (pairs.data[is_selected], pairs.indices[is_selected], offsets)
    return sparse.csr_array(columns, shape=pairs.shape)


_PASSES = "n_epochs"  # the parameter of recommenders that are learned in passes
_FEWEST_PASSES = 3  # shorter fits rank candidates badly
_N_TRIALS, _N_TRIALS_OF_ONE_RUNG = 15, 10  # by default; both cost about ten complete fits
_MOST_TRIALS = 1000  # of a search that only time limits
_GAIN = "gain"  # the parameter that sets the weights of pairs


@dataclass(eq=False)
class OfPairs(Task):
    """The pairs to which each candidate is fitted and on which it is measured.

    The `base` has the parameters that are not searched. Values that follow from the data depend on
    the other parameters, so that each fit derives them. Only the first candidate has them, and the
    number of passes, of which the first rung takes a share.

    Attributes
    ----------
    user_items, seen
        All pairs of the search, to which the best candidate is fitted at last.
    refits : bool
        Whether there is such a fit.
    """

    recommender: Recommender
    measure: Measure
    parts: Parts
    user_items: Any
    seen: Any
    executor: Executor | None
    refits: bool

    def __post_init__(self) -> None:
        self.base = clone(self.recommender)
        self._suited = self.recommender.for_data(self._learned).get_params(deep=False)
        self.n_passes: int = self._suited.get(_PASSES, 0)
        if self.n_passes:
            self.base.set_params(**{_PASSES: self.n_passes})
        self.n_rungs = 2 if self.n_passes >= FACTOR * _FEWEST_PASSES else 1

    @property
    def _learned(self) -> Any:
        """The pairs that candidates learn from, with times if these can have an effect."""
        events = self.parts.events if self.recommender.reads_times else None
        return self.parts.train if events is None else events

    def n_trials(self, *, timed: bool) -> int:
        """Return the default number of candidates."""
        if timed:
            return _MOST_TRIALS
        return _N_TRIALS if self.n_rungs > 1 else _N_TRIALS_OF_ONE_RUNG

    def searched(self, grid: list[Params]) -> list[Params]:
        """Return the grid without the gain if it has no effect, or changes which rows count."""
        if not any(_GAIN in part for part in grid):
            return grid
        if self.parts.has_zeros:
            warn(
                f"{arg.gain} is not searched, because some rows have the value 0, and they are "
                f"pairs with {arg.gain('one')} only. Leave these rows out to search it."
            )
        elif (self.parts.train.data != 1.0).any():
            return grid
        return [{name: part[name] for name in part if name != _GAIN} for part in grid]

    def identity(self, grid: list[Params], seed: int) -> dict[str, str]:
        """Return texts that identify the search; see `FitFile`."""
        params = self.base.get_params(deep=False)
        return {
            "version of podium": __version__,
            "set of pairs": self.parts.digest(),
            "recommender or parameter": f"{type(self.base).__name__} {sorted(params.items())}",
            "grid": repr(grid),
            "measure": str(self.measure),
            "seed": str(seed),
        }

    def first(self, grid: list[Params]) -> Params:
        """Return the parameters of the first candidate."""
        names = dict.fromkeys(name for part in grid for name in part)
        if self.n_passes:
            names[_PASSES] = None
        return {name: self._suited[name] for name in names}

    def clock(self) -> float:
        """Return the processor time of this process, or the time if other processes do the work."""
        is_local = self.executor is None or isinstance(self.executor, Threads)
        return time.process_time() if is_local else time.perf_counter()

    def on_rung(self, params: Params, rung: int) -> Params:
        """Return the parameters with the number of passes of a rung."""
        if _PASSES not in params or rung == self.n_rungs - 1:
            return params
        return {**params, _PASSES: max(1, round(params[_PASSES] / FACTOR))}

    def fitted(self, params: Params, fold: int, progress: Progress) -> Recommender:
        """Return a model that is fitted to the training pairs."""
        del fold, progress
        return self._fit(params, self._learned, self.parts.seen)

    def values(self, model: Any, fold: int) -> PerGroup:
        """Return the measure of each user of the validation part."""
        del fold
        return measured(model, self.parts, self.measure)

    def course(self, model: Any, params: Params) -> tuple[int | None, str]:
        """Return the number of iterations behind a model, and why the fit stopped."""
        return params.get(_PASSES), model.stop_reason_

    def final(self, best: Trial, measured_model: Any) -> Recommender | None:
        """Return the best candidate, fitted to all pairs."""
        del measured_model
        return self._fit(best.params, self.user_items, self.seen) if self.refits else None

    def _fit(self, params: Params, user_items: Any, seen: Any) -> Recommender:
        model = clone(self.base).set_params(**params)
        options = {"executor": self.executor} if model.makes_passes else {}
        return model.fit(user_items, seen=seen, **options)
