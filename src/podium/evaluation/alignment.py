"""Evaluations of several runs on the same groups, and of one run on several splits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.evaluation import Evaluation
from podium.protocol.protocol import OF_TABLES
from podium.types import Labels


def align(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Return evaluations of the same measures on the groups that all of them have.

    Raises
    ------
    ArgumentError
        If there are fewer than two, their measures differ, their protocols differ in a field that
        decides a value, or they have no group in common.
    """
    if len(evaluations) < 2:
        raise ArgumentError(f"evaluations must hold at least two runs, got {len(evaluations)}.")
    evaluations = _with_labels_of_one_kind(evaluations)
    (baseline, first), *others = evaluations.items()
    common = first.labels
    for name, compared in others:
        is_of_rankings = first.of_rankings or compared.of_rankings
        ignored = OF_TABLES if is_of_rankings else ("missing",)  # all users are in both
        _refuse_different("evaluations", {baseline: first, name: compared}, ignored)
        if not np.array_equal(common, compared.labels):
            common = np.intersect1d(common, compared.labels, assume_unique=True)
    if not common.size:
        raise ArgumentError(
            "runs have no user in common. Check that their ids are of the same kind."
        )
    return {
        name: e if np.array_equal(e.labels, common) else _rows(e, np.searchsorted(e.labels, common))
        for name, e in evaluations.items()
    }


def merge(parts: Iterable[Evaluation]) -> Evaluation:
    """Return evaluations of disjoint sets of users as one Evaluation of all of them.

    Parameters
    ----------
    parts : iterable of Evaluation
        The evaluations, in any order, of the same measures under the same protocol. They are
        read once, so that an iterator can free each of them.

    Returns
    -------
    Evaluation
        The evaluation of all users, in ascending order of labels. Its other attributes are those
        of the first part, without segments and tables. Use `divide` for segments.

    Raises
    ------
    ArgumentError
        If there is no part, a user is in two parts, their measures differ, or their protocols
        differ in a field that decides a value.

    Notes
    -----
    The result has the same bits as the evaluation of all users at once, for any number and order
    of parts, because each value depends on a single user.

    Examples
    --------
    >>> first, second = (
    ...     Evaluation(np.array([u]), np.array([1]), {"rr": np.array([v])})
    ...     for u, v in ((8, 0.5), (7, 1.0))
    ... )
    >>> merge([first, second]).values["rr"].tolist()
    [1.0, 0.5]
    """
    first: Evaluation | None = None
    columns: dict[tuple[str, ...], list[NDArray[Any]]] = {}
    for part in parts:
        if first is None:
            first = replace(_rows(part, np.empty(0, np.int64)), segments=(), tables=None)
        _refuse_different("parts", {"the first": first, "another": part})
        for name, column in _columns(part).items():
            columns.setdefault(name, []).append(column)
        del part  # an iterator may have no other reference to it
    if first is None:
        raise ArgumentError("parts must hold at least one Evaluation, got none.")
    labels = _concatenate(columns.pop(("labels",)))
    order = _increasing(labels)
    joined: dict[tuple[str, ...], NDArray[Any]] = {}
    joined["labels",] = labels if order is None else labels[order]
    for name in list(columns):  # one at a time, so that the parts of each column are freed
        column = _concatenate(columns.pop(name))
        joined[name] = column if order is None else column[order]
    return _with_columns(first, joined)


