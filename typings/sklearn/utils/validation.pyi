from collections.abc import Callable, Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

def check_is_fitted(
    estimator: object,
    attributes: str | Sequence[str] | None = None,
    *,
    msg: str | None = None,
    all_or_any: Callable[[Iterable[object]], bool] = ...,
) -> None: ...
def column_or_1d(
    y: Any, *, dtype: Any = None, input_name: str = "y", warn: bool = False, device: Any = None
) -> NDArray[Any]: ...
def validate_data(
    _estimator: object,
    /,
    X: Any = "no_validation",
    y: Any = "no_validation",
    reset: bool = True,
    validate_separately: Any = False,
    skip_check_array: bool = False,
    **check_params: Any,
) -> Any: ...
