"""A small neural ranker, trained with any loss of podium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from podium import _check
from podium._arrays import check_arrays
from podium.errors import ArgumentError, ConvergenceWarning, warn
from podium.losses import Loss
from podium.metrics import Measure
from podium.rankers import fitting
from podium.rankers.estimator import FitData, Ranker
from podium.rankers.inputs import Rows
from podium.rankers.neural import _training
from podium.rankers.objective import Labels, Parameters
from podium.rankers.solvers import Solution
from podium.rankers.solvers._common import Validate
from podium.types import PerRow, Progress, RowIndex


@dataclass(eq=False, repr=False)
class NeuralRanker(Ranker):
    """A small network that scores standardised features, trained by Adam.

    Minimises the mean group loss plus ``l2 / 2`` times the sum of squared weights. Training needs
    the extra ``podium[torch]``; scoring, saving and loading do not.

    Parameters
    ----------
    loss : Loss or str, optional
        A loss, or its name, such as ``"listmle@10"``; by default `podium.losses.PApLogistic`.
    hidden : int or tuple of int
        The units of the hidden layer, or of each hidden layer; 0 and () give a linear model.
    standardize : bool
        Whether to learn from features with mean 0 and variance 1 over the weighted training rows.
    l2 : float
        The penalty on the weights, >= 0; biases are not penalised.
    learning_rate : float
        The rate of Adam's steps in epoch 1; in epoch t it is ``learning_rate / sqrt(t)``.
    batch_size : int
        The number of groups in a mini-batch.
    max_iter : int
        The maximum number of epochs; each epoch uses every group once.
    tol : float
        The range of the last ten objectives at which the fit has converged.
    random_state : int
        The seed of the first weights, of the order of groups, and of losses that put tied rows in
        a random order, which is drawn once per fit.
    eval_metric : str or Measure, optional
        The measure that `score` returns, and the measure on an `eval_set`. None is ndcg@10 for
        grades (a loss that reads them, or labels of more than two values), else pap@10.
    patience : int, optional
        The number of epochs without a better value on the `eval_set` after which the fit stops.
        With None it does not stop early.
    one_group : bool
        Whether to treat all rows as one group if there is no qid; otherwise that is an error.

    Attributes
    ----------
    coefs_, intercepts_ : list of float64, (n_in, n_out) and (n_out,)
        The weights and biases of each layer, as views of `parameters_`.
    parameters_ : float64, (n_parameters,)
        The weights and biases, layer after layer, of the best epoch: by `eval_set`, or without
        one by objective.
    layer_sizes_ : int64, (n_layers + 1,)
        The number of features, the units of each hidden layer, and 1.
    mean_, scale_ : float64, (n_features,)
        The shift and scale of features: the network reads ``(x - mean_) / scale_``.
    objective_ : float
        The training objective of the kept parameters.
    best_iteration_ : int
        The epoch, from 0, of the kept parameters.
    n_iter_ : int
        The number of epochs run.
    stop_reason_ : {"converged", "patience", "max_iter", "diverged"}
        The reason why the fit stopped. "diverged": scores overflowed; the parameters are those of
        an earlier epoch.
    history_ : dict of float64, (``n_iter_``,)
        The values at the end of each epoch: "objective", and with an eval_set "validation", its
        mean eval_metric, signed so that higher is better.
    n_features_in_, feature_names_in_
        The number and names of features, as in scikit-learn.

    Notes
    -----
    With hidden=0, the model is linear (the paper's "linear neural network"). A convex loss then has
    the same minimum as with `LinearRanker` on standardised features. With hidden units, the
    objective has many minima. Try several values of random_state before you conclude that one model
    is better than another.

    A second fit on the same machine gives the same bits with any number of threads. The order of
    rows has the same effect as in `LinearRanker`. Sparse features are read as CSR and made dense
    batch by batch. Sums are in float64. Equal rows get equal scores. An epoch costs about six
    products of the features with the first layer.

    References
    ----------
    xia2009, section 5; kingma2015 for the steps; glorot2010 for the first weights.

    Examples
    --------
    >>> import numpy as np
    >>> ranker = NeuralRanker("pap-logistic", hidden=8)
    >>> ranker.get_params()["hidden"]
    8
    """

    default_loss: ClassVar[str | None] = "pap-logistic"
    graded_loss: ClassVar[str | None] = "lambdarank@10"
    default_grid: ClassVar[Mapping[str, Sequence[Any]] | None] = {
        "hidden": [0, 32],
        "learning_rate": [1e-3, 1e-2],
        "l2": [1e-5, 1e-3, 1e-1],
    }
    constraints: ClassVar[_check.Constraints] = {
        "hidden": _training.hidden_sizes,
        "standardize": _check.flag,
    }
    _types: ClassVar[tuple[Any, ...]] = (np.float64, np.float32)

    loss: Loss | str | None = None
    _: KW_ONLY
    hidden: int | tuple[int, ...] = 32
    standardize: bool = True
    l2: float = 1e-4
    learning_rate: float = 0.01
    batch_size: int = 16
    max_iter: int = 200
    tol: float = 1e-4
    random_state: int = 0
    eval_metric: str | Measure | None = None
    patience: int | None = 20
    one_group: bool = False

    def _learn(self, data: FitData, progress: Progress) -> None:
        settings, loss = fitting.settings_of(data.parameters), self._loss()
        labels, order = fitting.labels_of(loss, data.rows)
        places = np.arange(data.rows.groups.n_rows) if order is None else order
        problem = self._problem(data, loss, labels, places)
        validate = None if data.valid is None else self._validate(data.valid, problem)
        settings = fitting.with_suited_keep(settings, loss, validated=validate is not None)
        solution = _training.AdamRun.solve(problem, settings, validate, progress)
        self._keep(solution, problem)
        if solution.stop_reason != "max_iter":  # running all epochs is no reason for a warning
            text = fitting.warning_text(solution, settings, "stochastic")
            if text:
                warn(f"NeuralRanker {text}", ConvergenceWarning)

    def _library(self) -> Any:
        return _training.load_torch()

    def predict(self, X: Any) -> PerRow:
        """Return the scores, float64, (n_rows,); a higher score ranks first."""
        features = self._features_to_score(X)
        standard = _training.Standard(self.mean_, self.scale_)
        return _training.scores_of(self._network(), standard, self.parameters_, features)

    @property
    def coefs_(self) -> list[NDArray[np.float64]]:
        """The weights of each layer, float64, (n_in, n_out)."""
        check_is_fitted(self)
        return [weights for weights, _ in self._network().layers(self.parameters_)]

    @property
    def intercepts_(self) -> list[NDArray[np.float64]]:
        """The biases of each layer, float64, (n_out,)."""
        check_is_fitted(self)
        return [biases for _, biases in self._network().layers(self.parameters_)]

    def check_restored(self) -> None:
        """Raise an ArgumentError unless the attributes read from a file are consistent."""
        sizes = self.layer_sizes_.tolist()
        ends = (self.n_features_in_, 1)
        is_int_vector = self.layer_sizes_.dtype.kind == "i" and self.layer_sizes_.ndim == 1
        if not is_int_vector or len(sizes) < 2 or min(sizes) < 1 or (sizes[0], sizes[-1]) != ends:
            raise ArgumentError(f"layer_sizes_ is {sizes}")
        check_arrays(
            self.__dict__,
            {
                "parameters_": ((self._network().n_parameters,), np.float64),
                "mean_": ((sizes[0],), np.float64),
                "scale_": ((sizes[0],), np.float64),
            },
        )
        if self.scale_.min() <= 0.0:
            raise ArgumentError("scale_ is not above 0")

    def _problem(
        self, data: FitData, loss: Loss, labels: Labels, places: RowIndex
    ) -> _training.Problem:
        checked, features = data.parameters, data.rows.features
        target = fitting.target_of(loss, labels, checked["random_state"])
        n_features = int(features.shape[1])
        standard = _training.Standard.none(n_features)
        if checked["standardize"]:
            standard = _training.Standard.of(features, labels.weights, places)
        network = _training.Network((n_features, *checked["hidden"], 1))
        return _training.Problem(
            network, standard, features, loss, target, labels, places, checked["l2"]
        )

    def _validate(self, rows: Rows, problem: _training.Problem) -> Validate:
        measure = self._validator(rows)
        return lambda parameters: measure(problem.scores(parameters, rows.features))

    def _keep(self, solution: Solution, problem: _training.Problem) -> None:
        fitting.keep(self, solution)
        self.parameters_: Parameters = solution.parameters
        self.layer_sizes_ = np.array(problem.network.sizes, np.int64)
        self.mean_, self.scale_ = problem.standard.mean, problem.standard.scale

    def _network(self) -> _training.Network:
        return _training.Network(tuple(self.layer_sizes_.tolist()))
