"""Factors of users and items, learned by a robust ranking loss or one that it is compared with."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from podium import _check
from podium._arrays import Arrays
from podium.errors import ArgumentError
from podium.executors import Executor, or_threads
from podium.metrics import Measure, parse
from podium.progress import or_silent
from podium.recommenders import _pairs
from podium.recommenders._base import Floats, Items
from podium.recommenders._factors import FactorRecommender
from podium.recommenders._pairs import Pairs
from podium.recommenders.factorization._checkpoint import Checkpoint, resumed
from podium.recommenders.factorization._descent import Descent, Factors, State, fold_in
from podium.recommenders.factorization._growth import Growth, learn_new_items
from podium.recommenders.factorization._parts import Settings, read_settings
from podium.recommenders.factorization._passes import History, Judge, report_end, run
from podium.types import Progress


class Factorization(FactorRecommender):
    """Latent collaborative retrieval: ``score = user_factors @ item_factors + item_bias``.

    Minimises, over positive pairs of weight s, ``s * rho(T)``, where T is the sum of
    ``log2(1 + 2 ** -(score - other))`` over the items that the positive is compared with: a
    smooth upper bound of the positive's rank. ``rho(T) = log2(T + 1)`` bends it so that a
    positive that is far down, and may be noise, does not pull as hard as all others together.

    Parameters
    ----------
    n_factors : int
        Length of a user's and of an item's vector.
    loss : {"robirank", "type2", "identity", "bpr"}
        ``rho``: log2(T + 1); 1 - 1 / log2(T + 2), which bounds DCG more closely and whose
        gradient vanishes for positives far down; T itself, as the mean over items; the same with
        natural logarithms, which is BPR with uniform negatives. Their gradients differ in size:
        "identity" and "bpr" want steps about 3 times as long and "unseen" negatives, "type2" steps
        30 times as long with l2=0.0001 and xi_rate=0.2.
    n_negatives : int
        Items that a positive is compared with in a pass, drawn uniformly.
    learning_rate : float
        Step, in units of the loss's stochastic gradient.
    decay : {"linear", "none"}
        The step falls in a straight line to zero, or stays.
    l2 : float
        Each step shrinks the user and the positive by ``learning_rate * l2``, and the negatives
        by as much together: each by one part in n_negatives.
    n_epochs : int
        Passes over all positives.
    n_blocks : int, optional
        Parts of users and blocks of items; chosen from the data's shape without it. It changes
        the factors, unlike the number of workers.
    xi : {"running", "exact"}
        What a positive's T is taken from: a running mean of its own samples, or a sum over all
        items at the start of each pass, which takes pairs x items multiplications, and then its
        own sample too.
    xi_rate : float
        Weight of the newest sample in that mean, in (0, 1]; 0 with "exact" alone. Make steps 20
        times shorter then: where T is near 0, a rare bad sample weighs n_items / n_negatives as
        long as T does not include it.
    negatives : {"all", "unseen"}
        Compare with all other items, as the paper does, or only with those that the user has no
        pair with, which wants an l2 about 1.6 times as large.
    item_bias : bool
    gain : {"value", "exp2", "one"}
        A pair's weight s: its value, ``2 ** value - 1``, or 1. Divided by their mean.
    random_state : int
    eval_metric : str or Measure
        What an `eval_set` is measured by.
    patience : int, optional
        With an `eval_set`: stop after this many passes without a better value.

    Attributes
    ----------
    user_factors_ : float32, (n_users, n_factors)
        Zero for users without a pair, who are shown items by their bias.
    item_factors_ : float32, (n_items, n_factors)
    item_bias_ : float32, (n_items,)
    n_blocks_ : int
    n_epochs_ : int
        Passes that the factors come from.
    stop_reason_ : {"n_epochs", "patience", "diverged", "interrupted"}
    history_ : dict of float64
        By pass: "cost", the mean cost of a pair that was compared, 1 for equal scores; and with
        an eval_set "validation".

    Notes
    -----
    A step's expectation is along the exact gradient where T is exact: with ``xi="exact",
    xi_rate=0``, at the start of a pass. The linearisation's factor is xi / log(2), which the
    poster prints without the logarithm. With another xi_rate a positive's weight falls with its
    own sample, so that bad samples, most of the gradient near the optimum, count less.

    Users are in parts that stay and items in blocks that rotate; blocks are drawn anew for each
    pass, and a positive's negatives come from its own block. Factors are the same to the bit
    whatever the executor and its number of workers, on processors of one type.

    Cost: a pass takes ``n_negatives * n_pairs`` updates: at 64 factors some 20 million a second
    and thread, and about half as many with 400,000 items. Memory: two copies of the users' factors
    and four of the items', 32 bytes a pair.

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

    _kind: ClassVar[str] = "podium_factorization"
    _scalars: ClassVar[dict[str, type]] = {
        "n_blocks_": int,
        "n_epochs_": int,
        "stop_reason_": str,
        "weight_scale_": float,
    }

    n_blocks_: int
    n_epochs_: int
    stop_reason_: str
    history_: dict[str, NDArray[np.float64]]

    def __init__(
        self,
        n_factors: int = 64,
        *,
        loss: str = "robirank",
        n_negatives: int = 8,
        learning_rate: float = 0.1,
        decay: str = "linear",
        l2: float = 0.025,
        n_epochs: int = 30,
        n_blocks: int | None = None,
        xi: str = "running",
        xi_rate: float = 0.7,
        negatives: str = "all",
        item_bias: bool = True,
        gain: str = "value",
        random_state: int = 0,
        eval_metric: str | Measure = "ndcg@10",
        patience: int | None = None,
    ) -> None:
        self.n_factors = n_factors
        self.loss = loss
        self.n_negatives = n_negatives
        self.learning_rate = learning_rate
        self.decay = decay
        self.l2 = l2
        self.n_epochs = n_epochs
        self.n_blocks = n_blocks
        self.xi = xi
        self.xi_rate = xi_rate
        self.negatives = negatives
        self.item_bias = item_bias
        self.gain = gain
        self.random_state = random_state
        self.eval_metric = eval_metric
        self.patience = patience

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
            Stored values are weights s > 0; a pair of value 0 is none, repeated pairs add up. A
            table is anything that `podium.data.read_interactions` reads: its value column, where
            it has one, is the weight.
        seen : the same, optional
            Further pairs of these users and items, such as low ratings. Nothing is learned from
            them, and `recommend` leaves them out too.
        eval_set : the same, optional
            Held-out pairs of these users and items: after each pass the model is measured on
            them, pairs of `user_items` left out, and the best pass is kept.
        executor : Executor, optional
            Who does the work; threads on all of this process's processors without it.
        progress : callable, optional
            Called as ``progress(done, total, note)`` after each pass.
        checkpoint : path, optional
            A file that is replaced after each pass by one of the state then, whole or not at
            all. It takes 4 bytes a factor and a pair, twice for the factors with an `eval_set`.
        resume : bool
            Go on from the pass that the checkpoint is of, to the same factors as without a stop;
            from the beginning, with a warning, where there is no such file.

        Raises
        ------
        ArgumentError
            For a parameter out of range; values that are negative or not finite (first user and
            item); no pairs; a step that diverges in the first pass.
        DataError
            For a checkpoint to resume from that is damaged, or of other data, settings, or
            another version.
        KeyboardInterrupt
            As it came. The factors of the last whole pass are kept, if there was one.

        Warns
        -----
        ConvergenceWarning
            If a later pass diverged; the factors of the pass before it are kept.
        PodiumWarning
            If there is no checkpoint to resume from.
        """
        self.check()
        measure, patience = parse(self.eval_metric), self.patience
        workers, shown = or_threads(executor), or_silent(progress)
        pairs = _pairs.read(user_items, self.gain)
        settings = read_settings(self, pairs)
        unlearned = None if seen is None else _pairs.read_same(seen, "seen", pairs)
        judged = None if eval_set is None else _pairs.read_same(eval_set, "eval_set", pairs)
        judge = None if judged is None else Judge(judged, measure, patience)
        saved = None if checkpoint is None else Checkpoint(checkpoint, pairs, settings, judge)
        begun = resumed(saved) if _check.flag(resume, "resume") else None
        state, history = begun or (State.draw(pairs, settings), History())
        descent = Descent(pairs, settings, workers, state)
        factors = run(descent, history, judge, saved and saved.write, shown)
        self._finish(pairs, settings, factors, history)
        if unlearned is not None:
            self._hold(_pairs.together(pairs, unlearned.matrix()), factors)
        report_end(history, settings.learning_rate, depth=3)
        return self

    def check(self) -> None:
        """Raise an ArgumentError for a parameter that is wrong whatever the data."""
        parse(self.eval_metric)
        read_settings(self)

    def partial_fit(
        self,
        user_items: Any,
        *,
        n_epochs: int = 10,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Take in new interactions, of known and of new users and items.

        Known items keep their factors, so users without a new pair keep their scores, to the bit.
        New items get factors from passes over all pairs of the users that new pairs are of; then
        those users' are learned anew with all items fixed, as `fold_in` does. Known items move in
        a new `fit` only. A model that was never fitted is fitted.

        Parameters
        ----------
        user_items : scipy.sparse matrix, (n_users, n_items), or table
            The new pairs alone, a table if `fit` had one. A matrix may have more rows and columns
            than the model has users and items: those are new. A weight adds to that of a pair
            that the model has, unless `gain` is "one".
        n_epochs : int
            Passes for new items, from a step of ``learning_rate`` down; none without new items.
        executor, progress
            As in `fit`.

        Raises
        ------
        ArgumentError, DataError, KeyboardInterrupt
            As in `fit`; the model is then as it was.

        Notes
        -----
        `n_epochs_`, `n_blocks_`, `stop_reason_` and `history_` stay those of `fit`.
        """
        if not self.is_fitted:
            return self.fit(user_items, executor=executor, progress=progress)
        n_epochs = _check.cutoff(n_epochs, name="n_epochs")
        new = _pairs.read(user_items, self.gain, scale=self.weight_scale_)
        if not new.items.size:
            raise ArgumentError("user_items must hold at least one new pair, got none.")
        growth = Growth.of(self._learned_pairs(), new, add_up=self.gain != "one")
        workers = or_threads(executor)
        settings = read_settings(self)
        old = Factors(self.user_factors_, self.item_factors_, self.item_bias_)
        factors = growth.factors(old, settings.seed)
        if growth.has_new_items:
            few = read_settings(self, growth.touched_pairs(), fewer=True)
            learn_new_items(growth, factors, replace(few, n_epochs=n_epochs), workers, progress)
        touched = growth.touched_pairs()
        folded = fold_in(touched, factors.items, factors.bias, settings, workers)
        factors.users[growth.touched] = folded
        seen = growth.placed(self._seen_pairs())
        self._hold(_pairs.together(growth.pairs, seen), factors)
        return self

    def recommend_new(
        self,
        user_items: Any,
        k: int = 10,
        *,
        exclude_seen: bool = True,
        allow: ArrayLike | None = None,
        deny: ArrayLike | None = None,
        executor: Executor | None = None,
    ) -> tuple[Items, Floats]:
        """Find the best items of new users: `fold_in`, then as `recommend`.

        Parameters
        ----------
        user_items, executor
            As in `fold_in`. Of a table, users are in rising order of their ids.
        k, exclude_seen, allow, deny
            As in `recommend`.
        """
        check_is_fitted(self)
        pairs = self._new_pairs(user_items)
        factors = self._fold(pairs, executor)
        seen = pairs.matrix() if _check.flag(exclude_seen, "exclude_seen") else None
        chosen = self._candidates(allow, deny)
        found, scores = self._top_of(factors, self._width(k), seen, chosen)
        return self._named(found), scores

    def fold_in(self, user_items: Any, *, executor: Executor | None = None) -> Floats:
        """Learn factors of new users with those of items fixed.

        Parameters
        ----------
        user_items : scipy.sparse matrix, (n_new, n_items), or table
            Pairs of the new users with items of the fit.
        executor : Executor, optional

        Returns
        -------
        float32, (n_new, n_factors)
            Of a table, in rising order of users' ids. A user's factors depend on its own pairs
            alone, not on who else is there.
        """
        check_is_fitted(self)
        return self._fold(self._new_pairs(user_items), executor)

    def _finish(self, pairs: Pairs, settings: Settings, factors: Factors, history: History) -> None:
        self._hold(pairs, factors)
        self.n_blocks_ = settings.n_blocks
        self.n_epochs_ = history.best_epoch
        self.stop_reason_ = history.stop_reason
        self.history_ = {"cost": np.array(history.costs)}
        if history.validation:
            self.history_["validation"] = np.array(history.validation)

    def _hold(self, pairs: Pairs, factors: Factors) -> None:
        self.user_factors_, self.item_factors_ = factors.users, factors.items
        self.item_bias_ = factors.bias
        self._hold_pairs(pairs)

    def _fold(self, pairs: Pairs, executor: Executor | None) -> Floats:
        items, settings = (self.item_factors_, self.item_bias_), read_settings(self)
        return fold_in(pairs, *items, settings, or_threads(executor))

    def _new_pairs(self, user_items: Any) -> Pairs:
        columns = np.arange(self.n_items_, dtype=np.int64)  # the ids of a matrix's items
        labels = columns if self.item_labels_ is None else self.item_labels_
        pairs = _pairs.read(user_items, self.gain, item_labels=labels, scale=self.weight_scale_)
        if pairs.n_items != self.n_items_:
            raise ArgumentError(
                f"user_items must have the model's {self.n_items_} items, got {pairs.n_items}."
            )
        return pairs

    def _n_factors(self, arrays: Arrays) -> int:
        return _check.cutoff(self.n_factors, name="n_factors")

    def _arrays(self) -> Arrays:
        history = {f"history_.{key}": value for key, value in self.history_.items()}
        return super()._arrays() | history

    def _take(self, arrays: Arrays) -> None:
        super()._take(arrays)
        self.history_ = {
            key.removeprefix("history_."): value
            for key, value in arrays.items()
            if key.startswith("history_.")
        }
