from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

class LogisticRegression(BaseEstimator):
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    n_iter_: NDArray[Any]

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        solver: str = "lbfgs",
        max_iter: int = 100,
    ) -> None: ...
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self: ...
