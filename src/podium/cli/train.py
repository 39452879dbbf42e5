"""podium train: a linear model for the top of the list, from a feature table."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli import _messages
from podium.cli._options import check_target
from podium.cli._progress import progress
from podium.cli._rows import check_finite

if TYPE_CHECKING:
    from podium.data import Features
    from podium.rankers import LinearRanker
    from podium.types import PerRow

_DEFAULT_K = 10
_SOLVER, _COLUMNS = "Solver", "Columns"
_STOPPED = {
    "converged": "converged",
    "patience": "--patience",
    "max_iter": "--max-iter",
    "diverged": "diverged",
}


@dataclasses.dataclass(frozen=True)
class Objective:
    """What is minimised."""

    loss: Annotated[
        str,
        typer.Option(help="pap-ramp, pap-avg, pap-max, pap-ts or logistic.", metavar="LOSS"),
    ]
    k: Annotated[
        int | None,
        typer.Option(
            "-k", metavar="K", help=f"Cutoff of a loss that has one. Without it: {_DEFAULT_K}."
        ),
    ] = None
    min_relevance: Annotated[
        float | None,
        typer.Option(metavar="X", help="Relevance from which a row is positive; 1 without it."),
    ] = None
    l2: Annotated[float, typer.Option(metavar="X", help="Penalty on the coefficients.")] = 1e-4
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Learn no intercept.")] = (
        False
    )
    clip: Annotated[
        bool,
        typer.Option(
            "--clip", help="With a pap loss: also train on groups with fewer than K negatives."
        ),
    ] = False


@dataclasses.dataclass(frozen=True)
class Solver:
    """How it is minimised, and which iterate is kept."""

    learning_rate: Annotated[
        float,
        typer.Option(
            metavar="X", help="First step length; falls as 1/sqrt(t).", rich_help_panel=_SOLVER
        ),
    ] = 0.5
    max_iter: Annotated[
        int, typer.Option(metavar="N", help="Iterations at most.", rich_help_panel=_SOLVER)
    ] = 500
    tol: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="Converged once the last ten objectives span no more.",
            rich_help_panel=_SOLVER,
        ),
    ] = 1e-4
    patience: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="With --valid: stop after this many iterations without a better value.",
            rich_help_panel=_SOLVER,
        ),
    ] = 50


@dataclasses.dataclass(frozen=True)
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


def train(
    data: Annotated[
        Path,
        typer.Argument(
            help="A row per user and item: user (or qid), relevance (or label), features. "
            "Also svmlight with qid.",
            metavar="DATA",
        ),
    ],
    objective: Objective,
    solver: Solver,
    columns: FeatureColumns,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="MODEL", help="File to write the model to.")
    ],
    valid: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows to choose the iterate by, and to stop early by."),
    ] = None,
    eval_measure: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="What --valid is measured by; pap@K without it."),
    ] = None,
) -> None:
    """Train a linear model for the top of the list, by subgradient descent on a loss.

    Scale the features before: steps have no unit of their own.
    """
    check_target(out, "--out", ("",))
    from podium import rankers
    from podium.errors import ArgumentError

    if eval_measure is not None and valid is None:
        raise ArgumentError("--eval-measure needs --valid, the rows to measure.")
    model = _ranker(objective, solver, eval_measure)
    rows = read(data, columns)
    eval_set = None
    if valid is not None:
        other = read(valid, columns, like=rows)
        eval_set = (other.X, labels(valid, other), other.qid)
    with progress("training") as show:
        model.fit(rows.X, labels(data, rows), rows.qid, eval_set=eval_set, progress=show)
    rankers.save(with_names(model, rows.feature_names), out)
    _summarize(model, rows, valid, out)


def read(path: Path, columns: FeatureColumns, *, like: Features | None = None) -> Features:
    """Read rows to learn from; those to validate with have the same features in the same order."""
    from podium import data

    wanted = _split(columns.features) if like is None else list(like.feature_names)
    rows = data.read_features(
        path,
        user=columns.user_col,
        item=columns.item_col,
        relevance=columns.relevance_col,
        features=wanted,
        ignore=(_split(columns.ignore) or []) if like is None else [],
        n_features=None if like is None else len(like.feature_names),
    )
    check_finite(path, rows)
    return rows


def labels(path: Path, rows: Features) -> PerRow:
    """Return what the rows teach, or raise where a table has nothing."""
    from podium.errors import DataError

    if rows.y is None:
        raise DataError(
            f"{path} has no relevance column to learn from. Name it relevance, rating or label, "
            "or pass --relevance-col."
        )
    return rows.y


def with_names(model: Any, names: tuple[str, ...]) -> Any:
    """Give a model the names of its features, which an array does not carry."""
    import numpy as np

    model.feature_names_in_ = np.array(names, dtype=object)
    return model


def _ranker(objective: Objective, solver: Solver, eval_measure: str | None) -> LinearRanker:
    """Make the estimator; a wrong name or number raises before any file is read."""
    from podium import rankers
    from podium.metrics import parse

    loss = _loss(objective)
    measure = parse(eval_measure or f"pap@{getattr(loss, 'k', _DEFAULT_K)}")
    return rankers.LinearRanker(
        loss,
        l2=objective.l2,
        fit_intercept=not objective.no_intercept,
        eval_measure=str(measure),
        **dataclasses.asdict(solver),
    )


def _loss(objective: Objective) -> Any:
    from podium import losses

    params: dict[str, Any] = {}
    if objective.clip:
        params["clip"] = True
    if objective.min_relevance is not None:
        params["min_relevance"] = objective.min_relevance
    known = losses.REGISTRY.get(objective.loss)
    if objective.k is not None:
        params["k"] = objective.k
    elif known is not None and "k" in {f.name for f in dataclasses.fields(known)}:
        params["k"] = _DEFAULT_K
    return losses.get(objective.loss, **params)


def _summarize(model: LinearRanker, rows: Features, valid: Path | None, out: Path) -> None:
    """Say what was learned from what, and why it stopped."""
    import numpy as np

    from podium.metrics import parse

    n_groups = np.unique(np.asarray(rows.qid)).size
    counts = ((n_groups, "group"), (len(rows.qid), "row"), (len(rows.feature_names), "feature"))
    read = ", ".join(f"{n} {name}{'' if n == 1 else 's'}" for n, name in counts)
    _messages.say(
        f"{read}; stopped after iteration {model.n_iter_} ({_STOPPED[model.stop_reason_]}), "
        f"kept {model.best_iteration_ + 1}"
    )
    value = f"objective {model.objective_:.6g}"
    if valid is not None:
        sign = 1 if parse(model.eval_measure).metric.higher_is_better else -1
        best = sign * model.history_["validation"][model.best_iteration_]
        value += f", {model.eval_measure} on {valid.name} {best:.4f}"
    _messages.say(f"{value}; wrote {out}")


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
