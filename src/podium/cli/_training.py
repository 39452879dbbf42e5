"""The options of podium train, in the panels of its help."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from podium.cli._options import WRITTEN, ItemColumn, UserColumn

DEFAULT_K = 10


@dataclass(frozen=True)
class Model:
    """Options of the model and its loss."""

    panel: ClassVar[str] = "Model"

    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="linear, neural, lightgbm or xgboost; or to compare with: "
            "rankboost, logistic-regression, svm-pauc, sgd-at-k, greedy-pap or select-pap.",
        ),
    ] = "linear"
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="LOSS",
            help="pap-logistic, group-logistic, logistic, pap-ramp, …; from grades listmle, "
            "listnet, rankcosine, softmax, pairwise-hinge, …; with its cutoff as pap-ramp@30, and "
            "its parameters as 'listmle(head=relevant)@10'. Without it: pap-logistic, and for "
            "trees group-logistic.",
        ),
    ] = None
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            metavar="K",
            help=f"Cutoff of the measure, and of a loss that needs one and has none in its name; "
            f"{DEFAULT_K} without it. Also where listmle, listnet and rankcosine cut the head "
            "off a list; without it they learn from whole lists.",
        ),
    ] = None
    min_relevance: Annotated[
        float | None,
        typer.Option(metavar="X", help="Relevance from which a row is positive; 1 without it."),
    ] = None
    clip: Annotated[
        bool,
        typer.Option(
            "--clip", help="With a pap loss: also train on groups with fewer than K negatives."
        ),
    ] = False
    l2: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Penalty on a linear model's coefficients; 0.0001 without it. Of trees: on their "
            "leaves.",
        ),
    ] = None
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Learn no intercept.")] = (
        False
    )
    no_scale: Annotated[
        bool,
        typer.Option(
            "--no-scale",
            help="Learn from the features as they are. Without it, a linear or neural model "
            "learns from standardised ones; a linear one's coefficients are brought back to yours.",
        ),
    ] = False
    query_norm: Annotated[
        bool,
        typer.Option(
            "--query-norm",
            help="First bring each feature to [0, 1] within each query (or user), of all rows that "
            "are read; podium rank then does the same.",
        ),
    ] = False
    set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Any other parameter of the model's class, as n_trees=300; may be repeated.",
        ),
    ] = None


@dataclass(frozen=True)
class Solver:
    """Options of the solver that minimises the loss."""

    panel: ClassVar[str] = "Solver"

    solver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of a linear model: auto, subgradient, stochastic, bundle or lbfgs.",
        ),
    ] = None
    start: Annotated[
        str | None, typer.Option(metavar="NAME", help="Where it begins: zero, normal or logistic.")
    ] = None
    learning_rate: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="First step length of a descent; without it 0.5, or less where a smooth loss "
            "bends more. Of trees: their shrinkage.",
        ),
    ] = None
    max_iter: Annotated[
        int | None, typer.Option(metavar="N", help="Iterations at most; 500 without it.")
    ] = None
    tol: Annotated[
        float | None,
        typer.Option(metavar="X", help="When a solver counts as converged; 0.0001 without it."),
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With rows to validate on: stop after so many iterations without a better "
            "value; 50 without it.",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the parameters that were given as options."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in parameters.items() if value is not None}


@dataclass(frozen=True)
class FeatureColumns:
    """Options that select the feature columns."""

    panel: ClassVar[str] = "Columns"

    features: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Feature columns; all numeric ones without it."),
    ] = None
    ignore: Annotated[
        str | None, typer.Option(metavar="C,D,…", help="Columns that are no features.")
    ] = None
    user_col: UserColumn = None
    item_col: ItemColumn = None
    relevance_col: Annotated[
        str | None, typer.Option(help="Else relevance, rating or label.", metavar="NAME")
    ] = None


@dataclass(frozen=True)
class Validation:
    """Options of the rows that select the iterate and, with --tune, the parameters."""

    panel: ClassVar[str] = "Validation"

    valid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows that are never trained on.")
    ] = None
    valid_share: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Or this share of DATA; the final model learns from all of it. With --tune, 0.2 "
            "unless told otherwise.",
        ),
    ] = None
    split: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="The share is of users, of each user's rows (both at random), the last by time, "
            "or the last of each user: users, rows, time or time-per-user.",
        ),
    ] = None
    time_col: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of times; no feature.")
    ] = None
    folds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Or every user of DATA once, in N folds of users."),
    ] = None
    eval_metric: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="What these rows are measured by; without it pap@K, and ndcg@K for a loss that "
            "learns from grades.",
        ),
    ] = None

    @property
    def of_data(self) -> bool:
        """Whether rows of DATA itself are held out."""
        return not (self.valid_share is None and self.split is None and self.folds is None)


@dataclass(frozen=True)
class Tuning:
    """Options of the search for parameters."""

    panel: ClassVar[str] = "Search"

    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Choose parameters by what is validated: the penalty, step lengths or leaves, "
            "and the k of the loss at 1, 3 and 10 times K (clipped).",
        ),
    ] = False
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="Instead, try these: l2=1e-4,1e-2 or loss=logistic,pap-ramp or, with --budget, "
            "l2='log(1e-6,1)'; may be repeated.",
        ),
    ] = None
    budget: Annotated[
        int | None, typer.Option(metavar="N", help="Try N at random instead of all.")
    ] = None
    tune_table: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(
            metavar="FILE", help="Write everything tried, by suffix (.parquet, .csv, .tsv, .arrow)."
        ),
    ] = None
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Fits at a time, 1 without it; -1: one a core.")
    ] = None
    seed: Annotated[int, typer.Option(metavar="N", help="Of splits, draws and random solvers.")] = 0
