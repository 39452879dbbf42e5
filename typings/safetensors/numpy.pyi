from collections.abc import Mapping
from os import PathLike
from typing import Any

from numpy.typing import NDArray

def save_file(
    tensor_dict: Mapping[str, NDArray[Any]],
    filename: str | PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None: ...
