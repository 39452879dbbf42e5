"""Evaluations of several runs on the same groups, and of one run on several splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.evaluation.evaluation import Evaluation
from podium.types import Labels


def align(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Return evaluations of the same measures on the groups that all of them have.

    Raises
    ------
    ArgumentError
        If there are fewer than two, their measures differ, or they have no group in common.
    """
    if len(evaluations) < 2:
        raise ArgumentError(f"evaluations must hold at least two runs, got {len(evaluations)}.")
    evaluations = _with_labels_of_one_kind(evaluations)
    (baseline, first), *others = evaluations.items()
    common = first.labels
    for name, compared in others:
        if compared.values.keys() != first.values.keys():
            raise ArgumentError(
                f"evaluations must have the same measures, got {', '.join(first.values)} in "
                f"{baseline} and {', '.join(compared.values)} in {name}."
            )
        if not np.array_equal(common, compared.labels):
            common = np.intersect1d(common, compared.labels, assume_unique=True)
    if not common.size:
        raise ArgumentError(
            "runs have no user in common. Check that their ids are of the same kind."
        )
    return {name: _select(evaluation, common) for name, evaluation in evaluations.items()}


def join_splits(parts: Mapping[str, Mapping[str, Evaluation]]) -> dict[str, Evaluation]:
    """Return the evaluations of runs on several splits as one Evaluation per run.

    Each user of each split is a separate group, with a label such as "split/user". The standard
    errors then include the variation of users and of splits; see `stats.crossed_mean`.

    Parameters
    ----------
    parts : mapping of split to mapping of run to Evaluation
        The evaluations of the same runs in each split, aligned, with the same measures.
    """
    by_split = [next(iter(runs.values())) for runs in parts.values()]
    kinds = {evaluation.labels.dtype.kind for evaluation in by_split}
    users = np.concatenate(
        [e.labels if len(kinds) == 1 else e.labels.astype(np.str_) for e in by_split]
    )
    splits = np.repeat(np.array(list(parts)), [e.n_groups for e in by_split])
    labels = np.char.add(np.char.add(splits, "/"), users.astype(np.str_))
    order = np.argsort(labels)
    return {
        run: _rows(
            replace(
                _concatenated([runs[run] for runs in parts.values()]),
                labels=labels,
                users=users,
                splits=splits,
            ),
            order,
        )
        for run in next(iter(parts.values()))
    }


def _concatenated(parts: Sequence[Evaluation]) -> Evaluation:
    """Return the values of all parts one after the other; the labels are those of the first."""
    first = parts[0]
    return replace(
        first,
        tables=None,
        n_pos=np.concatenate([part.n_pos for part in parts]),
        values={n: np.concatenate([part.values[n] for part in parts]) for n in first.values},
        weights={n: np.concatenate([part.weights[n] for part in parts]) for n in first.weights},
    )


def _with_labels_of_one_kind(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Return evaluations with labels as text if any has text; "10" then precedes "9"."""
    if len({evaluation.labels.dtype.kind for evaluation in evaluations.values()}) == 1:
        return dict(evaluations)
    as_text = {
        name: replace(evaluation, labels=evaluation.labels.astype(np.str_))
        for name, evaluation in evaluations.items()
    }
    return {
        name: _rows(evaluation, np.argsort(evaluation.labels))
        for name, evaluation in as_text.items()
    }


def _select(evaluation: Evaluation, labels: Labels) -> Evaluation:
    if np.array_equal(evaluation.labels, labels):
        return evaluation
    return _rows(evaluation, np.searchsorted(evaluation.labels, labels))


def _rows(evaluation: Evaluation, rows: NDArray[np.int64]) -> Evaluation:
    return replace(
        evaluation,
        labels=evaluation.labels[rows],
        n_pos=evaluation.n_pos[rows],
        values={name: values[rows] for name, values in evaluation.values.items()},
        weights={name: weights[rows] for name, weights in evaluation.weights.items()},
        bounds={name: (low[rows], high[rows]) for name, (low, high) in evaluation.bounds.items()},
        users=None if evaluation.users is None else evaluation.users[rows],
        splits=None if evaluation.splits is None else evaluation.splits[rows],
        segments=tuple(
            replace(segment, mask=segment.mask[rows]) for segment in evaluation.segments
        ),
    )
