"""The options of podium train, in the panels of its help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from podium import _check
from podium.cli._messages import Sets
from podium.cli._options import ColumnNames, EventFile

DEFAULT_K = 10
AUTO = "auto"
"""The name of the choice among several models."""


@dataclass(frozen=True)
class Model:
    """Options of the model and its loss.

    Parameters
    ----------
    model : MODEL
        Model that learns from rows with features: linear, neural, lightgbm, xgboost, or the
        baseline logistic-regression. Or a recommender, which learns from events: factorization,
        ease, item-knn, popularity, recent (the last days), own-history, or a blend. auto tries
        several on validation data and keeps the best. The text can contain parameters, such as
        'ease(l2=100)'. Default: auto for events, linear for rows with features.
    loss : LOSS
        Loss: pap-logistic, group-logistic, logistic, pap-ramp, …; for grades: listmle, listnet,
        rankcosine, softmax, pairwise-hinge, …. The text can contain a cutoff, such as pap-ramp@30,
        and parameters, such as 'listmle(head=relevant)@10'. Default: pap-logistic, or
        group-logistic for trees. If labels are grades: robirank for linear, lambdarank for neural,
        pairwise-logistic for trees.
    k : K
        Cutoff of the measure, and of a loss that needs a cutoff and has none in its text. Default:
        10. If given, it is also the cutoff of listmle, listnet and rankcosine, which otherwise
        learn from whole lists. With --tune, a loss tries 1, 3 and 10 times K.
    min_relevance : X
        Lowest relevance of a positive row. Default: 1.
    set : NAME=VALUE
        Another parameter of the model's class, such as l2=0.01, n_trees=300 or max_iter=1000. May
        be repeated. standardize=false trains on the original features; by default, linear and
        neural models are trained on standardised ones, and the coefficients of a linear model are
        converted back to the original units. query_norm=true first scales each feature to [0, 1]
        within each query or user, over all rows that are read; podium rank then does the same.
    """

    panel: ClassVar[str] = "Model"

    model: str = ""
    loss: str | None = None
    k: Annotated[int | None, typer.Option("-k")] = None
    min_relevance: float | None = None
    set: Annotated[
        list[str] | None,
        Sets("start", is_entry=True),
        Sets("tol", is_entry=True),
        Sets("fit_intercept", is_entry=True),
        Sets("solver", is_entry=True),
        Sets("learning_rate", is_entry=True),
        Sets("l2", is_entry=True),
        Sets("max_iter", is_entry=True),
        Sets("patience", is_entry=True),
    ] = None


@dataclass(frozen=True)
class FeatureColumns(ColumnNames):
    """Options that select the feature columns.

    Parameters
    ----------
    features : A,B,…
        Feature columns. Default: all numeric columns except times and ids. May be repeated.
    ignore : C,D,…
        Columns that are not features. May be repeated.
    """

    panel: ClassVar[str] = "Columns"
    roles: ClassVar[tuple[str, ...]] = ("user", "item", "relevance", "value", "timestamp")

    features: list[str] | None = None
    ignore: list[str] | None = None


@dataclass(frozen=True)
class Validation:
    """Options of the rows that select the iterate and, with --tune, the parameters.

    Parameters
    ----------
    valid : FILE
        Table of validation rows, which are not used for training.
    valid_share : P
        Share of DATA to validate on, instead of --valid. The final model is trained on all of DATA.
        Default with --tune: 0.2; for a recommender, 0.1 of each user's pairs.
    split : HOW
        Way to choose the rows of --valid-share: users (random users), rows (random rows of each
        user), time (the latest rows) or time-per-user (the latest rows of each user). Default:
        users. For a recommender with --tune: time (the latest events).
    folds : N
        Number of folds for cross-validation, instead of --valid. Each user of DATA is in one fold.
    eval_metric : MEASURE
        Measure on the validation rows. Default: pap@K, or ndcg@K for a loss on grades.
    """

    panel: ClassVar[str] = "Validation"

    valid: Annotated[Path | None, Sets("eval_set")] = None
    valid_share: Annotated[float | None, Sets("valid")] = None
    split: str | None = None
    folds: Annotated[int | None, Sets("n_folds")] = None
    eval_metric: str | None = None

    def parts(self) -> dict[str, Any]:
        """Return the arguments of `podium.tuning.search` that hold out rows of DATA."""
        return {"n_folds": self.folds, "split": self.split, "valid": self.valid_share}

    @property
    def holds_out_data(self) -> bool:
        """Whether rows of DATA itself are held out."""
        return any(value is not None for value in self.parts().values())


@dataclass(frozen=True)
class Interactions(EventFile):
    """Options of recommenders, which learn from a file of events.

    Parameters
    ----------
    gain : HOW
        Weight of a pair with the value v: value (v) or one (1). The values of several rows of a
        pair are added up; without values, v is the number of rows. Default: value, or one with
        --min-relevance. With --tune, both are tried, unless this option or --min-relevance is
        given.
    refit
        With the parameters, or the number of passes, that are best on the rows of --valid, fit the
        model once more, to the rows of DATA and --valid.
    """

    panel: ClassVar[str] = "Recommenders"

    gain: str | None = None
    refit: bool = False

    def weight(self, min_relevance: float | None) -> str:
        """Return the weight of a pair: the given one, or the default."""
        if self.gain is None:
            return "value" if min_relevance is None else "one"
        return _check.choice(self.gain, "--gain", ("value", "one"))
