"""RoBiRank: factors of users and items, learned by a robust ranking loss."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np

from podium import _check
from podium.errors import ArgumentError, ConvergenceWarning, PodiumWarning
from podium.executors import Executor, or_threads
from podium.metrics import Measure, parse
from podium.progress import or_silent
from podium.recommenders.factorization import _pairs
from podium.recommenders.factorization._checkpoint import Checkpoint
from podium.recommenders.factorization._descent import Descent, Factors, State, fold_in
from podium.recommenders.factorization._fitted import Factorization, Floats
from podium.recommenders.factorization._growth import Growth
from podium.recommenders.factorization._history import History, Judge
from podium.recommenders.factorization._pairs import Pairs
from podium.recommenders.factorization._parts import Settings
from podium.recommenders.factorization._passes import run
from podium.recommenders.factorization._settings import read_settings
from podium.types import Progress


class RoBiRank(Factorization):
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
        own sample too. With a few negatives the mean step of neither is along the exact
        gradient, unless xi_rate is 0: see the notes.
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
    eval_measure : str or Measure
        What an `eval_set` is measured by.
    patience : int, optional
        With an `eval_set`: stop after this many passes without a better value.

    Attributes
    ----------
    user_factors_ : float32, (n_users, n_factors)
        Zero for users without a pair, who are shown items by their bias.
    item_factors_ : float32, (n_items, n_factors)
    item_bias_ : float32, (n_items,)
    user_labels_, item_labels_ : (n_users,), (n_items,), or None
        Ids, where the interactions came from a table; a matrix has row and column numbers.
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
    own sample, so that bad samples, which the gradient mostly consists of near the optimum, count
    less. On MovieLens-100K with 32 factors and ``xi="exact"``, the cosine between the mean step
    and the exact gradient is .987 or more for drawn factors; after a fit it is -.57 for users and
    -.17 for items with 1 negative, .58 and .51 with 8, .99 and .92 with 64, and 1.00 for each with
    xi_rate=0.

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
    >>> model = RoBiRank(n_factors=4, n_epochs=200, random_state=1).fit(likes)
    >>> model.recommend([3], k=1)[0]
    array([[3]])
    """

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
        eval_measure: str | Measure = "ndcg@10",
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
        self.eval_measure = eval_measure
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
        measure, patience = parse(self.eval_measure), self.patience
        if patience is not None:
            _check.cutoff(patience, name="patience")
        workers, shown = or_threads(executor), or_silent(progress)
        pairs = _pairs.read(user_items, self.gain)
        settings = read_settings(self, pairs)
        unlearned = None if seen is None else _pairs.read_same(seen, "seen", pairs)
        judged = None if eval_set is None else _pairs.read_same(eval_set, "eval_set", pairs)
        judge = None if judged is None else Judge(judged, measure, patience)
        saved = None if checkpoint is None else Checkpoint(checkpoint, pairs, settings, judge)
        begun = _resumed(saved) if _check.flag(resume, "resume") else None
        state, history = begun or (State.draw(pairs, settings), History())
        descent = Descent(pairs, settings, workers, state)
        factors = run(descent, history, judge, saved, shown)
        self._keep(pairs, settings, factors, history)
        if unlearned is not None:
            self._hold(_pairs.together(pairs, unlearned.matrix()), factors)
        self._tell(history.stop_reason, history.n_done, settings.learning_rate)
        return self

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

        Warns
        -----
        ConvergenceWarning
            As in `fit`.

        Notes
        -----
        `n_epochs_`, `n_blocks_`, `stop_reason_` and `history_` stay those of `fit`.
        """
        if not hasattr(self, "item_factors_"):
            return self.fit(user_items, executor=executor, progress=progress)
        n_epochs = _check.cutoff(n_epochs, name="n_epochs")
        new = _pairs.read(user_items, self.gain, scale=self.weight_scale_)
        if not new.items.size:
            raise ArgumentError("user_items must hold at least one new pair, got none.")
        growth = Growth.of(self._pairs(), new, add_up=self.gain != "one")
        workers = or_threads(executor)
        settings = read_settings(self)
        old = Factors(self.user_factors_, self.item_factors_, self.item_bias_)
        factors = growth.factors(old, settings.seed)
        if growth.has_new_items:
            made = self._passes(growth, factors, n_epochs, workers, progress)
            growth.take_new_items(made, factors)
        touched = growth.touched_pairs()
        folded = fold_in(touched, factors.items, factors.bias, settings, workers)
        factors.users[growth.touched] = folded
        seen = growth.placed(self._seen_pairs())
        self._hold(_pairs.together(growth.pairs, seen), factors)
        return self

    def _passes(
        self,
        growth: Growth,
        factors: Factors,
        n_epochs: int,
        executor: Executor,
        progress: Progress | None,
    ) -> Factors:
        """Return factors after passes over the users that new pairs are of."""
        pairs = growth.touched_pairs()
        settings = replace(read_settings(self, pairs, fewer=True), n_epochs=n_epochs)
        begin = Factors(factors.users[growth.touched], factors.items, factors.bias).copy()
        state = State(begin, np.ones(pairs.items.size, np.float32))
        history = History()
        descent = Descent(pairs, settings, executor, state)
        made = run(descent, history, None, None, or_silent(progress))
        self._tell(history.stop_reason, history.n_done, settings.learning_rate, depth=4)
        return made

    def _tell(self, stop_reason: str, n_done: int, rate: float, depth: int = 3) -> None:
        """Raise the interrupt that ended a fit, or warn of steps that went wild."""
        if stop_reason == "interrupted":
            raise KeyboardInterrupt
        if stop_reason == "diverged":
            warnings.warn(
                f"RoBiRank diverged in pass {n_done + 1}; the factors are of the pass before it. "
                f"Try learning_rate={rate / 4:g}.",
                ConvergenceWarning,
                stacklevel=depth,
            )

    def _keep(self, pairs: Pairs, settings: Settings, factors: Factors, history: History) -> None:
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
        self.user_labels_, self.item_labels_ = pairs.user_labels, pairs.item_labels
        self.seen_offsets_, self.seen_items_ = pairs.offsets, pairs.items
        self.seen_weights_, self.weight_scale_ = pairs.weights, pairs.scale

    def _fold(self, pairs: Pairs, executor: Executor | None) -> Floats:
        workers = or_threads(executor)
        settings = read_settings(self)
        return fold_in(pairs, self.item_factors_, self.item_bias_, settings, workers)


def _resumed(checkpoint: Checkpoint | None) -> tuple[State, History] | None:
    if checkpoint is None:
        raise ArgumentError("resume wants a checkpoint to go on from. Pass checkpoint=PATH.")
    begun = checkpoint.read()
    if begun is None:
        place = os.fspath(checkpoint.path)
        warnings.warn(
            f"There is no checkpoint {place}: the fit begins anew.", PodiumWarning, stacklevel=3
        )
    return begun
