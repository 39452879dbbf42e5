from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

def save(
    tensor_dict: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> bytes: ...
