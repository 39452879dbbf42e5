"""The options of podium train, in the panels of its help, and which of them have an effect."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from podium import _check
from podium.cli._messages import Sets
from podium.cli._options import ColumnNames, EventFile, texts_by_name
from podium.cli._searching import Tuning
from podium.cli._tables import Cluster
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.data import Interactions as Events

DEFAULT_K = 10
AUTO = "auto"
"""The name of the choice among several models."""
_NAMES = ("start", "tol", "fit_intercept", "solver", "learning_rate", "l2", "max_iter", "patience")
_ENTRIES = tuple(Sets(name, is_entry=True) for name in _NAMES)
_HELD_OUT = "valid valid_share folds split tune"
_COMMON = (
    "data out model min_relevance seed valid valid_share split eval_metric budget tune_table column"
)
_EFFECTS = {
    "rows with features": f"{_COMMON} k folds features ignore",
    "events": f"{_COMMON} columns format refit",
}
"""The options that have an effect, by what a model learns from."""
_FURTHER = {
    "rows with features": "loss set tune grid jobs",
    "events": "loss set tune grid gain resume ray workers",
}
"""The options that only have an effect without --model auto."""
_NEEDED = {"grid": "tune", "budget": "tune", "tune_table": "tune", "jobs": "tune folds"}
_NEEDED_BY = {
    "rows with features": {"eval_metric": _HELD_OUT, "set patience": _HELD_OUT, **_NEEDED},
    "events": {
        "eval_metric": "valid tune",
        "set patience": "valid",
        "valid_share": "tune",
        "split": "tune",
        "refit": "valid",
        **_NEEDED,
    },
}
"""For each option: the options of which it needs at least one, without --model auto."""


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
    set: Annotated[list[str] | None, *_ENTRIES] = None


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
        users. A recommender with --tune is validated on random pairs of each user, or with time on
        the latest events.
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

    @property
    def is_given(self) -> bool:
        """Whether there are validation rows."""
        return self.valid is not None or self.holds_out_data


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


@dataclass(frozen=True)
class Work(Cluster):
    """Options of the cluster, and of resuming an interrupted fit.

    Parameters
    ----------
    resume
        Continue an interrupted fit from MODEL.checkpoint, or an interrupted search from
        MODEL.search. The model is the same as without the interruption.
    """

    resume: bool = False


@dataclass(frozen=True)
class Job:
    """All options of podium train."""

    context: typer.Context
    data: list[Path]
    out: Path
    model: Model
    validation: Validation
    tuning: Tuning
    columns: FeatureColumns
    interactions: Interactions
    work: Work

    @property
    def gain(self) -> str:
        """The weight of a pair; --tune tries others, unless an option decides."""
        return self.interactions.weight(self.model.min_relevance)

    def given(self) -> set[str]:
        """Return the names of the given options, and "set NAME" for each name of --set."""
        source = self.context.get_parameter_source
        names = {str(parameter.name) for parameter in self.context.command.params}
        stated = {name for name in names if (at := source(name)) and at.name == "COMMANDLINE"}
        return stated | {
            f"set {name}" for name in texts_by_name(self.model.set, "--set", "NAME=VALUE")
        }

    def can_choose(self) -> bool:
        """Return whether the model is auto, or all options have an effect with auto on events."""
        effects = {*_EFFECTS["events"].split()}
        return self.model.model == AUTO or self.given() <= effects

    def check_options(self, *, reads_events: bool) -> None:
        """Refuse options that have no effect with the model, or that need another option."""
        given, model = self.given(), self.model.model
        learns = "events" if reads_events else "rows with features"
        effects, needed = _EFFECTS[learns].split(), _NEEDED_BY[learns]
        if model == AUTO:
            needed = {"refit": "valid"}
        else:
            effects += _FURTHER[learns].split()
        options = {p.name: max(p.opts, key=len) for p in self.context.command.params}
        for name in sorted(given):
            option = options.get(name, f"--{name}")
            if name in options and name not in effects:
                raise ArgumentError(
                    f"{option} has no effect with --model {model}, which learns from {learns}. "
                    "Leave it out."
                )
            others = needed.get(name, "").split()
            if others and not given & {*others}:
                wanted = " or ".join(options[other] for other in others)
                raise ArgumentError(f"{option} needs {wanted}. Add it, or leave {option} out.")

    def read(self, paths: list[Path], *, timed: bool = False) -> Events:
        """Read events, with their times if the model needs them; several files are one table."""
        from podium.data.interactions import joined, read_weighted

        options = self.columns.names_by_role() | self.interactions.of_file()
        return joined([read_weighted(path, **options, timed=timed) for path in paths])
