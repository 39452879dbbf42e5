"""The gate, which decides whether a candidate may replace the base."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from podium._arrays import check_target
from podium.data.storage import Storage
from podium.decide.claiming import claims
from podium.decide.facts import of_pairs, of_runs, of_segments, of_training
from podium.decide.finding import finding
from podium.decide.pairs import Pairs
from podium.decide.result import Gate, Unjudged, ties_of
from podium.decide.rules import Rules
from podium.decide.state import State
from podium.errors import ArgumentError, arg
from podium.evaluation import divide
from podium.evaluation.from_runs import measure_runs, open_tables
from podium.evaluation.in_parts import read_same_lists
from podium.evaluation.unjudged import UnjudgedRanges
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import Measures


def gate(
    truth: Any,
    base: Any,
    candidate: Any,
    protocol: Protocol | Measures = "ndcg@10",
    *,
    users: Any = None,
    catalogue: Any = None,
    items: Any = None,
    state: str | os.PathLike[str] | None = None,
    names: tuple[str, str] = ("base", "candidate"),
    storage: Storage | None = None,
    train: Any = None,
    **fields: Unpack[ProtocolFields],
) -> Gate:
    """Decide whether a candidate may replace the base, by paired intervals over users.

    The verdict on a measure follows from the interval of the mean difference candidate - base:
    "superior" if the whole interval is better than 0 and than the limit, "non-inferior" if it is
    better than the limit only, "inferior" if it is worse than the limit, and otherwise "cannot
    tell". The limit of the primary measure is a loss of `margin`. If both runs have the same lists
    for all users, no test is needed: the verdict is "equal", and the candidate passes.

    Parameters
    ----------
    truth : path, frame, mapping, or sparse matrix
        The truth; see `podium.measure`.
    base, candidate : path, frame, mapping, or sparse matrix
        The two runs: tables, or the items of users, such as ``{user: [item, …]}``, best first.
    protocol : str, Measure or Protocol
        The primary measure, or a protocol, of which the first measure is the primary one. Its other
        measures need guards, or are not read.
    users : path, frame or mapping of columns, optional
        A table with a user column and the columns that by, cluster and weight name.
    catalogue : path, frame or mapping of columns, optional
        The past interactions of users and items.
    items : path, frame or mapping of columns, optional
        The table of items with their categories or features.
    state : path, optional
        The file that keeps the users of all looks, if the gate is used again as more users arrive.
        The intervals of all looks then hold together. The first look creates the file. Users in the
        file are not counted again.
    names : (str, str)
        The names of base and candidate in texts.
    storage : Storage, optional
        The limit of memory, and the executor, for tables that are measured in parts.
    train : path, frame or mapping of columns, optional
        The training rows. The gate then makes the checks of `podium.audit` first, and does not pass
        if there is an error. It also states the values of lists without a model that were not
        compared: popular, recent, and the user's own items. By default, it states only these, if
        the truth is a file of a split by time that `podium split` wrote.
    margin : float
        The largest acceptable loss, >= 0, in units of the measure; 0 by default.
    guards : mapping of str to float, or texts such as "recall@50:-0.005"
        Further measures, and the difference candidate - base that each must stay above (below, if
        lower is better), such as {"recall@50": -0.005}. Measures of the items shown can be guards:
        coverage, gini, novelty and popularity require `catalogue`, and diversity requires `items`.
    at_least : mapping of str to float, or texts such as "recall@5=0.8"
        Measures, and the value that the mean of the candidate must reach, by its interval (at most,
        if lower is better), such as {"recall@5": 0.8}. The candidate passes only if the whole
        interval is at this value or better, and fails if all of it is worse.
    horizon : int, optional
        The number of users at which the test ends. The interval of the last look is then almost
        as short as that of a single look. `state` is required.
    sequential : bool, optional
        Whether `state` must be passed. By default, it may be.
    by : str or sequence of str
        The segments in which no measure may be inferior: "engagement", "n_pos", or columns of
        `users`.
    cluster : str, optional
        The column of `users` with the cluster of each user, for lists that depend on each other,
        such as several lists of one person or the lists of several seeds.
    weight : str, optional
        The column of `users` with the weight of each user, >= 0. Coverage and gini have no
        weights.
    level : float
        The level of the intervals. A claim is false with a probability of about (1 - level) / 2 at
        most.
    undefined : {"skip", "zero", "one", "error"}
        The rule for undefined groups, as in `podium.evaluate`; "skip" by default.
    like : str, optional
        The package whose conventions apply, as in `podium.measure`.
    **fields
        Conventions and column names, as in `podium.data.ranking`. With unjudged="bounds", each
        claim also has the range of its difference over all judgements of unjudged items, and the
        gate has the labels that would settle the order of the runs. Verdicts are those of
        unjudged="negative".

    Returns
    -------
    Gate

    Raises
    ------
    ArgumentError
        If an option is wrong, if the rules, values or users of a sequential gate contradict those
        of an earlier look, or if unjudged="bounds" is passed with `state`, with a measure of
        relevance that has no bounds (see `podium.evaluation.difference_bounds`), or with tables
        that need more than `memory`.
    DataError
        If a file is wrong.

    Notes
    -----
    Equal runs: the same items in the same order, with the same ties, to the depth that the measures
    read. Equal values of different lists are tested, and so are repeated looks.
    Ties: if `ties` is not passed, and the decision with relevant items first among equal scores
    differs from that with relevant items last, the decision is "cannot tell", and the gate shows
    both. In repeated looks, earlier users whom the look lacks keep their stored values.
    Multiplicity: a candidate passes only if every guard holds, so guards need no correction. The
    intervals of segments have the level 1 - (1 - level) / number of segment claims.
    Intervals of one look: t intervals with the jackknife standard error over clusters. For a
    measure with bounds, the variance is increased by (width of the bounds / number of clusters)².
    Without this, sparse measures such as recall@10 give false claims in up to a quarter of small
    samples.
    Intervals without a horizon: a confidence sequence by betting, over clusters in the order of
    arrival. All means and differences then give each cluster the same weight.
    Intervals with a horizon: repeated confidence intervals with O'Brien-Fleming-type spending, and
    the same increase of the variance. If the last look has more users than the horizon, its
    interval allows for it.

    References
    ----------
    agresti2005; berger1982; piaggio2012; waudbysmith2023; lan1983; jennison1989.

    Examples
    --------
    >>> users = list(range(500))
    >>> truth = {"user": users, "item": [1] * 500}
    >>> base = {"user": users, "item": [1, 2] * 250, "score": [1.0] * 500}
    >>> candidate = {"user": users, "item": [1] * 500, "score": [1.0] * 500}
    >>> gate(truth, base, candidate, "hit_rate@1").verdict
    'superior'
    """
    from podium.data.buckets import is_large, refuse_large

    storage = Storage() if storage is None else storage
    protocol = Protocol.of(protocol, **fields)
    rules = Rules.of(protocol, has_state=state is not None)
    stated = rules.protocol
    if state is not None:
        check_target(Path(state), "state")
    has_bounds = stated.has_bounds
    if has_bounds and rules.looks != "once":
        raise ArgumentError(
            f"{arg.unjudged('bounds')} is not available with {arg.state}, which keeps no lists of "
            f"earlier looks. Use the gate once, or use {arg.unjudged('negative')}."
        )
    _check_names(names)
    runs = {"base": base, "candidate": candidate}
    (tables,) = open_tables(stated, [(truth, runs)], users, catalogue, items, reads_clusters=True)
    if has_bounds:
        refuse_large(tables, storage, "unjudged='bounds' of two runs")
    memory = None if is_large(tables, storage) else storage.memory
    if memory is not None:
        tables = tables.in_memory()
    # Claims have the bounds of differences. Those of single runs are not used.
    measured = stated.replace(unjudged="negative") if has_bounds else stated
    evaluations = measure_runs(tables, measured, with_users=True, storage=storage)
    base_run = divide(evaluations["base"], stated.by, tables.users)
    both = base_run, evaluations["candidate"]
    pairs = Pairs.of(*both)
    result, n_known = _state(rules, pairs, state)
    look = _look(result, result.pairs.n_users - n_known)
    ranges = None
    if has_bounds:
        two = tables.runs["base"], tables.runs["candidate"]
        ranges = UnjudgedRanges.read(tables.truth, *two, base_run, stated)
    is_equal = (
        rules.looks == "once"
        and pairs.are_equal(rules.measures)
        and read_same_lists(tables, stated, storage)
    )
    all_claims = tuple(claims(result, ranges, equal=is_equal))
    unjudged = None
    if ranges is not None:
        n_items = int(ranges.pool.n_unjudged.sum())
        unjudged = Unjudged(n_items, ranges.labels_to_settle(all_claims[0].measure))
    ties = None
    if not is_equal:
        ties = ties_of(result, pairs, pairs.with_relevant_first(*both), all_claims)
    by_name = dict(zip(names, both, strict=True))
    findings = [] if is_equal else [*of_pairs(names, result.pairs, rules.measures)]
    findings += [*of_segments(result.pairs), *of_runs(by_name, tables, storage)]
    named = dict(zip(names, (base, candidate), strict=True))
    findings += of_training(train, truth, named, by_name, memory)
    contents = all_claims, look, stated.in_force(), *names, unjudged, base_run.origin, ties
    decided = Gate(*contents, protocol.as_json(), tuple(findings))
    if train is None and decided.passed:
        decided = replace(decided, findings=(*findings, finding("training-unchecked", 0)))
    if state is not None:
        result.write(state)
    return decided


def _state(rules: Rules, pairs: Pairs, path: Any) -> tuple[State, int]:
    """Return the users of all looks, and the number of those that earlier looks had."""
    if path is None or not Path(path).exists():
        result, n_known = State.first(rules, pairs), 0
    else:
        earlier = State.read(path, rules, pairs)
        result, n_known = earlier.added(pairs), earlier.pairs.n_users
    weights = result.pairs.weight
    if weights is not None and not weights.any():
        raise ArgumentError(f"{arg.weight} must be positive for some user, but it is 0 for all.")
    return result, n_known


def _look(state: State, n_new: int) -> dict[str, Any] | None:
    if state.rules.looks == "once":
        return None
    look = {
        "number": len(state.looks),
        "n_users": state.pairs.n_users,
        "n_new": n_new,
        "horizon": state.rules.horizon,
    }
    is_clustered = state.rules.looks == "any time" and state.rules.protocol.cluster is not None
    return {**look, "mean_over": "clusters"} if is_clustered else look


def _check_names(names: Any) -> None:
    if isinstance(names, str) or not np.iterable(names) or len(list(names)) != 2:
        raise ArgumentError(f"names must be the two names of base and candidate, got {names!r}.")
