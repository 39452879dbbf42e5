"""scikit-learn scorers of measures. No other module of this package imports scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.metrics import make_scorer as make_sklearn_scorer

from podium import _check
from podium._ties import TIES_OF_LISTS
from podium.errors import ArgumentError, arg
from podium.metrics.measures import Measure, parse
from podium.ranking import Ranking
from podium.types import Ties


def make_scorer(
    measure: str | Measure,
    *,
    min_relevance: float | None = None,
    ties: Ties = "worst",
    one_group: bool = False,
) -> Any:
    """Return a scikit-learn scorer: the mean of a measure over the groups where it is defined.

    Parameters
    ----------
    measure : str or Measure
        The measure, for example "pap@10".
    min_relevance : float, optional
        The relevance from which a row counts as positive, 1 by default. If it is passed, lower
        grades count as 0.
    ties : {"worst", "best", "average", "random", "threshold"}
        The order of equal predictions. There is no "id", because a scorer receives no ids of items.
    one_group : bool
        Whether all rows form one group if the scorer receives no qid. By default it raises.

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

    Examples
    --------
    >>> scorer = make_scorer("pap@10")
    """
    parsed = parse(measure)
    _check.choice(ties, "ties", [rule for rule in TIES_OF_LISTS if rule != "id"])

    def score(y: ArrayLike, scores: ArrayLike, *, qid: ArrayLike | None = None) -> float:
        if qid is None and not one_group:
            raise ArgumentError(
                "qid did not reach the scorer. Call "
                "sklearn.set_config(enable_metadata_routing=True) and pass qid to fit, or make "
                f"the scorer with {arg.one_group(True)}."
            )
        ranking = Ranking.from_scores(scores, y, qid, min_relevance=min_relevance, ties=ties)
        values = parsed(ranking)
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if defined.size else float("nan")

    score.__name__ = str(parsed)
    scorer: Any = make_sklearn_scorer(
        score,
        response_method=("decision_function", "predict_proba", "predict"),
        greater_is_better=parsed.metric.higher_is_better,
    )
    with config_context(enable_metadata_routing=True):  # scikit-learn refuses requests without it
        return scorer.set_score_request(qid=True)
