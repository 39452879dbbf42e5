"""Why a number differs: the function, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Unpack

from podium import presets
from podium._json import plain
from podium.data.frames import NO_FRAMES, Origin
from podium.data.join import Join
from podium.decide.explain.answers import Search
from podium.decide.explain.joint import package_choices
from podium.decide.explain.numbers import Value, numbers_of
from podium.decide.explain.readings import listed_once
from podium.decide.explain.search import search
from podium.decide.explain.table import Readings, ValueTable
from podium.decide.explain.tables import Differences, differences
from podium.decide.explain.waterfall import Waterfall, waterfall
from podium.errors import ArgumentError, arg
from podium.metrics.measures import parse_relevance
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import NO_PROTOCOL, Measures
from podium.results import Result


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """The reasons why a number differs from podium's.

    Attributes
    ----------
    measure : str
    n_users : int
        The users of the truth.
    n_missing : int
        The users of the truth that the run lacks. podium.measure refuses them by default; here
        podium's value counts them with the worst value (missing="zero").
    n_repeated : int
        The rows of the run with an item that the user's list already has. podium.measure refuses
        them; here podium's value counts the best rank of an item.
    search : Search or None
        The conventions that give the value that was passed.
    packages : tuple of Waterfall
        The steps from podium's value to that of the package of `like`. If nothing else is asked,
        those to the values of all packages that have the measure.
    differences : tuple of Differences
        The differences of two truths, and of two runs.
    origin : Origin
        The kind of frames that came in.
    protocol : Protocol
        The protocol of podium's value.
    """

    measure: str
    n_users: int
    n_missing: int
    n_repeated: int = 0
    search: Search | None = None
    packages: tuple[Waterfall, ...] = ()
    differences: tuple[Differences, ...] = ()
    origin: Origin = NO_FRAMES
    protocol: Protocol = NO_PROTOCOL

    _test: ClassVar[str] = "explanation.search.matches, the conventions that give the value"

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/explanation.json); nan becomes None."""
        parts = asdict(self)
        del parts["origin"]
        return plain({**parts, "protocol": self.protocol.as_json()})


def explain(
    truth: Any,
    run: Any,
    protocol: Protocol | Measures = "ndcg@10",
    *,
    value: Value | None = None,
    other_truth: Any = None,
    other_run: Any = None,
    **fields: Unpack[ProtocolFields],
) -> Explanation:
    """Explain why a number differs from podium's, on given data.

    Without value, like, other_truth and other_run, the result has the values of all packages.

    Parameters
    ----------
    truth, run : path, frame, mapping of columns, or sparse matrix
        Your tables, as in `podium.measure`.
    protocol : str, Measure or Protocol
        The measure of both numbers, or the protocol of yours, of which the first measure counts.
    value : str, float or mapping, optional
        The other number, with all digits that were printed; a text keeps final zeros, such as
        "0.3120". A mapping has a number for each of several measures, which take the place of those
        of the protocol, or a mapping of users to their values.
    other_truth, other_run : path, frame, mapping of columns, or sparse matrix, optional
        Their tables, which are compared with yours before any measure.
    like : str, optional
        A package (see `podium.measure`), to whose value the steps are shown. The package of a
        protocol is that of your number.
    **fields
        Conventions of your number and names of columns, as in `podium.data.ranking`. min_relevance
        is required for ratings, unless only tables are compared.

    Returns
    -------
    Explanation
        The differences of the tables, and the conventions that give the other number.

    Raises
    ------
    ArgumentError
        If the measure is one of the items shown; the value is not a number, has fewer than three
        digits after the point or is out of bounds; or the package is unknown or lacks the measure.
    DataError
        If a file or table is wrong.

    Examples
    --------
    >>> truth = {"user": [1, 1, 2], "item": [7, 8, 7], "relevance": [3, 1, 1]}
    >>> run = {"user": [1, 1, 2], "item": [8, 7, 7], "score": [0.9, 0.2, 0.5]}
    >>> explain(truth, run, "ndcg@10", value="0.855").search.matches[0].changes
    ({'gain': 'exp2'},)
    """
    from podium.data.lists import threshold_of
    from podium.data.opened import Tables
    from podium.data.runs import read_run, read_truth

    like = fields.pop("like", None)
    stated = Protocol.of(protocol, **fields)
    if isinstance(value, Mapping):
        stated = stated.replace(measures=list(value))
    measure = parse_relevance(stated.required_measures()[0])
    pairs = [(truth, {"": run}), (other_truth, {"": other_run})]
    ours, theirs = Tables.open_splits(stated, pairs)
    truth_table, runs = ours.read()
    run_table, listed = runs[""], listed_once(runs[""])
    compared: list[Differences] = []
    if other_truth is not None:
        compared.append(differences(truth_table, read_truth(theirs.truth)))
    if other_run is not None:
        compared.append(differences(run_table, read_run(theirs.runs[""])))
    only_tables = bool(compared) and value is None and like is None
    join = Join.of(truth_table, listed)
    if value is None:
        join.check(all_users=False)
    answers: dict[str, Any] = {}
    if not only_tables:
        threshold_of(truth_table, stated.conventions(measure))  # or raise

        numbers = [] if value is None else numbers_of(value, stated.measure(measure))
        measures = [parse_relevance(number.measure) for number in numbers] or [measure]
        depth = max((of.k + 1 for of in measures if of.k is not None), default=None)
        readings = Readings(join, stated.conventions(measure), run_table, depth)
        tables = [ValueTable(readings, stated.measure(m), stated.conventions(m)) for m in measures]
        if value is not None:
            answers["search"] = search(tables, numbers, stated)
            if not answers["search"].matches:
                join.check(all_users=False)
        if value is None or like is not None:
            answers["packages"] = _packages(tables[0], like, stated)
    return Explanation(
        *(str(stated.measure(measure)), join.is_absent.size, int(join.is_absent.sum())),
        n_repeated=run_table.score.size - listed.score.size,
        differences=tuple(compared),
        origin=Origin(ours.kind, truth_table.origin.user),
        protocol=stated,
        **answers,
    )


def _packages(table: ValueTable, like: str | None, given: Protocol) -> tuple[Waterfall, ...]:
    if like is not None:
        return (waterfall(table, like, given),)
    having = [name for name in presets.PACKAGES if package_choices(table, name)]
    if not having:
        raise ArgumentError(
            f"No package of {', '.join(presets.PACKAGES)} has {table.measure}. Pass {arg.value()} "
            "to search the conventions that give a number."
        )
    packages: list[Waterfall] = []
    for name in having:
        with suppress(ArgumentError):  # the lists do not have what it needs
            packages.append(waterfall(table, name, given))
    return tuple(packages)