def _concatenate(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return columns one after the other; those without rows don't determine the type."""
    return np.concatenate([column for column in columns if column.size] or columns[:1])


def _columns(evaluation: Evaluation) -> dict[tuple[str, ...], NDArray[Any]]:
    """Return all arrays of an evaluation, by the attribute, the measure and the end of bounds."""
    names = ("labels", "n_pos", "n_pos_of_truth", "n_listed", "n_rejected")
    names += ("cluster", "weight", "users", "splits")
    plain = {(name,): vars(evaluation)[name] for name in names}
    measured = {
        (kind, name): column
        for kind in ("values", "weights", "best")
        for name, column in vars(evaluation)[kind].items()
    }
    ends = {
        ("bounds", name, end): column
        for name, pair in evaluation.bounds.items()
        for end, column in zip(("low", "high"), pair, strict=True)
    }
    return {n: c for n, c in plain.items() if c is not None} | measured | ends


def _with_columns(
    evaluation: Evaluation, columns: Mapping[tuple[str, ...], NDArray[Any]]
) -> Evaluation:
    """Return an evaluation with other arrays; the inverse of `_columns`."""
    plain: Any = {name[0]: column for name, column in columns.items() if len(name) == 1}
    measured: Any = {
        kind: {name[1]: column for name, column in columns.items() if name[0] == kind}
        for kind in ("values", "weights", "best")
    }
    bounds = {
        name: (columns["bounds", name, "low"], columns["bounds", name, "high"])
        for name in evaluation.bounds
    }
    return replace(evaluation, **plain, **measured, bounds=bounds)


def _refuse_different(
    noun: str, two: Mapping[str, Evaluation], ignored: Collection[str] = ()
) -> None:
    """Raise if two evaluations have other measures, or a field that decides a value differs."""
    (one, first), (other, second) = two.items()
    if first.values.keys() != second.values.keys():
        raise ArgumentError(
            f"{noun} must have the same measures, got {', '.join(first.values)} in {one} and "
            f"{', '.join(second.values)} in {other}."
        )
    differing = first.protocol.differing(second.protocol, but=ignored)
    if differing is not None:
        rule, value, other_value = differing
        raise ArgumentError(
            f"{noun} must have the same conventions, got {rule}={value!r} in {one} and "
            f"{other_value!r} in {other}. Measure both alike."
        )


def _increasing(labels: Labels) -> NDArray[np.int64] | None:
    """Return the order of labels, None if they increase; raise if a label occurs twice."""
    if (labels[1:] > labels[:-1]).all():
        return None
    order = np.argsort(labels, kind="stable")
    repeated = labels[order][1:][labels[order][1:] == labels[order][:-1]]
    if repeated.size:
        raise ArgumentError(
            f"Two parts hold group {_check.label(repeated[0])}. Put all rows of a group into a "
            "single part."
        )
    return order


def join_splits(parts: Mapping[str, Mapping[str, Evaluation]]) -> dict[str, Evaluation]:
    """Return the evaluations of runs on several splits as one Evaluation per run.

    Each user of each split is a separate group, with a label such as "split/user". The standard
    errors then include the variation of users and of splits; see `stats.crossed_mean`.

    Parameters
    ----------
    parts : mapping of split to mapping of run to Evaluation
        The evaluations of the same runs in each split, aligned, with the same measures.
    """
    first = next(iter(parts.values()))
    labels = [next(iter(runs.values())).labels for runs in parts.values()]
    is_mixed = len({of_split.dtype.kind for of_split in labels}) > 1
    return {
        run: merge(_of_split(split, runs[run], as_text=is_mixed) for split, runs in parts.items())
        for run in first
    }


def _of_split(split: str, evaluation: Evaluation, *, as_text: bool) -> Evaluation:
    """Return an evaluation whose groups are the users of a split."""
    as_texts = evaluation.labels.astype(np.str_)
    return replace(
        evaluation,
        labels=np.char.add(f"{split}/", as_texts),
        users=as_texts if as_text else evaluation.labels,
        splits=np.full(evaluation.n_groups, split),
    )


def _with_labels_of_one_kind(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Return evaluations with labels as text if any has text; "10" then precedes "9"."""
    if len({evaluation.labels.dtype.kind for evaluation in evaluations.values()}) == 1:
        return dict(evaluations)
    texts = {name: e.labels.astype(np.str_) for name, e in evaluations.items()}
    return {
        name: _rows(replace(evaluation, labels=texts[name]), np.argsort(texts[name]))
        for name, evaluation in evaluations.items()
    }


def _rows(evaluation: Evaluation, rows: NDArray[np.int64]) -> Evaluation:
    selected = {name: column[rows] for name, column in _columns(evaluation).items()}
    segments = tuple(replace(s, mask=s.mask[rows]) for s in evaluation.segments)
    return replace(_with_columns(evaluation, selected), segments=segments)
