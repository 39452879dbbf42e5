"""The tables of one call: each is opened once, and knows the columns that the caller names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from podium._fields import FIELDS
from podium.data.columns import EVENTS, ITEM, RANK, RUN, TRUTH, USER, Role
from podium.data.frames import Origin
from podium.data.runs import Run, Truth, read_run, read_truth
from podium.data.source import Source
from podium.data.tables import open_table
from podium.protocol import Protocol

NAMED = tuple(name for name, field in FIELDS.items() if field.stage == "tables")
"""What a protocol states of tables: the roles of columns that it names, and the order of rows."""


class Wanted(NamedTuple):
    """A table to open: the source, the kind of the table in messages, and the roles that it has."""

    source: Any
    noun: str
    roles: Sequence[Role]

    def open(self, names: Mapping[str, str | None]) -> Any:
        """Open the table; one that was already read, and None, are returned as they are.

        A column with one of the names shows that a mapping has columns. It need not have each.
        """
        is_read = self.source is None or isinstance(self.source, Truth | Run)
        return self.source if is_read else open_table(*self, names)


def open_together(
    protocol: Protocol, wanted: Sequence[Wanted], *, timestamp: str | None = None
) -> list[Any]:
    """Open tables that are read together, each once, with the columns that a protocol names.

    A name of a column applies to the tables that have both its role and such a column; the others
    are read by their usual names. A name that no table has applies to all with its role, so that
    the first is refused. In a table with parents, these are the items. Tables that were already
    read, and None, are returned as they are.

    Examples
    --------
    >>> truth, run = {"who": [1], "item": [5]}, {"user": [1], "item": [5], "score": [1]}
    >>> wanted = [Wanted(truth, "truth", TRUTH), Wanted(run, "run", RUN)]
    >>> [table.named for table in open_together(Protocol.of(user="who"), wanted)]
    [{'user': 'who'}, {}]
    """
    names = {**protocol.column_names(*NAMED), "timestamp": timestamp}
    distinct = {(id(table.source), table.noun): table for table in wanted}
    opened = {key: table.open(names) for key, table in distinct.items()}
    known = {n for table in opened.values() if isinstance(table, Source) for n in table.names}
    for key, (_, _, roles) in distinct.items():
        if isinstance(table := opened[key], Source):
            here = {
                role: name
                for role in ("parent", *(role.name for role in roles))
                if (name := names.get(role)) and (name in table.names or name not in known)
            }
            if "parent" in here:
                here["item"] = here["parent"]
            table = replace(table, named=here)
            is_unranked = protocol.rows_ranked and RANK in roles and not table.resolve((RANK,))
            opened[key] = table.with_ranks("rank") if is_unranked else table
    return [opened[id(table.source), table.noun] for table in wanted]


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of one call.

    Attributes
    ----------
    truth : Source or Truth
        The truth: open, or read.
    runs : dict of str to Source or Run
    users, catalogue, items : Source, optional
        The tables of users, of past interactions and of items.
    """

    truth: Source | Truth
    runs: dict[str, Source | Run]
    users: Source | None = None
    catalogue: Source | None = None
    items: Source | None = None

    @classmethod
    def open(cls, protocol: Protocol, truth: Any, runs: Mapping[str, Any], **more: Any) -> Tables:
        """Open the tables of a call; `more` are `users`, `catalogue` and `items`."""
        return cls.open_splits(protocol, [(truth, runs)], **more)[0]

    @classmethod
    def open_splits(
        cls,
        protocol: Protocol,
        splits: Sequence[tuple[Any, Mapping[str, Any]]],
        users: Any = None,
        catalogue: Any = None,
        items: Any = None,
    ) -> list[Tables]:
        """Open the truth and the runs of several splits, and the tables that all of them read."""
        wanted = [Wanted(truth, "truth", TRUTH) for truth, _ in splits]
        wanted += [Wanted(run, "run", RUN) for _, runs in splits for run in runs.values()]
        common = [
            Wanted(users, "users table", (USER,)),
            Wanted(catalogue, "catalogue", EVENTS),
            Wanted(items, "items table", (ITEM,)),
        ]
        *opened, users, catalogue, items = open_together(protocol, [*wanted, *common])
        of_runs = iter(opened[len(splits) :])
        return [
            cls(truth, {name: next(of_runs) for name in runs}, users, catalogue, items)
            for truth, (_, runs) in zip(opened, splits, strict=False)
        ]

    @property
    def kind(self) -> str:
        """The package of the first frame among the truth and the runs; see `Origin`."""
        return first_kind([self.truth, *self.runs.values()])

    @property
    def origin(self) -> Origin:
        """The package of the frames, and the name of the truth's column of users."""
        truth = self.truth
        is_read = isinstance(truth, Truth)
        return Origin(self.kind, truth.origin.user if is_read else truth.resolve(TRUTH)["user"])

    def read(self) -> tuple[Truth, dict[str, Run]]:
        """Read the truth and the runs."""
        return read_truth(self.truth), {name: read_run(run) for name, run in self.runs.items()}

    def in_memory(self) -> Tables:
        """Return the tables with a truth and runs that are read, and are not read again."""
        truth, runs = self.read()
        return replace(self, truth=truth, runs=runs)


def first_kind(tables: Iterable[Source | Truth | Run]) -> str:
    """Return the package of the first frame among tables; see `Origin`."""
    return next((table.kind for table in tables if table.kind), "")
