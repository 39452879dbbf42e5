"""Why a number differs: the function, its result, differences of tables, steps to a package."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from podium import presets
from podium._json import plain
from podium.data import Run, Truth
from podium.data.frames import NO_FRAMES, Origin
from podium.data.ids import share_all
from podium.data.join import Join
from podium.decide.explain.causes import package_choices
from podium.decide.explain.numbers import Value, numbers_of
from podium.decide.explain.readings import listed_once
from podium.decide.explain.search import Search, search
from podium.decide.explain.table import Readings, ValueTable, changes
from podium.errors import ArgumentError, arg
from podium.metrics.measures import parse_relevance
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import NO_PROTOCOL, Measures
from podium.results import Result

_MOST_EXAMPLES = 3


@dataclass(frozen=True)
class Line:
    """One number of each of two tables.

    Attributes
    ----------
    label : str
        What is counted.
    n_yours, n_theirs : int
        The numbers in the first and the second table.
    examples : tuple of str
        Up to three of them.
    """

    label: str
    n_yours: int
    n_theirs: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Differences:
    """The differences of two truths or of two runs.

    Attributes
    ----------
    kind : {"truth", "run"}
    lines : tuple of Line
        Counts of each table.
    n_common_pairs : int
        The pairs of a user and an item in both.
    n_changed_pairs : int
        Those with another relevance or, in runs, another score.
    n_users_reordered : int
        The users whose common items have another order; 0 for truths.
    """

    kind: str
    lines: tuple[Line, ...]
    n_common_pairs: int
    n_changed_pairs: int
    n_users_reordered: int = 0


def differences(first_table: Truth | Run, second_table: Truth | Run) -> Differences:
    """Compare two truths or two runs by their ids and values.

    Parameters
    ----------
    first_table, second_table : Truth or Run
        Two tables of the same kind.
    """
    tables = first_table, second_table
    users = share_all([t.user for t in tables])
    items = share_all([t.item for t in tables])
    of_first, of_second = users.columns
    n_items, (items_of_first, items_of_second) = items.labels.size, items.columns
    first, second = of_first * n_items + items_of_first, of_second * n_items + items_of_second

    def pair(code: Any) -> str:
        return f"({users.labels[code // n_items]}, {items.labels[code % n_items]})"

    lines = [
        Line("users", np.unique(of_first).size, np.unique(of_second).size),
        _only("users only here", of_first, of_second, users.labels.__getitem__),
        Line("pairs", first.size, second.size),
        _only("pairs only here", first, second, pair),
    ]
    common, at_first, at_second = np.intersect1d(first, second, return_indices=True)
    values, others = (t.relevance if isinstance(t, Truth) else t.score for t in tables)
    pair_values, other_values = values[at_first], others[at_second]
    kind, n_reordered = "truth", 0
    if isinstance(first_table, Run):
        kind, n_reordered = "run", _n_reordered(of_first[at_first], pair_values, other_values)
    n_changed = int((pair_values != other_values).sum())
    return Differences(kind, tuple(lines), common.size, n_changed, n_reordered)


def _only(label: str, left: NDArray[np.int64], right: NDArray[np.int64], name_of: Any) -> Line:
    """Count the codes that only one side has, with examples."""
    only = np.setdiff1d(left, right), np.setdiff1d(right, left)
    examples = [*only[0][:_MOST_EXAMPLES], *only[1][:_MOST_EXAMPLES]][:_MOST_EXAMPLES]
    return Line(label, only[0].size, only[1].size, tuple(str(name_of(code)) for code in examples))


def _n_reordered(
    users: NDArray[np.int64], first: NDArray[np.float64], second: NDArray[np.float64]
) -> int:
    """Count the users for whom two scores of the same items give different orders."""
    order = np.lexsort((first, users))
    user, by_first, by_second = users[order], first[order], second[order]
    is_same_user = user[1:] == user[:-1]
    falls = is_same_user & (by_first[1:] > by_first[:-1]) & (by_second[1:] <= by_second[:-1])
    splits = is_same_user & (by_first[1:] == by_first[:-1]) & (by_second[1:] != by_second[:-1])
    return int(np.unique(user[1:][falls | splits]).size)


_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Step:
    """One convention that differs.

    Attributes
    ----------
    convention : str
    default, value : object
        podium's value and the package's.
    change : float
        The difference of the mean that this step makes, after all steps before it.
    n_users : int
        The users whose value it changes, or that enter or leave the mean.
    """

    convention: str
    default: Any
    value: Any
    change: float
    n_users: int


@dataclass(frozen=True)
class Waterfall:
    """The steps from podium's value to that of a package, in the order of the computation.

    Attributes
    ----------
    measure, like : str
    start, end : float
        The value under podium's defaults and under the conventions of the package.
    steps : tuple of Step
        Their changes sum to end - start. Each depends on the steps before it.
    open_ties : tuple of float, or None
        The lowest and highest value over the orders of equal scores, if the package leaves this
        order open and it matters.
    toml : str
        The lines of podium.toml to change.
    """

    measure: str
    like: str
    start: float
    end: float
    steps: tuple[Step, ...]
    open_ties: tuple[float, float] | None = None
    toml: str = ""


def waterfall(table: ValueTable, like: str, given: Protocol) -> Waterfall:
    """Return the steps from podium's value of a measure to that of a package.

    Raises
    ------
    ArgumentError
        If the package is unknown, lacks the measure or fixes an option that the measure sets
        otherwise.
    """
    presets.get(like).measure(table.measure)  # raises
    choices = package_choices(table, like)
    target, current = choices[0], table.defaults
    start = value = table.mean(current)
    steps: list[Step] = []
    for name, changed in changes(target, current).items():
        following = {**current, name: changed}
        next_value = table.mean(following)
        counted = table.counted(current), table.counted(following)
        is_same = np.isclose(*counted, rtol=0.0, atol=_TOLERANCE, equal_nan=True)
        steps.append(Step(name, current[name], changed, next_value - value, int((~is_same).sum())))
        current, value = following, next_value
    ends = sorted(table.mean(choice) for choice in choices)
    is_open = ends[-1] - ends[0] > _TOLERANCE
    return Waterfall(
        str(table.measure),
        like,
        start,
        value,
        tuple(steps),
        (ends[0], ends[-1]) if is_open else None,
        given.changes_to(given.replace(like=like)),
    )


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
    opened, other_opened = Tables.open_splits(stated, pairs)
    truth_table, runs = opened.read()
    run_table, listed = runs[""], listed_once(runs[""])
    compared: list[Differences] = []
    if other_truth is not None:
        compared.append(differences(truth_table, read_truth(other_opened.truth)))
    if other_run is not None:
        compared.append(differences(run_table, read_run(other_opened.runs[""])))
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
        origin=Origin(opened.kind, truth_table.origin.user),
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
