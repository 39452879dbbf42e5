"""The options of podium train that say what is learned, from which columns, and how."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

DEFAULT_K = 10
_MODEL, _SOLVER, _COLUMNS = "Model", "Solver", "Columns"


@dataclass(frozen=True)
class Model:
    """What is learned, and what is minimised."""

    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="linear, neural, lightgbm or xgboost; or to compare with: "
            "rankboost, logistic-regression, svm-pauc, sgd-at-k, greedy-pap or select-pap.",
            rich_help_panel=_MODEL,
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
            rich_help_panel=_MODEL,
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
            rich_help_panel=_MODEL,
        ),
    ] = None
    min_relevance: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Relevance from which a row is positive; 1 without it.",
            rich_help_panel=_MODEL,
        ),
    ] = None
    clip: Annotated[
        bool,
        typer.Option(
            "--clip",
            help="With a pap loss: also train on groups with fewer than K negatives.",
            rich_help_panel=_MODEL,
        ),
    ] = False
    l2: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Penalty on a linear model's coefficients; 0.0001 without it. Of trees: on their "
            "leaves.",
            rich_help_panel=_MODEL,
        ),
    ] = None
    no_intercept: Annotated[
        bool, typer.Option("--no-intercept", help="Learn no intercept.", rich_help_panel=_MODEL)
    ] = False
    no_scale: Annotated[
        bool,
        typer.Option(
            "--no-scale",
            help="Learn from the features as they are. Without it, a linear or neural model "
            "learns from standardised ones; a linear one's coefficients are brought back to yours.",
            rich_help_panel=_MODEL,
        ),
    ] = False
    query_norm: Annotated[
        bool,
        typer.Option(
            "--query-norm",
            help="First bring each feature to [0, 1] within each query (or user), of all rows that "
            "are read; podium rank then does the same.",
            rich_help_panel=_MODEL,
        ),
    ] = False
    set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Any other parameter of the model's class, as n_trees=300; may be repeated.",
            rich_help_panel=_MODEL,
        ),
    ] = None


@dataclass(frozen=True)
class Solver:
    """How it is minimised."""

    solver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of a linear model: auto, subgradient, stochastic, bundle or lbfgs.",
            rich_help_panel=_SOLVER,
        ),
    ] = None
    start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Where it begins: zero, normal or logistic.",
            rich_help_panel=_SOLVER,
        ),
    ] = None
    learning_rate: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="First step length of a descent; without it 0.5, or less where a smooth loss "
            "bends more. Of trees: their shrinkage.",
            rich_help_panel=_SOLVER,
        ),
    ] = None
    max_iter: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Iterations at most; 500 without it.", rich_help_panel=_SOLVER
        ),
    ] = None
    tol: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="When a solver counts as converged; 0.0001 without it.",
            rich_help_panel=_SOLVER,
        ),
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With rows to validate on: stop after so many iterations without a better "
            "value; 50 without it.",
            rich_help_panel=_SOLVER,
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the parameters that were given."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class FeatureColumns:
    """Which columns are features, and which are not."""

    features: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Feature columns; all numeric ones without it.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None
    ignore: Annotated[
        str | None,
        typer.Option(
            metavar="C,D,…", help="Columns that are no features.", rich_help_panel=_COLUMNS
        ),
    ] = None
    user_col: Annotated[
        str | None,
        typer.Option(
            help="Else user, user_id, qid, query_id or q_id.",
            metavar="NAME",
            rich_help_panel=_COLUMNS,
        ),
    ] = None
    item_col: Annotated[
        str | None,
        typer.Option(
            help="Else item, item_id or doc_id.", metavar="NAME", rich_help_panel=_COLUMNS
        ),
    ] = None
    relevance_col: Annotated[
        str | None,
        typer.Option(
            help="Else relevance, rating or label.", metavar="NAME", rich_help_panel=_COLUMNS
        ),
    ] = None
