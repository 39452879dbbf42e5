"""An input: files and what to do with them; families draw inputs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass
class Case:
    """Files in an empty folder, and either words for `podium` or a call of the library.

    Attributes
    ----------
    argv : list of str
        What follows `podium`; empty where `call` is given.
    files : dict of str to bytes
        What lies in the folder before. No command may change any of it but `outputs`.
    outputs : set of str
        Files that the command may write, whole, when it succeeds.
    kept : set of str
        Files that may also appear, or go, when it fails, such as a checkpoint.
    call : function, optional
        Called in the folder.
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
    """Return an input, which depends on nothing but the family's name, the seed and the index."""
    return family(random.Random(f"{name}/{seed}/{index}"), corpus)
