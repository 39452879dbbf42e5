"""An input of the fuzzer: files and a command or call; families draw inputs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass
class Case:
    """Files in an empty folder, and either arguments of `podium` or a call of the library.

    Attributes
    ----------
    argv : list of str
        The arguments of `podium`; empty if there is a `call`.
    files : dict of str to bytes
        The initial files in the folder. A command may change only those in `outputs`.
    outputs : set of str
        The files that the command may write if it succeeds. They must be complete.
    kept : set of str
        Files that may also appear or disappear if it fails, such as a checkpoint.
    call : function, optional
        The call, which is made in the folder.
    """

    argv: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    outputs: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    call: Callable[[], Any] | None = None

    def __str__(self) -> str:
        return " ".join(["podium", *self.argv]) if self.call is None else "a call"


Corpus: TypeAlias = Mapping[str, bytes]
Family: TypeAlias = Callable[[random.Random, Corpus], Case]


def draw(family: Family, name: str, seed: int, index: int, corpus: Corpus) -> Case:
    """Return an input that depends only on the family's name, the seed and the index."""
    return family(random.Random(f"{name}/{seed}/{index}"), corpus)
