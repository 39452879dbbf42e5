"""The ranking of a truth and a run."""

from __future__ import annotations

from typing import Any, Unpack

from podium.data.lists import Lists
from podium.data.opened import Tables
from podium.protocol import Protocol, ProtocolFields
from podium.protocol.protocol import Measures
from podium.ranking import Ranking


def ranking(
    truth: Any, run: Any, protocol: Protocol | Measures = (), **fields: Unpack[ProtocolFields]
) -> Ranking:
    """Rank the items that a run lists for each user of the truth, with the truth's relevances.

    The groups are the truth's users in increasing order. Users who are only in the run are left
    out.

    Parameters
    ----------
    truth, run : path, frame, mapping or tuple of arrays, sparse matrix; or Truth, Run
        The tables, see `read_truth` and `read_run`. Ids are integers or strings. If they are
        integers in one table only, both are compared as strings.
    protocol : Protocol, or the measures, optional
        A protocol whose fields apply, or the measures that read the ranking: those that read which
        items are judged, such as bpref, need them marked.
    ties : {"worst", "best", "average", "id", "random", "threshold"}
        The order of equal scores, see `Ranking.from_scores`.
    min_relevance : float, optional
        The smallest relevance of a positive item, 1 by default. It is required if the relevance
        comes from a column named rating, because otherwise every rating would be positive.
    low_grades : {"zero", "keep"}, optional
        The treatment of relevances below min_relevance, see `Ranking.from_scores`: "zero" if
        min_relevance is passed, else "keep".
    missing : {"error", "zero", "skip"}
        The treatment of users of the truth who are not in the run: raise an error, give them the
        worst possible value, or leave them out. Users with an empty list are in the run.
    unjudged : {"negative", "skip", "error", "bounds"}
        The treatment of items of the run that the truth does not contain for the user: relevance 0,
        remove them from the list, or raise an error. "bounds" gives them relevance 0 and marks
        them in `Ranking.judged`, so that `podium.evaluation.judgement_bounds` can compute the range
        over all their judgements.
    unretrieved : {"count", "drop"}
        The treatment of relevant items that the user's list lacks: they count as relevant, or not
        at all, as in packages that see only the listed items. With "drop", each list is whole.
    single_precision : bool
        Whether to compare scores in single precision, as trec_eval does, so that nearly equal
        scores are ties.
    score_above : float, optional
        Items with this score or less are not retrieved: they are removed from the list, but still
        count as relevant. torchmetrics does so with 0.
    n_items : int, optional
        The number of items that each user could have been shown. By default, a list is known to be
        whole only if the truth contains negatives and the run lists exactly the truth's items.
    ties_seed : int
        The seed of ties="random". The order of equal scores depends only on it, user and item.
    like : str, optional
        The package whose conventions apply, see `podium.measure`.
    user, item, relevance, score, rank : str, optional
        The names of columns without a usual name. user and item apply to each table that has such
        a column; the other table is read by its usual names.
    parent : str, optional
        The name of the column of documents, if items are parts of them, such as chunks. Documents
        then take the place of items: in a run, the best part of a document counts, in a truth the
        most relevant one.
    rows_ranked : bool
        Whether the rows of a run without ranks are in the order shown. If it has scores, they must
        not contradict this order.

    Returns
    -------
    Ranking
        The lists of the truth's users.

    Raises
    ------
    ArgumentError
        If a field is wrong, two of them exclude each other (see `podium.Protocol`), users are
        missing with missing="error", items are not judged with unjudged="error", the order of equal
        scores depends on judgements with unjudged="bounds", n_items is less than the items of a
        user, relevances are ratings and min_relevance is missing, or the package of `like` has
        other conventions for another of the measures.
    DataError
        If a file or table is wrong (see `read_run`), a (user, item) pair occurs twice, the tables
        have no user or no item in common, or a score is too large for single_precision.

    Warns
    -----
    PodiumWarning
        If the tables have few ids in common, some ids are the same number in two spellings, or the
        lists look like sampled candidates.

    Notes
    -----
    A list that unjudged="skip" empties is kept as an empty list. Rows in messages are counted from
    0.
    Cost: one pass over both tables if their rows are grouped by user, else a counting sort before
    it. String ids are hashed first.

    Examples
    --------
    >>> truth = {"user": [1, 1, 2], "item": ["a", "b", "a"]}
    >>> run = {"user": [1, 1, 2], "item": ["a", "c", "c"], "score": [0.9, 0.8, 0.7]}
    >>> r = ranking(truth, run)
    >>> r.groups.labels.tolist(), r.relevance.tolist(), r.n_pos.tolist()
    ([1, 2], [1.0, 0.0, 0.0], [2, 1])
    """
    stated = Protocol.of(protocol, **fields)
    measures, conventions = stated.task()
    judged, runs = Tables.open(stated, truth, {"": run}).read()
    return Lists.of(judged, runs[""], conventions, measures=measures).ranking
