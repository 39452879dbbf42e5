"""Any measure as a scikit-learn scorer: the one file of the metrics that knows scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.metrics import make_scorer as make_sklearn_scorer

from podium.errors import ArgumentError
from podium.metrics.measures import Measure, parse
from podium.ranking import Ranking
from podium.types import Ties


def make_scorer(
    measure: str | Measure,
    *,
    min_relevance: float = 1.0,
    ties: Ties = "worst",
    one_group: bool = False,
) -> Any:
    """Make a scikit-learn scorer: the mean of a measure over the groups where it is defined.

    Parameters
    ----------
    measure : str or Measure
        For example "pap@10".
    min_relevance : float
        Relevance from which a row counts as positive.
    ties : {"worst", "best", "average", "id", "random"}
        How equal predictions are ordered.
    one_group : bool
        Take all rows as one group where no qid arrives, instead of refusing to score.

    Returns
    -------
    scorer
        ``scorer(estimator, X, y, qid=qid)``. It requests `qid`, so that GridSearchCV passes it on;
        scikit-learn takes qid only after ``sklearn.set_config(enable_metadata_routing=True)``.
        Scores are decision_function, else predict_proba of the positive class, else predict.
        Greater is better: a loss has its sign flipped. nan where no group is defined.

    Raises
    ------
    ArgumentError
        From the scorer, if no qid arrives: one list of all rows is another measure.

    Examples
    --------
    >>> scorer = make_scorer("pap@10")
    """
    parsed = parse(measure)

    def score(y: ArrayLike, scores: ArrayLike, *, qid: ArrayLike | None = None) -> float:
        if qid is None and not one_group:
            raise ArgumentError(
                "qid did not reach the scorer. Call "
                "sklearn.set_config(enable_metadata_routing=True) and pass qid to fit, or make "
                "the scorer with one_group=True."
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
    with config_context(enable_metadata_routing=True):  # the request is refused without
        return scorer.set_score_request(qid=True)
