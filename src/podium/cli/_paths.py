"""Which options of a command name files that are written, and that none of them is read."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium._files import Named


@dataclass(frozen=True)
class Written:
    """Marks, in its annotation, an option whose file is written; all other paths are read.

    `beside` are suffixes of further files, written beside it.
    """

    beside: tuple[str, ...] = ()


WRITTEN = Written()


def check_paths(parameters: Iterable[inspect.Parameter], given: Mapping[str, Any]) -> None:
    """Refuse a command that would write over what it reads, before it does anything.

    Raises
    ------
    ArgumentError
        If a file to write is also read, or two are the same.
    """
    from podium._files import Named, refuse_same

    read: list[Named] = []
    written: list[Named] = []
    for parameter in parameters:
        mark = _mark(parameter)
        for path in _paths(given.get(parameter.name)):
            named = Named(_shown(parameter), path)
            if mark is None:
                read.append(named)
            else:
                written += [named, *_beside(named, mark)]
    refuse_same(read, written)


def _beside(file: Named, mark: Written) -> Iterator[Named]:
    from podium._files import Named, is_stream

    for suffix in mark.beside:
        if file.path.name and not is_stream(file.path):
            path = file.path.with_name(f"{file.path.name}{suffix}")
            yield Named(f"the {suffix.removeprefix('.')} of {file.name},", path)


def _mark(parameter: inspect.Parameter) -> Written | None:
    marks = [each for each in _metadata(parameter) if isinstance(each, Written)]
    return marks[0] if marks else None


def _shown(parameter: inspect.Parameter) -> str:
    """Return how the command line calls a parameter: --out, TRUTH."""
    for each in _metadata(parameter):
        declared = [name for name in getattr(each, "param_decls", None) or () if "--" in name]
        if declared:
            return declared[0]
        if type(each).__name__ == "ArgumentInfo":
            return str(each.metavar)
    return f"--{parameter.name.replace('_', '-')}"


def _metadata(parameter: inspect.Parameter) -> tuple[Any, ...]:
    return typing.get_args(parameter.annotation)[1:]


def _paths(value: Any) -> list[Path]:
    listed = typing.cast("list[Any]", value if isinstance(value, list) else [value])
    return [each for each in listed if isinstance(each, Path)]
