"""The protocol that is in force in a command: options, --set, --like, a file, or the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from podium import _check
from podium._fields import FIELDS, OF_GATE
from podium._grammar import word
from podium.cli import _messages
from podium.cli._messages import Sets
from podium.cli._options import MEASURE, ColumnNames, texts_by_name

if TYPE_CHECKING:
    from podium.protocol import Protocol


_TASKS = {
    "new": "only items that are new to their users",
    "repeat": "only items that their users had before",
    "all": "new items and items that their users had before",
}
_ENTRIES = tuple(Sets(name, is_entry=True) for name, field in FIELDS.items() if field.is_entry)
"""The fields that only --set sets."""


@dataclass(frozen=True)
class Columns(ColumnNames):
    """The names of columns that differ from the usual names, in each table that has them."""

    roles: ClassVar[tuple[str, ...]] = ("user", "item", "score", "rank", "relevance", "parent")

    rows_ranked: bool = False


@dataclass(frozen=True)
class Given:
    """The options that every command with a protocol has.

    Parameters
    ----------
    further : NAME=VALUE
        A field of the protocol, such as ties=best. Some fields can only be set here:
        unretrieved=drop, single_precision=true, score_above=X, n_permutations=N. May be repeated.
    protocol : FILE
        Protocol: a file in TOML, or a result in JSON. Default: podium.toml in this folder, if there
        is one.
    """

    panel: ClassVar[str] = "Conventions"

    min_relevance: float | None = None
    further: Annotated[list[str] | None, *_ENTRIES, typer.Option("--set")] = None
    protocol: Path | None = None

    @property
    def file(self) -> Path | None:
        """The file of the protocol, if there is one."""
        from podium.protocol import toml

        if self.protocol is not None:
            return self.protocol
        return Path(toml.NAME) if Path(toml.NAME).is_file() else None

    def options(self) -> dict[str, Any]:
        """Return the fields that options set, by name; None if they are not given."""
        values = {name: value for name, value in vars(self).items() if name in FIELDS}
        seed = vars(self).get("seed")
        return {**values, "ties_seed": seed, "bootstrap_seed": seed}

    def in_force(self, columns: Columns, default: Sequence[str], **more: Any) -> Protocol:
        """Return the protocol that is in force.

        Parameters
        ----------
        columns : Columns
        default : sequence of str
            The measures if nothing names any: with a package, those that it has.
        **more
            Further fields that options set; None or an empty list if they are not given.
        """
        from podium import presets
        from podium.protocol import Protocol
        from podium.protocol.protocol import with_changes

        stated = {} if self.file is None else Protocol.read(self.file).stated()
        stated = with_changes(stated, self._entries())
        names = {n: name for n, name in columns.names_by_role().items() if n in FIELDS}
        names |= {"rows_ranked": columns.rows_ranked or None}
        options = {**self.options(), **names, **more}
        options = {name: value for name, value in options.items() if value not in (None, [])}
        if "like" in options:
            stated = with_changes(stated, {"like": options["like"], **self._entries()})
        fields: dict[str, Any] = {**stated, **options}
        if "measures" not in fields:
            package = fields.get("like")
            fields["measures"] = default if package is None else presets.get(package).known(default)
        return Protocol.of(**fields)

    def _entries(self) -> dict[str, Any]:
        texts = texts_by_name(self.further, "--set", "NAME=VALUE")
        for name in texts:
            _check.choice(name, "the NAME of --set", [*FIELDS])
        return {name: FIELDS[name].read(text) for name, text in texts.items()}

    def say(self, protocol: Protocol, truth: Path | None = None) -> None:
        """Say which protocol was in force, if it comes from a file or changes a package's.

        If `podium split --task` has written the truth, the task is said too.
        """
        from podium.data.splitting import task_of

        task = None if truth is None else task_of(truth)
        if task is not None:
            _messages.say(f"{truth} has {_TASKS[task]} (--task {task} of its split).")
        if self.file is not None or (protocol.package and protocol.changed()):
            source = "" if self.file is None else f" of {self.file}"
            stated = {n: v for n, v in protocol.as_json().items() if n != OF_GATE}
            _messages.say(f"the protocol{source} is {', '.join(_words(stated))}.")


def _words(stated: Mapping[str, Any]) -> list[str]:
    words = {"measures": "", "like": "like "}
    return [
        f"{words.get(name, f'{name}=')}"
        f"{', '.join(map(str, value)) if name in ('measures', 'by') else word(value)}"
        for name, value in stated.items()
    ]


@dataclass(frozen=True)
class Conventions(Given):
    """Options of the conventions of measures and intervals.

    Parameters
    ----------
    seed : N
        Seed of random ties. In measure and compare, also of the bootstrap and of the randomisation
        test. Default: 0.
    """

    low_grades: str | None = None
    ties: str | None = None
    undefined: str | None = None
    missing: str | None = None
    unjudged: str | None = None
    n_items: int | None = None
    like: str | None = None
    level: float | None = None
    seed: Annotated[int | None, Sets("ties_seed"), Sets("bootstrap_seed")] = None


@dataclass(frozen=True)
class Scoring(Conventions):
    """Options of the measures and conventions.

    Parameters
    ----------
    measures : MEASURE
        Measures, such as ndcg@10 or ap(norm=min)@10. May be repeated. Default: pap@10, ndcg@10,
        precision@10, recall@10, or those of them that the package of --like has.
    """

    measures: Annotated[list[str] | None, MEASURE] = None
    by: list[str] | None = None
    interval: str | None = None
