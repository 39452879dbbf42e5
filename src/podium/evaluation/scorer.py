"""scikit-learn scorers of measures. No other module of this package imports scikit-learn."""

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import ArrayLike

from podium import _check
from podium._ties import TIES_OF_LISTS
from podium.errors import ArgumentError, arg
from podium.evaluation.evaluation import Evaluation
from podium.evaluation.from_runs import warn_of_unread
from podium.evaluation.stats.intervals import defined, mean
from podium.metrics import Measure
from podium.metrics.measures import parse_relevance
from podium.protocol import Protocol, ProtocolFields
from podium.ranking import Ranking

_READ = {"measures", "like", "min_relevance", "low_grades", "ties", "ties_seed", "undefined"}


def make_scorer(
    protocol: Protocol | str | Measure,
    *,
    one_group: bool = False,
    **fields: Unpack[ProtocolFields],
) -> Any:
    """Return a scikit-learn scorer: the mean of a measure over the groups where it is defined.

    Parameters
    ----------
    protocol : str, Measure or Protocol
        The measure, for example "pap@10", or a protocol, of which the first measure counts.
    one_group : bool
        Whether all rows form one group if the scorer receives no qid. By default it raises.
    min_relevance : float, optional
        The relevance from which a row counts as positive, 1 by default. If it is passed, lower
        grades count as 0, unless low_grades="keep" is passed too.
    ties : {"worst", "best", "average", "random", "threshold"}
        The order of equal predictions. There is no "id", because a scorer receives no ids of items.
    undefined : {"skip", "zero", "one", "error"}
        The rule for groups for which the measure is undefined.
    **fields
        The fields low_grades, ties_seed and like, as in `podium.measure`. Others have no effect:
        a scorer receives rows, not a truth and a run.

    Returns
    -------
    scorer
        ``scorer(estimator, X, y, qid=qid)``. It requests `qid`, so that GridSearchCV passes it
        on. scikit-learn accepts qid only after
        ``sklearn.set_config(enable_metadata_routing=True)``. The scores are those of
        decision_function, else of predict_proba for the positive class, else of predict.
        Greater is better: if lower values of the measure are better, the sign is changed. The
        result is nan if the measure is undefined for all groups.

    Raises
    ------
    ArgumentError
        If the measure or ties is unknown, or if the scorer receives no qid and one_group is False.
        One list of all rows would be another measure.

    Warns
    -----
    PodiumWarning
        If a protocol states fields that have no effect.

    Examples
    --------
    >>> scorer = make_scorer("pap@10", ties="best")
    """
    from sklearn import config_context  # which takes 1.5 s to import
    from sklearn.metrics import make_scorer as make_sklearn_scorer

    stated = Protocol.of(protocol, **fields)
    warn_of_unread(stated, *sorted(stated.stated().keys() - _READ), reader="scorers")
    named = parse_relevance(stated.required_measures()[0])
    measure, conventions = stated.measure(named), stated.conventions(named)
    _check.choice(conventions.ties, "ties", [rule for rule in TIES_OF_LISTS if rule != "id"])

    def score(y: ArrayLike, scores: ArrayLike, *, qid: ArrayLike | None = None) -> float:
        if qid is None and not one_group:
            raise ArgumentError(
                "qid did not reach the scorer. Call "
                "sklearn.set_config(enable_metadata_routing=True) and pass qid to fit, or make "
                f"the scorer with {arg.one_group(True)}."
            )
        ranking = Ranking.from_scores(
            *(scores, y, qid),
            min_relevance=conventions.min_relevance,
            low_grades=conventions.low_grades,
            ties=conventions.ties,
            seed=conventions.ties_seed,
        )
        values = {str(named): measure(ranking)}
        evaluation = Evaluation(ranking.groups.labels, ranking.n_pos, values, protocol=stated)
        evaluation.refuse_undefined()
        return mean(defined(evaluation.filled(named))[0])

    score.__name__ = str(named)
    scorer: Any = make_sklearn_scorer(
        score,
        response_method=("decision_function", "predict_proba", "predict"),
        greater_is_better=named.metric.higher_is_better,
    )
    with config_context(enable_metadata_routing=True):  # scikit-learn refuses requests without it
        return scorer.set_score_request(qid=True)
