"""Frames of the package whose frames came in: pandas, pyarrow or Polars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_QUERIES = ("qid", "queryid", "query")
_PACKAGES = ("pandas", "pyarrow", "polars")


@dataclass(frozen=True)
class Origin:
    """Where tables came from.

    Attributes
    ----------
    kind : {"pandas", "pyarrow", "polars", ""}
        The package of the frames; "" if there were none.
    user : str
        The name of the column of users.
    """

    kind: str = ""
    user: str = "user"

    @property
    def noun(self) -> str:
        """What the groups are called: "queries" if the column of users is one of queries."""
        name = "".join(c for c in self.user.lower() if c.isalnum())
        return "queries" if name in _QUERIES else "users"


NO_FRAMES = Origin()
"""The origin of results that come from arrays or files with usual names."""


def kind_of(source: Any) -> str:
    """Return the package of a frame, or "".

    Examples
    --------
    >>> kind_of({"user": [1]})
    ''
    """
    package = type(source).__module__.partition(".")[0]
    return package if package in _PACKAGES else ""


def as_frame(columns: Mapping[str, Any], kind: str = "") -> Any:
    """Return columns as a frame of a package; as a Polars frame if none is named.

    Examples
    --------
    >>> as_frame({"user": [1, 2], "rr": [0.5, 1.0]}).shape
    (2, 2)
    """
    from podium.data.appending import to_frame

    frame: Any = to_frame(columns)
    if kind == "pandas":
        return frame.to_pandas()
    return frame.to_arrow() if kind == "pyarrow" else frame
