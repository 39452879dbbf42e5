"""The functions that evaluate rankings, or a run against a truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation import _hints
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.segments import BUILT_IN
from podium.evaluation.stats import IntervalMethod
from podium.metrics import Measure, parse_all
from podium.ranking import Ranking
from podium.types import Labels, PerGroup, Undefined

if TYPE_CHECKING:
    from podium.data import RankingOptions

UNDEFINED: tuple[Undefined, ...] = ("skip", "zero", "one", "error")


def evaluate(
    rankings: Ranking | Iterable[Ranking],
    measures: str | Measure | Iterable[str | Measure],
    *,
    undefined: Undefined = "skip",
    level: float = 0.95,
    interval: IntervalMethod = "t",
    seed: int = 0,
) -> Evaluation:
    """Evaluate measures on one ranking, or on a stream of them (blocks of users).

    Parameters
    ----------
    rankings : Ranking or iterable of Ranking
        The ranking, or several that are read one after another and not kept in memory. Each group
        must be in only one of them.
    measures : str, Measure, or several
        The measures, such as ["pap@10", "ndcg@10"].
    undefined : {"skip", "zero", "one", "error"}
        The treatment of groups for which a measure is undefined (nan): leave them out of the mean,
        count them as 0 or 1, or raise an error. Their number is always reported.
    level : float
        The coverage of the intervals.
    interval : {"t", "bootstrap"}
        The method of the intervals: the t distribution, or a bootstrap over groups (BCa).
    seed : int
        The seed of the bootstrap.

    Warns
    -----
    PodiumWarning
        If a measure is undefined in every group, with the reason. If err is measured with the
        default max_grade and no relevance is above 1.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0, 2.0, 1.0], [1, 0, 1, 0, 1], qid=[7, 7, 7, 8, 8])
    >>> evaluate(r, ["rr", "pap@1"]).means
    {'rr': 0.75, 'pap@1': 0.5}
    """
    parsed = parse_all(measures)
    _check.choice(undefined, "undefined", UNDEFINED)
    blocks: list[Evaluation] = []
    highest = 0.0
    for ranking in [rankings] if isinstance(rankings, Ranking) else rankings:
        blocks.append(_evaluate_ranking(ranking, parsed))
        highest = max(highest, float(ranking.ideal.max(initial=0.0)))
    if not blocks:
        raise ArgumentError("rankings must hold at least one Ranking, got none.")
    joined = blocks[0] if len(blocks) == 1 else _join(blocks)
    if undefined == "error":
        _refuse_undefined(joined.values, joined.labels)
    _hints.warn_of_undefined(
        joined.values,
        parsed,
        min_relevance=joined.conventions["min_relevance"],
        highest=highest,
        any_positive=bool(joined.n_pos.any()),
    )
    _hints.warn_of_scale(parsed, highest)
    return replace(
        joined,
        undefined=undefined,
        level=_check.open_fraction(level, "level"),
        interval=_check.choice(interval, "interval", ("t", "bootstrap")),
        seed=_check.seed(seed),
        conventions={
            **blocks[0].conventions,
            "undefined": undefined,
            "interval": interval,
            "seed": seed,
        },
    )


def measure(
    truth: Any,
    run: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    by: str | Sequence[str] = (),
    users: Any = None,
    undefined: Undefined = "skip",
    level: float = 0.95,
    interval: IntervalMethod = "t",
    **options: Unpack[RankingOptions],
) -> Evaluation:
    """Measure a run against a truth: per user, as a mean with an interval, and by segment.

    Parameters
    ----------
    truth, run : path, frame, mapping of columns, or sparse matrix
        The truth (user, item, relevance) and the run (user, item, score or rank); see
        `podium.data.ranking`.
    measures : str, Measure, or several
        The measures, such as ["pap@10", "ndcg@10"].
    by : str or several
        The segments: "engagement", "n_pos", or columns of `users`.
    users : path, frame or mapping of columns, optional
        A table with a user column and the columns that `by` names.
    undefined, level, interval
        The rule for undefined groups, and the level and the method of the intervals, as in
        `evaluate`.
    **options
        Conventions and column names, as in `podium.data.ranking`.

    Warns
    -----
    PodiumWarning
        If `podium.data.ranking` or `evaluate` warns, or if min_relevance is not passed and a
        measure treats relevances between 0 and 1 as not relevant.

    Examples
    --------
    >>> truth = {"user": [1, 1, 2], "item": [10, 11, 10]}
    >>> run = {"user": [1, 1, 2], "item": [11, 12, 12], "score": [0.9, 0.1, 0.5]}
    >>> measure(truth, run, ["hit_rate@1", "recall@2"]).means
    {'hit_rate@1': 0.5, 'recall@2': 0.25}
    """
    from podium import data

    parsed = parse_all(measures)
    ranking = data.ranking(truth, run, **options)
    if options.get("min_relevance") is None:
        _hints.warn_of_fractions(ranking, parsed)
    result = evaluate(
        ranking,
        parsed,
        undefined=undefined,
        level=level,
        interval=interval,
        seed=options.get("seed", 0),
    )
    data_conventions = {
        "missing": options.get("missing", "error"),
        "unjudged": options.get("unjudged", "negative"),
        "n_items": options.get("n_items"),
    }
    result = replace(result, conventions={**result.conventions, **data_conventions})
    return divide(result, [by] if isinstance(by, str) else by, users, user=options.get("user"))


def divide(
    evaluation: Evaluation, by: Sequence[str], users: Any = None, *, user: str | None = None
) -> Evaluation:
    """Add segments: built-in ones by name, all others by a column of `users`.

    Parameters
    ----------
    evaluation : Evaluation
    by : sequence of str
        The segments: "engagement", "n_pos", or columns of `users`.
    users : path, frame or mapping of columns, optional
        A table with a user column and the columns that `by` names.
    user : str, optional
        The name of the user column, if it is not a usual one.

    Raises
    ------
    ArgumentError
        If `users` is passed and `by` names none of its columns.
    """
    from podium import data

    if isinstance(by, str) or not isinstance(by, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"by must be a sequence of names of segments, got {by!r}.")
    if users is not None and all(name in BUILT_IN for name in by):
        raise ArgumentError(
            "users has no effect, because by names none of its columns. Add a column of users to "
            "by, or leave out users."
        )
    for name in by:
        has_no_column = users is None or name in BUILT_IN
        key = None if has_no_column else data.user_column(users, name, evaluation.labels, user=user)
        evaluation = evaluation.segmented(name, key)
    return evaluation


def _evaluate_ranking(ranking: Ranking, measures: list[Measure]) -> Evaluation:
    weights = {str(m): m.weights(ranking) for m in measures}
    return Evaluation(
        labels=ranking.groups.labels,
        n_pos=ranking.n_pos,
        values={str(m): m(ranking) for m in measures},
        weights={name: w for name, w in weights.items() if w is not None},
        conventions={"ties": ranking.ties, "min_relevance": ranking.min_relevance},
    )


def _join(blocks: Sequence[Evaluation]) -> Evaluation:
    """Join blocks in ascending order of labels, whatever the order of the stream."""
    labels = np.concatenate([b.labels for b in blocks])
    order = np.argsort(labels, kind="stable")
    repeated = labels[order][1:][labels[order][1:] == labels[order][:-1]]
    if repeated.size:
        raise ArgumentError(
            f"rankings hold group {_check.label(repeated[0])} twice. Put all rows of a group into "
            "a single Ranking."
        )
    first = blocks[0]
    return replace(
        first,
        labels=labels[order],
        n_pos=np.concatenate([b.n_pos for b in blocks])[order],
        values={n: np.concatenate([b.values[n] for b in blocks])[order] for n in first.values},
        weights={n: np.concatenate([b.weights[n] for b in blocks])[order] for n in first.weights},
    )


def _refuse_undefined(values: Mapping[str, PerGroup], labels: Labels) -> None:
    for name, column in values.items():
        bad = np.flatnonzero(np.isnan(column))
        if bad.size:
            raise ArgumentError(
                f"{name} is undefined for {bad.size} of {labels.size} groups, first qid "
                f"{_check.label(labels[bad[0]])}. Pass undefined='skip', 'zero' or 'one'."
            )
