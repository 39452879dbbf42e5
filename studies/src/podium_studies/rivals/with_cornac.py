"""Neural recommenders of the package cornac, which runs them on torch."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.errors import ArgumentError
from podium.recommenders import MatrixRecommender
from podium_studies import checks

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]


class _Cornac(MatrixRecommender, abc.ABC):
    """A model of cornac, kept after the fit to compute scores."""

    _model: Any

    def _learn(self, pairs: sparse.csr_array[Any], kind: str, **options: Any) -> None:
        name = type(self).__name__
        checks.extra("torch", "torch", name)
        models = checks.extra("cornac.models", "rivals", name)
        data = checks.extra("cornac.data", "rivals", name)
        model = vars(models)[kind](verbose=False, **options)
        n_users, n_items = pairs.shape
        user = np.repeat(np.arange(n_users), np.diff(pairs.indptr))
        item = pairs.indices.astype(np.int64)
        indices = [dict(zip(range(n), range(n), strict=True)) for n in (n_users, n_items)]
        triples = (user, item, np.ones(user.size))
        self._model = model.fit(data.Dataset(n_users, n_items, *indices, triples, seed=model.seed))


@dataclass(eq=False)
class MultiVAE(_Cornac):
    """Variational autoencoder of a user's pairs with a multinomial likelihood (VAECF of cornac).

    The weights of pairs are ignored. The scores are the decoder's values before the softmax.

    Parameters
    ----------
    n_factors : int
        The number of dimensions of the code.
    hidden : int
        The number of neurons of the encoder's hidden layer and of the decoder's.
    beta : float
        The weight of the divergence of the code from the normal distribution, >= 0. It is constant
        over all passes.
    learning_rate : float
        The learning rate of Adam, > 0.
    batch_size : int
        The number of users per step.
    n_epochs : int
        The number of passes over all users.
    random_state : int
        The seed of torch's global generator.

    Notes
    -----
    The model also needs the extra ``torch``. cornac does not implement two parts of the paper: the
    dropout of inputs, and a beta that increases with the steps.

    References
    ----------
    liang2018.
    """

    reads_weights: ClassVar[bool] = False
    default_space: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "n_factors": [50, 100, 200],
            "hidden": [200, 600],
            "beta": "uniform(0.0,1.0)",
            "learning_rate": "log(0.0003,0.01)",
        },
    )

    n_factors: int = 200
    hidden: int = 600
    beta: float = 0.2
    learning_rate: float = 0.001
    batch_size: int = 500
    n_epochs: int = 100
    random_state: int = 0

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        same = {name: name for name in ("beta", "learning_rate", "batch_size", "n_epochs")}
        options = checks.renamed(self, k="n_factors", seed="random_state", **same)
        structure = [checks.cutoff(self.hidden, name="hidden")]
        self._learn(pairs, "VAECF", likelihood="mult", autoencoder_structure=structure, **options)

    def _score(self, users: Ints) -> Floats:
        network = self._model.vae
        rows: Any = self.user_items_[users]
        tensor = network.enc_mu.weight.new_tensor((rows.toarray() > 0).astype(np.float32))
        code, _ = network.encode(tensor)
        return network.decoder(code).detach().cpu().numpy()


@dataclass(eq=False)
class NeuMF(_Cornac):
    """A factorization and a perceptron, combined and trained by cross entropy (cornac, on torch).

    The weights of pairs are ignored. The scores are probabilities.

    Parameters
    ----------
    layers : sequence of int
        The layer sizes of the perceptron. The first is the number of its inputs, half of which
        belong to the user. The last is also the number of factors that are multiplied.
    n_negatives : int
        The number of items that a pair is compared with in a pass, drawn uniformly.
    learning_rate : float
        The learning rate of Adam, > 0.
    l2 : float
        The decay of all weights, >= 0.
    batch_size : int
        The number of pairs per step, positive and negative.
    n_epochs : int
        The number of passes over all pairs.
    random_state : int
        The seed of the global generators of torch and NumPy.

    Notes
    -----
    The model also needs the extra ``torch``. It does not use the paper's pretraining. Cost: scoring
    evaluates the perceptron for every user and item.

    References
    ----------
    he2017.
    """

    reads_weights: ClassVar[bool] = False
    default_space: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "n_negatives": "int(2,8)",
            "learning_rate": "log(0.0001,0.01)",
            "l2": "log(1e-7,1e-3)",
        },
    )

    layers: Sequence[int] = (64, 32, 16, 8)
    n_negatives: int = 4
    learning_rate: float = 0.001
    l2: float = 0.0
    batch_size: int = 1024
    n_epochs: int = 20
    random_state: int = 0

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        layers = [checks.cutoff(size, name="layers") for size in self.layers]
        if not layers or layers[0] % 2:
            raise ArgumentError(
                "layers must begin with an even number, because half of the inputs belong to the "
                f"user, got {self.layers!r}."
            )
        names = {"batch_size": "batch_size", "num_neg": "n_negatives", "lr": "learning_rate"}
        names |= {"reg": "l2", "num_epochs": "n_epochs", "seed": "random_state"}
        options = {**checks.renamed(self, **names), "num_factors": layers[-1], "layers": layers}
        self._learn(pairs, "NeuMF", backend="pytorch", **options)

    def _score(self, users: Ints) -> Floats:
        scores = np.empty((users.size, self.n_items_), np.float32)
        for row, user in enumerate(users.tolist()):
            scores[row] = self._model.score(user)
        return scores
