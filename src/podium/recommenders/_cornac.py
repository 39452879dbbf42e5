"""Neural recommenders of the package cornac, which runs them on torch."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from podium import _check
from podium.errors import ArgumentError
from podium.recommenders._base import Floats, Ints, MatrixRecommender


class _Cornac(MatrixRecommender, abc.ABC):
    """A model of cornac's, kept to score with."""

    _model: Any

    def _learn(self, pairs: sparse.csr_array[Any], model: Any) -> None:
        data = _check.extra("cornac.data", "baselines", type(self).__name__)
        n_users, n_items = pairs.shape
        user = np.repeat(np.arange(n_users), np.diff(pairs.indptr))
        item = pairs.indices.astype(np.int64)
        known = [dict(zip(range(n), range(n), strict=True)) for n in (n_users, n_items)]
        triples = (user, item, np.ones(user.size))
        self._model = model.fit(data.Dataset(n_users, n_items, *known, triples, seed=model.seed))


@dataclass(eq=False)
class MultiVAE(_Cornac):
    """Variational autoencoder of a user's pairs with a multinomial likelihood (cornac's VAECF).

    Weights are not read. Scores are the decoder's, before the softmax.

    Parameters
    ----------
    n_factors : int
        Dimensions of the code.
    hidden : int
        Neurons of the layer before it, and of that after it.
    beta : float
        Weight of the code's divergence from the normal distribution, >= 0, from the first pass.
    learning_rate : float
        Of Adam, > 0.
    batch_size : int
        Users of a step.
    n_epochs : int
        Passes over all users.
    random_state : int
        Seeds torch's own generator, of the whole process.

    Notes
    -----
    Needs the extra ``torch`` too. The paper's dropout of inputs, and its beta that rises with the
    steps, are not in cornac's.

    References
    ----------
    liang2018.
    """

    n_factors: int = 200
    hidden: int = 600
    beta: float = 0.2
    learning_rate: float = 0.001
    batch_size: int = 500
    n_epochs: int = 100
    random_state: int = 0

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        package = _check.extra("cornac.models", "baselines", "MultiVAE")
        _check.extra("torch", "torch", "MultiVAE")
        model = package.VAECF(
            k=_check.cutoff(self.n_factors, name="n_factors"),
            autoencoder_structure=[_check.cutoff(self.hidden, name="hidden")],
            likelihood="mult",
            beta=_check.number(self.beta, "beta", low=0.0),
            learning_rate=_check.number(self.learning_rate, "learning_rate", low=0.0, strict=True),
            batch_size=_check.cutoff(self.batch_size, name="batch_size"),
            n_epochs=_check.cutoff(self.n_epochs, name="n_epochs"),
            seed=_check.seed(self.random_state, "random_state"),
            verbose=False,
        )
        self._learn(pairs, model)

    def _score(self, users: Ints) -> Floats:
        network = self._model.vae
        rows: Any = self.user_items_[users]
        tensor = network.enc_mu.weight.new_tensor((rows.toarray() > 0).astype(np.float32))
        code, _ = network.encode(tensor)
        return network.decoder(code).detach().cpu().numpy()


@dataclass(eq=False)
class NeuMF(_Cornac):
    """Products of factors beside a perceptron of others, by cross entropy (cornac's, on torch).

    Weights are not read. Scores are probabilities.

    Parameters
    ----------
    layers : sequence of int
        Inputs of the perceptron, half of them the user's, and its layers; the last is the number
        of factors that are multiplied too.
    n_negatives : int
        Items that a pair is compared with in a pass, drawn uniformly.
    learning_rate : float
        Of Adam, > 0.
    l2 : float
        Decay of all weights, >= 0.
    batch_size : int
        Pairs, positive and negative, of a step.
    n_epochs : int
        Passes over all pairs.
    random_state : int
        Seeds the generators of torch and of NumPy, of the whole process.

    Notes
    -----
    Needs the extra ``torch`` too. Without the paper's pretraining. Cost: scores take a pass of the
    perceptron for every user and item.

    References
    ----------
    he2017.
    """

    layers: Sequence[int] = (64, 32, 16, 8)
    n_negatives: int = 4
    learning_rate: float = 0.001
    l2: float = 0.0
    batch_size: int = 1024
    n_epochs: int = 20
    random_state: int = 0

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        package = _check.extra("cornac.models", "baselines", "NeuMF")
        _check.extra("torch", "torch", "NeuMF")
        layers = _layers(self.layers)
        model = package.NeuMF(
            num_factors=layers[-1],
            layers=layers,
            reg=_check.number(self.l2, "l2", low=0.0),
            num_epochs=_check.cutoff(self.n_epochs, name="n_epochs"),
            batch_size=_check.cutoff(self.batch_size, name="batch_size"),
            num_neg=_check.cutoff(self.n_negatives, name="n_negatives"),
            lr=_check.number(self.learning_rate, "learning_rate", low=0.0, strict=True),
            backend="pytorch",
            verbose=False,
            seed=_check.seed(self.random_state, "random_state"),
        )
        self._learn(pairs, model)

    def _score(self, users: Ints) -> Floats:
        scores = np.empty((users.size, self.n_items_), np.float32)
        for row, user in enumerate(users.tolist()):
            scores[row] = self._model.score(user)
        return scores


def _layers(values: Any) -> list[int]:
    sizes = [_check.cutoff(size, name="layers") for size in values]
    if not sizes or sizes[0] % 2:
        raise ArgumentError(
            f"layers must begin with an even number, half of it the user's, got {values!r}."
        )
    return sizes
