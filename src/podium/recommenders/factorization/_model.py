"""The model: factors of users and items, learned by a robust ranking loss or another loss."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from podium import _check
from podium._arrays import Arrays
from podium.errors import ArgumentError, arg
from podium.executors import Executor
from podium.executors.local import or_threads
from podium.metrics import Measure
from podium.metrics.measures import parse_relevance
from podium.progress import or_silent
from podium.recommenders import _ids, _pairs
from podium.recommenders._auto import number_of_days, or_auto
from podium.recommenders._base import Items, best_items
from podium.recommenders._factors import FactorRecommender
from podium.recommenders._files import Axes
from podium.recommenders._ids import IdsLike
from podium.recommenders._pairs import Floats, Pairs
from podium.recommenders.factorization import _prior
from podium.recommenders.factorization._checkpoint import Checkpoint, resumed
from podium.recommenders.factorization._descent import Factors, fold_in
from podium.recommenders.factorization._growth import Growth, learn_new_items
from podium.recommenders.factorization._passes import History, Validation, learned, report_end
from podium.recommenders.factorization._plan import directed, mean_direction
from podium.recommenders.factorization._settings import (
    LEAST,
    DataSize,
    Settings,
    read_settings,
)
from podium.types import Progress

_FACTORS = {"n_factors": [64, 128, 256], "n_negatives": [128, 256]}

_SPACE: tuple[dict[str, Any], ...] = (
    {
        "loss": ["softmax", "softmax(temperature=0.7)"],
        "similarity": ["dot"],
        **_FACTORS,
        "learning_rate": "log(0.05,0.3)",
        "l2": "log(0.03,0.4)",
        "gain": _pairs.SEARCHED_GAINS,
    },
    {
        "loss": [
            "softmax",  # with the temperature of the default
            *(f"softmax(temperature={t})" for t in (0.07, 0.085, 0.1, 0.12, 0.15, 0.18)),
        ],
        "similarity": ["cosine"],
        **_FACTORS,
        "learning_rate": "log(0.1,2.0)",
        "l2": "log(0.001,0.02)",
        "popularity": [0.0, 0.5],
        "gain": _pairs.SEARCHED_GAINS,
    },
    {
        "loss": ["robirank"],
        "similarity": ["dot"],
        **_FACTORS,
        "learning_rate": "log(0.05,0.3)",
        "l2": "log(0.01,0.12)",
        "gain": _pairs.SEARCHED_GAINS,
    },
)
"""See `Recommender.default_space`. The best steps and l2 depend on the loss and the similarity."""


@dataclass(eq=False, repr=False)
class Factorization(FactorRecommender):
    """Vectors of users and items, whose cosine or product is the score of an item.

    The fit minimises the sum of ``s * loss`` over pairs of a user and a positive item, with weight
    s. By default, the loss is the softmax of cosines over sampled items. The loss "robirank" is
    ``log2(1 + T)``, where T is the sum over other items of ``log2(1 + 2 ** -(score - other))``, a
    smooth upper bound of the rank: a positive far down, which may be noise, has little influence.

    Parameters
    ----------
    n_factors : int
        The length of the vectors of users and items.
    loss : str
        The loss of a positive and its negatives, see `podium.recommenders.factorization.LOSSES`:
        "softmax", "robirank", "bpr", "identity" or "type2", with parameters such as
        "softmax(temperature=0.5)". Their gradients differ in size. Good learning rates are about 3
        times as large for "bpr" and "identity", and 30 times for "type2", which also needs
        l2=0.0001 and xi_rate=0.2.
    n_negatives : int
        The number of items that a positive is compared with in a pass. A batch of 32 positives
        shares them.
    learning_rate : float, optional
        The initial step, in units of the stochastic gradient of the loss. By default 0.3 for
        softmax of cosines, and 0.1 otherwise.
    decay : {"linear", "none"}
        Whether the step decreases to zero or is constant.
    l2 : float, optional
        The penalty, by default `FactorLoss.default_l2` of the loss. Each step shrinks the user and
        the positive by ``learning_rate * l2``, and each negative by 1 / n_negatives of this.
    n_epochs : int, optional
        The number of passes over all positives. By default, about 16 million positives take a step
        in all, in at least 15 and at most 60 passes.
    n_blocks : int, optional
        The number of parts of the users and of blocks of the items, at most the number of users
        and of items. By default, it follows from the shape of the data. The factors depend on it.
    xi_rate : float
        The weight of the current sample in the estimate of T, a running mean over the samples of
        the positive: in (0, 1].
    negatives : {"all", "unseen"}
        The items to compare with: all other items, as in the paper, or only those that the user has
        no learned pair with. Both include items of `seen` pairs. With "unseen", use an l2
        about 1.6 times as large.
    popularity : float, optional
        A negative is drawn in proportion to this power of its number of users: uniformly with 0.
        The loss weights the drawn items, so that its expected value stays about the same. By
        default 0.5 for softmax of cosines, and 0 otherwise.
    similarity : {"dot", "cosine"}, optional
        The score: the product of the vectors plus the bias of the item, or their cosine. By default
        "cosine" for softmax with at least 64 factors, and "dot" otherwise.
    item_bias : bool
        Whether items learn a bias. With cosines they do not.
    prior : float or "auto"
        The weight of popularity: ``prior * log(1 + number of users)`` is added to the scores of an
        item after the passes. "auto" chooses it for cosines: by the `eval_metric` on the
        `eval_set`, or else by ndcg@20 on a tenth of the pairs of 10,000 users, after a fit of a
        third of the passes to the other pairs. It is 0 for products, and with fewer than 200 such
        users.
    gain : {"value", "log", "one"}
        The weight s of a pair, divided by the mean weight: its value, ``log2(1 + value)``, or 1.
    half_life : float, str or None
        The days, such as 30 or "30d", in which the weight of a pair falls by half in `fit`: from
        its last event to the last event of the table, which must have times. Choose it by
        `podium.tuning.search` with split="time".
    random_state : int
    eval_metric : str or Measure
        The measure on the `eval_set`.
    patience : int, optional
        The passes without a better value on the `eval_set` after which the fit stops.

    Attributes
    ----------
    user_factors_, item_factors_, item_bias_ : float32
        See `FactorRecommender`. Users without a pair have zeros, or the mean direction of cosines.
        The bias contains the prior.
    learned_bias_ : float32, (n_items,)
        The bias without the prior.
    prior_ : float
        The prior.
    n_blocks_, n_epochs_ : int
        The numbers of blocks, and of passes after which the factors were taken.
    stop_reason_ : {"n_epochs", "patience", "diverged", "interrupted"}
    history_ : dict of float64
        One value per pass. "cost" is the mean cost of the compared pairs, which is 1 for equal
        scores. "validation" is the measure, if there is an eval_set. If the prior was chosen,
        "prior" has the priors that were tried, and "prior_validation" the measure of each.

    Notes
    -----
    Negatives come from the positive's own block of items; blocks are redrawn for each pass. The
    factors are bitwise equal for every number of workers, on processors of one type.

    Cost: with 64 factors, a processor compares some 100 million pairs in a second. Memory: two
    copies of the users' factors, four of the items' factors, and 32 bytes per pair. The choice of a
    prior takes 40 % more time, and memory for one more copy of the factors.

    References
    ----------
    yun2014.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> likes = csr_array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]])
    >>> model = Factorization(n_factors=4, n_epochs=200, random_state=1).fit(likes)
    >>> model.recommend([3], k=1)[0]
    array([[3]])
    """

    makes_passes: ClassVar[bool] = True
    reads_gain: ClassVar[bool] = True
    reads_times: ClassVar[bool] = True
    default_space: ClassVar[tuple[dict[str, Any], ...]] = _SPACE
    _scalars: ClassVar[dict[str, type]] = {
        "n_blocks_": int,
        "n_epochs_": int,
        "stop_reason_": str,
        "weight_scale_": float,
        "prior_": float,
    }
    _learned: ClassVar[Axes] = FactorRecommender._learned | {"learned_bias_": (np.float32, "items")}

    constraints: ClassVar[_check.Constraints] = {
        "n_factors": _check.cutoff,
        "n_negatives": _check.cutoff,
        "learning_rate": _check.positive,
        "decay": partial(_check.choice, options=("linear", "none")),
        "l2": partial(_check.number, low=0.0),
        "n_epochs": _check.cutoff,
        "n_blocks": partial(_check.cutoff, required=False),
        "xi_rate": partial(_check.number, low=0.0, high=1.0, strict=True),
        "negatives": partial(_check.choice, options=("unseen", "all")),
        "popularity": partial(_check.number, low=0.0),
        "similarity": partial(_check.choice, options=("dot", "cosine")),
        "item_bias": _check.flag,
        "prior": partial(or_auto, check=partial(_check.number, low=0.0)),
        "gain": partial(_check.choice, options=_pairs.GAINS),
        "half_life": number_of_days,
        "random_state": _check.seed,
        "patience": partial(_check.cutoff, required=False),
    }

    n_factors: int = 128
    _: KW_ONLY
    loss: str = "softmax"
    n_negatives: int = 128
    learning_rate: float | None = None
    decay: str = "linear"
    l2: float | None = None
    n_epochs: int | None = None
    n_blocks: int | None = None
    xi_rate: float = 0.7
    negatives: str = "all"
    popularity: float | None = None
    similarity: str | None = None
    item_bias: bool = True
    prior: float | str = "auto"
    gain: str = "value"
    half_life: float | str | None = None
    random_state: int = 0
    eval_metric: str | Measure = "ndcg@10"
    patience: int | None = None

    def fit(
        self,
        user_items: Any,
        *,
        seen: Any = None,
        eval_set: Any = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn factors of all users and items.

        Parameters
        ----------
        user_items : scipy.sparse matrix, (n_users, n_items), or table
            The pairs and their weights s; see `Recommender.fit`. With gain="one", a row of a table
            with value 0 is a pair like any other.
        seen : as user_items, optional
            Further pairs, such as low ratings, which are neither learned nor recommended.
        eval_set : as user_items, optional
            Held-out pairs. The model is measured on them after each pass, without the pairs of
            `user_items` and `seen`, and the factors of the best pass are kept.
        executor : Executor, optional
            The executor of the tasks; by default threads on all processors of this process.
        progress : callable, optional
            A function, called as ``progress(done, total, note)`` after each pass.
        checkpoint : path, optional
            A file that is replaced atomically after each pass. Its size is 4 bytes per pair and 4
            per factor (8 with an `eval_set`).
        resume : bool
            Whether to continue after the last pass of the checkpoint, to the same factors. Without
            a file, the fit starts anew with a warning.

        Raises
        ------
        ArgumentError
            If a parameter is out of range, a value is negative or not finite (the message has its
            user and item), there are no pairs, or the first pass diverges.
        DataError
            If the checkpoint is damaged, or belongs to other data, settings or another version.
        KeyboardInterrupt
            If the fit was interrupted. The factors of the last complete pass, if any, are kept.

        Warns
        -----
        ConvergenceWarning, PodiumWarning
            If a later pass diverged, whose factors are dropped; if there is no checkpoint.
        """
        self.check()
        measure, patience = parse_relevance(self.eval_metric), self.patience
        executor, progress = or_threads(executor), or_silent(progress)
        half_life = number_of_days(self.half_life, "half_life")
        all_pairs = _pairs.read(user_items, self.gain, half_life=half_life)
        all_pairs = _pairs.with_others(all_pairs, seen)
        pairs = all_pairs.learned()
        settings = read_settings(self, DataSize.of(pairs))
        validation = None
        if eval_set is not None:
            every_row = self.every_row
            eval_pairs = _pairs.read_matching(eval_set, "eval_set", pairs, every_row=every_row)
            validation = Validation(eval_pairs, all_pairs, measure, patience)
        file = None if checkpoint is None else Checkpoint(checkpoint, pairs, settings, validation)
        factors, history = learned(
            pairs,
            settings,
            executor,
            progress,
            start=resumed(file) if _check.flag(resume, "resume") else None,
            validation=validation,
            after_pass=file and file.write,
        )
        self._finish(all_pairs, settings, factors, history)
        if settings.prior is None and history.stop_reason != "interrupted":
            judged = validation or _prior.held_out(all_pairs, settings.seed)
            if judged is not None:
                if validation is None:
                    factors = _prior.short_fit(judged, settings, executor, progress)
                prior, tried = _prior.choose(factors, judged, settings.unit)
                self._add_prior(prior)
                self.history_ |= tried
        report_end(history, settings.learning_rate)
        return self

    def check(self) -> None:
        """Raise an ArgumentError if a parameter is wrong for any data."""
        parse_relevance(self.eval_metric)
        read_settings(self, LEAST)

    def for_data(self, user_items: Any) -> Self:
        """Return a copy in which `learning_rate`, `l2` and `n_epochs` have the values of a fit."""
        pairs = _pairs.read(user_items, self.gain).learned()
        settings = read_settings(self, DataSize.of(pairs))
        names = ("learning_rate", "l2", "n_epochs")
        return clone(self).set_params(**{name: vars(settings)[name] for name in names})

    def cost(self, user_items: Any) -> tuple[float, float]:
        """Return the estimates for all steps of a fit."""
        pairs = _pairs.read(user_items, self.gain).learned()
        settings = read_settings(self, DataSize.of(pairs))
        n_updates = float(pairs.items.size) * settings.n_epochs * max(settings.n_negatives, 1)
        size = 4.0 * settings.n_factors * (pairs.n_users + pairs.n_items)
        passes = 1.0 if settings.prior is not None else 4 / 3  # with the short fit of the prior
        unit = 2e-10 if settings.cosine else 1.3e-10
        return unit * passes * n_updates * settings.n_factors, 3.0 * size

    def partial_fit(
        self,
        user_items: Any,
        *,
        n_epochs: int = 10,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from new interactions of known and new users and items.

        Known items keep their factors, so that users without a new pair keep bitwise equal scores.
        New items get factors from passes over all pairs of the users with new pairs. Then the
        factors of these users are learned again with fixed items, as in `fold_in`. `n_epochs_`,
        `n_blocks_`, `stop_reason_` and `history_` keep their values. A model that is not fitted
        yet is fitted.

        Parameters
        ----------
        user_items : scipy.sparse matrix, (n_users, n_items), or table
            The new pairs only; a table if `fit` had one. The additional rows and columns of a
            larger matrix are new. Weights of known pairs are added up, unless `gain` is "one".
        n_epochs : int
            The number of passes for new items. The first step is ``learning_rate``.
        executor, progress
            See `fit`. The errors are those of `fit`; after an error, the model is unchanged.
        """
        if not self.is_fitted:
            return self.fit(user_items, executor=executor, progress=progress)
        n_epochs = _check.cutoff(n_epochs, name="n_epochs")
        all_new = _pairs.read(user_items, self.gain, scale=self.weight_scale_)
        new_pairs = all_new.learned()
        if not new_pairs.items.size:
            raise ArgumentError(f"{arg.user_items} must hold at least one new pair, got none.")
        settings, executor = self._settings(), or_threads(executor)
        growth = Growth.of(self._learned_pairs(), new_pairs, add_up=self.gain != "one")
        factors, touched = growth.factors(self._factors(), settings.seed), growth.touched_pairs()
        if growth.new_items.size:
            n_blocks = read_settings(self, DataSize.of(touched)).n_blocks
            few = replace(settings, n_blocks=n_blocks, n_epochs=n_epochs)
            learn_new_items(growth, factors, few, executor, progress)
        counts = growth.pairs.item_counts() if settings.popularity else None
        factors.users[growth.touched] = fold_in(touched, factors, counts, settings, executor)
        if settings.cosine:  # new users without a pair
            directed(factors.users, mean_direction(self.user_factors_))
        known_bias = self.item_bias_
        self._hold(growth.with_seen(self._seen_pairs(), all_new), factors)
        self._add_prior(self.prior_)
        self.item_bias_[growth.items.old] = known_bias
        return self

    def recommend_new(
        self,
        user_items: Any,
        k: int = 10,
        *,
        exclude_seen: bool = True,
        allow: IdsLike | None = None,
        deny: IdsLike | None = None,
        executor: Executor | None = None,
    ) -> tuple[Items, Floats]:
        """Return the best items of new users, whose factors are learned by `fold_in`.

        The parameters are those of `fold_in` and `recommend`, and so are the results: items and
        scores, (n_new, k). Users of a table are returned in ascending order of ids.
        """
        check_is_fitted(self)
        pairs = _pairs.read_users(user_items, self.gain, self._seen_pairs())
        seen = pairs.matrix() if _check.flag(exclude_seen, "exclude_seen") else None
        width = self._width(k)
        candidates = _ids.allowed(allow, deny, self.item_labels_, self.n_items_)
        factors = self._as_scores(self._fold(pairs, executor), candidates)
        columns, scores = best_items(factors, seen, candidates, width)
        return self._with_labels(columns), scores

    def fold_in(self, user_items: Any, *, executor: Executor | None = None) -> Floats:
        """Learn factors of new users with fixed item factors.

        Parameters
        ----------
        user_items : scipy.sparse matrix, (n_new, n_items), or table
            The pairs of the new users with items of the fit.
        executor : Executor, optional
            The executor of the tasks; by default threads on all processors of this process.

        Returns
        -------
        float32, (n_new, n_factors)
            The factors, in ascending order of users' ids for a table. The factors of a user depend
            only on the user's own pairs, not on other users.
        """
        check_is_fitted(self)
        return self._fold(_pairs.read_users(user_items, self.gain, self._seen_pairs()), executor)

    def _finish(self, pairs: Pairs, settings: Settings, factors: Factors, history: History) -> None:
        self._hold(pairs, factors)
        self._add_prior(settings.prior or 0.0)
        self.n_blocks_, self.n_epochs_ = settings.n_blocks, history.best_epoch
        self.stop_reason_ = history.stop_reason
        self.history_: dict[str, NDArray[np.float64]] = history.arrays()

    def _hold(self, pairs: Pairs, factors: Factors) -> None:
        self.user_factors_, self.item_factors_ = factors.users, factors.items
        self.item_bias_ = self.learned_bias_ = factors.bias
        self._hold_pairs(pairs)
        vars(self).pop("_size", None)

    def _add_prior(self, prior: float) -> None:
        counts = self._learned_pairs().item_counts()
        self.prior_, self.item_bias_ = prior, self.learned_bias_ + _prior.bias(prior, counts)

    def _fold(self, pairs: Pairs, executor: Executor | None) -> Floats:
        settings = self._settings()
        counts = self._learned_pairs().item_counts() if settings.popularity else None
        return fold_in(pairs.learned(), self._factors(), counts, settings, or_threads(executor))

    def _settings(self) -> Settings:
        """Return the settings for more users; the pairs of the fit are counted only once."""
        return read_settings(self, self._size)

    @cached_property
    def _size(self) -> DataSize:
        return DataSize.of(self._learned_pairs())

    def _factors(self) -> Factors:
        return Factors(self.user_factors_, self.item_factors_, self.learned_bias_)

    def _arrays(self) -> Arrays:
        history = {f"history_.{key}": value for key, value in self.history_.items()}
        return super()._arrays() | history

    def _set_arrays(self, arrays: Arrays) -> None:
        super()._set_arrays(arrays)
        names = [name for name in arrays if name.startswith("history_.")]
        self.history_ = {name.removeprefix("history_."): arrays[name] for name in names}
