"""The function that compares runs from their tables, also over several splits or seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from podium import _check
from podium._fields import RULES_OF_GATE
from podium.data.opened import Tables
from podium.data.storage import Storage
from podium.decide.facts import of_pairs, of_runs, of_segments, of_training
from podium.decide.pairs import Pairs
from podium.errors import ArgumentError, arg
from podium.evaluation.alignment import join_splits
from podium.evaluation.comparison import PAIRS, Comparison, PairsCompared, compare_evaluations
from podium.evaluation.from_runs import measure_runs, open_tables, warn_of_unread
from podium.evaluation.unjudged import UnjudgedRanges
from podium.evaluation.users import divide
from podium.metrics import parse
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import Measures


def compare(
    truth: Any,
    runs: Mapping[str, Any],
    protocol: Protocol | Measures = (),
    *,
    train: Any = None,
    users: Any = None,
    catalogue: Any = None,
    items: Any = None,
    pairs: PairsCompared = "first",
    splits: Sequence[str] = (),
    keep_lists: bool = False,
    storage: Storage | None = None,
    **fields: Unpack[ProtocolFields],
) -> Comparison:
    """Compare runs on the same users, by paired tests.

    The p values are corrected for the number of tests.

    Parameters
    ----------
    truth : path, frame, mapping, or sparse matrix; or a list of these
        The truth, as in `measure`, or a list with the truth of each split.
    runs : mapping of name to run
        Two or more runs, by name, as in `measure`: tables, or the items of users. The first is the
        baseline. A list holds the runs of one system on several splits, or of several seeds on the
        same truth.
    protocol : str, Measure, several of them, or Protocol
        The measures, such as ["pap@10", "ndcg@10"], or a protocol.
    train : path, frame or mapping of columns, optional
        The training rows, as in `podium.gate`: the result then has the errors of an audit, and the
        values of lists without a model that were not compared. It has no effect with several
        splits.
    users : path, frame or mapping of columns, optional
        A table with a user column and the columns that `by` names.
    catalogue : path, frame or mapping of columns, optional
        The past interactions of users and items, for coverage, gini, novelty and popularity.
    items : path, frame or mapping of columns, optional
        The table of items with their categories or features, for diversity.
    pairs : {"first", "all"}
        The pairs to compare: each run with the first one, or all pairs. With "all", letters show
        which runs do not differ significantly.
    splits : sequence of str
        The names of the splits, if truth or runs are lists. Default: "1", "2", and so on.
    keep_lists : bool
        Whether the result keeps the tables for its report, as in `measure`. It has no effect with
        several splits.
    storage : Storage, optional
        The limit of memory, and the executor, for tables that are measured in parts.
    by : str or several
        The segments in which runs are compared too: "engagement", "n_pos", or columns of `users`.
    undefined, level, interval, bootstrap_seed
        The rule for undefined groups, the level of all intervals, the method of the intervals of
        means, and the seed, as in `evaluate`. Over splits, the bootstrap is not available.
    n_permutations : int
        The number of sign patterns that the randomisation test draws. With up to 16 nonzero
        differences, it uses all patterns instead.
    like : str, optional
        The package whose conventions apply, as in `measure`.
    **fields
        Conventions and column names, as in `podium.data.ranking`.

    Returns
    -------
    Comparison

    Raises
    ------
    ArgumentError
        If there are fewer than two runs, the lists have different lengths, runs have no user in
        common, `interval` or `unjudged` is not available with several splits, or
        unjudged="bounds" is passed with tables that need more than `memory`.
    DataError
        If a file or table is wrong.

    Notes
    -----
    Several splits or seeds: each user of each split is a group. The values of one user in several
    splits depend on each other, and so do the values of all users in one split. The standard errors
    therefore include the variation of both, and the tests are t tests; see `stats.crossed_mean`.
    Unjudged items: with unjudged="bounds", each difference has its range over all ways to judge
    the items that the truth lacks. If this range contains both signs, a difference over all groups
    that is not 0 also has items to judge.
    Tests: Holm's correction is for all pairs, measures and segments. With drawn sign patterns, the
    smallest p value of the randomisation test is 1 / (n_permutations + 1). If so many tests are
    made that this would not be significant after the correction, all tests are t tests: with the
    defaults, more than 500. With n <= 16 nonzero differences, the smallest p value is 2 / 2**n.

    References
    ----------
    smucker2007; holm1979; piepho2004; cameron2011.

    Examples
    --------
    >>> truth = {"user": [1, 2, 3], "item": [7, 8, 9]}
    >>> a = {"user": [1, 2, 3], "item": [7, 7, 7], "score": [1.0, 1.0, 1.0]}
    >>> b = {"user": [1, 2, 3], "item": [7, 8, 9], "score": [1.0, 1.0, 1.0]}
    >>> round(compare(truth, {"a": a, "b": b}, "rr").difference("rr", "b").test.difference, 3)
    0.667
    """
    from podium.data.buckets import is_large, refuse_large

    if not isinstance(runs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            "runs must be a mapping of names to runs, such as compare(truth, {'a': a, 'b': b}, "
            f"['ndcg@10']), got {type(runs).__name__}."
        )
    stated = Protocol.of(protocol, **fields)
    warn_of_unread(stated, "weight", "cluster", *{*RULES_OF_GATE} & fields.keys())
    storage = Storage() if storage is None else storage
    _check.choice(pairs, "pairs", PAIRS)
    all_splits = _splits(truth, runs, splits)
    if len(all_splits) > 1 and stated.interval == "bootstrap":
        raise ArgumentError(
            f"{arg.interval('bootstrap')} is not available with several splits, because it ignores "
            "the variation of splits. Use 't' or 'wilson'."
        )
    if len(all_splits) > 1 and stated.has_bounds:
        raise ArgumentError(
            f"{arg.unjudged('bounds')} requires a single truth and run per system, because one "
            "judgement would change several splits. Compare each split alone."
        )
    opened = open_tables(stated, [*all_splits.values()], users, catalogue, items)
    if stated.has_bounds:
        refuse_large(opened[0], storage, "unjudged='bounds' of several runs")
    opened = [tables if is_large(tables, storage) else tables.in_memory() for tables in opened]
    keeps = keep_lists and len(opened) == 1
    parts = {
        split: measure_runs(tables, stated, keep_lists=keeps, storage=storage)
        for split, tables in zip(all_splits, opened, strict=True)
    }
    measured = join_splits(parts) if len(parts) > 1 else next(iter(parts.values()))
    first = next(iter(measured.values()))
    divisions = divide(first, stated.by, opened[0].users)
    evaluations = {run: replace(e, segments=divisions.segments) for run, e in measured.items()}
    measures = [parse(name) for name in first.measures]
    (base, first), *others = evaluations.items()
    pairs_of = {name: Pairs.of(first, other) for name, other in others}
    findings = [
        f for name, both in pairs_of.items() for f in of_pairs((base, name), both, measures)
    ]
    findings += of_segments(next(iter(pairs_of.values())))
    findings += of_runs(evaluations, opened[0] if len(opened) == 1 else None, storage)
    if len(parts) == 1:
        memory = None if is_large(opened[0], storage) else storage.memory
        findings += of_training(train, truth, runs, evaluations, memory)
    comparison = compare_evaluations(evaluations, pairs=pairs)
    comparison = replace(comparison, findings=(*findings,))
    return with_unjudged(comparison, opened[0], stated) if stated.has_bounds else comparison


def with_unjudged(comparison: Comparison, tables: Tables, protocol: Protocol) -> Comparison:
    """Add the range of each difference over all judgements, and the items to judge.

    Parameters
    ----------
    comparison : Comparison
        The comparison of these runs.
    tables : Tables
    protocol : Protocol
    """
    first = comparison.evaluations[comparison.baseline]
    if not first.bounds:  # measures of the items shown have no ranges
        return comparison
    masks = {(segment.by, segment.name): segment.mask for segment in first.segments}
    differences = list(comparison.differences)
    for baseline, run in dict.fromkeys((d.baseline, d.run) for d in comparison.differences):
        two = tables.runs[baseline], tables.runs[run]
        ranges = UnjudgedRanges.read(tables.truth, *two, first, protocol)
        for i, d in enumerate(differences):
            if (d.baseline, d.run) != (baseline, run):
                continue
            unjudged = ranges.of(d.measure, masks.get((d.by, d.segment)))
            to_settle = None if d.by else ranges.labels_to_settle(d.measure)
            labels = to_settle if to_settle and to_settle["user"].size else None
            differences[i] = replace(d, unjudged=unjudged, labels=labels)
    return replace(comparison, differences=tuple(differences))


def _splits(
    truth: Any, runs: Mapping[str, Any], names: Sequence[str]
) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the truth and the runs of each split; a table that is not a list is used in each."""
    tables: dict[str, Any] = {"truth": truth, **{f"runs[{n!r}]": run for n, run in runs.items()}}
    sizes = {name: len(table) for name, table in tables.items() if _is_split(table)}
    if len(runs) < 2:
        raise ArgumentError(f"runs must hold at least two runs, got {len(runs)}.")
    if not sizes:
        if names:
            raise ArgumentError(
                f"splits requires a list of tables as truth or as a run, got {names!r} without "
                "such a list. Leave it out."
            )
        return {"": (truth, dict(runs))}
    (first, n_splits), *others = sizes.items()
    for name, size in others:
        if size != n_splits:
            raise ArgumentError(
                f"{name} must have one table per split, got {size}, but {first} has {n_splits}."
            )
    if n_splits < 2:
        raise ArgumentError(f"{first} must have at least two splits, got {n_splits}.")
    split_names = list(names) or [str(i + 1) for i in range(n_splits)]
    if len(set(split_names)) != n_splits:
        raise ArgumentError(
            f"splits must be {n_splits} distinct names, one per table of {first}, got {names!r}."
        )
    parts = (t if _is_split(t) else [t] * n_splits for t in tables.values())
    return {
        name: (of_split[0], dict(zip(runs, of_split[1:], strict=True)))
        for name, of_split in zip(split_names, zip(*parts, strict=True), strict=True)
    }


def _is_split(table: Any) -> bool:
    return isinstance(table, list)
