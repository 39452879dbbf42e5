from collections.abc import Callable, Sequence
from typing import Any

def make_scorer(
    score_func: Callable[..., Any],
    *,
    response_method: str | Sequence[str] | None = None,
    greater_is_better: bool = True,
    **kwargs: Any,
) -> Any: ...
