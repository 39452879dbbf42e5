"""The options of podium factorize, in the panels of its help."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from podium.cli._cluster import Cluster
from podium.cli._models import recommender_assignments
from podium.cli._options import (
    EventFile,
    Gain,
    ItemColumn,
    Resume,
    Sets,
    UserColumn,
    ValueColumn,
    gain_of,
)
from podium.cli._recommender_search import SHARE
from podium.cli._searching import Search

if TYPE_CHECKING:
    from podium.executors import Executor


@dataclass(frozen=True)
class Objective:
    """Options of the model and its loss."""

    panel: ClassVar[str] = "Model"

    n_factors: Annotated[
        int,
        typer.Option("--factors", metavar="N", help="Length of the vectors of users and items."),
    ] = 128
    loss: Annotated[
        str,
        typer.Option(
            metavar="LOSS",
            help="Loss: softmax, robirank, sl@20, pap-ramp@10, pap-max@10, pap-avg@10, llpauc, "
            "bpr, identity or type2, with parameters such as 'softmax(temperature=0.5)'. For bpr "
            "and identity, use a --learning-rate about 3 times as large. For type2, use "
            "--learning-rate 3 --l2 0.0001 --set xi_rate=0.2.",
        ),
    ] = "softmax"
    n_negatives: Annotated[
        int,
        typer.Option(
            "--negatives-per-pair",
            metavar="N",
            help="Number of items that each pair is compared with in a pass. 32 pairs share them.",
        ),
    ] = 128
    min_relevance: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Lowest value or rating of a positive row. The other rows are not used for "
            "training, and their items are not recommended to the user.",
        ),
    ] = None
    gain: Gain = None
    l2: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Penalty: a step of length s shrinks the vectors that it updates by s * X. "
            "Default: from the loss and the density of the data.",
        ),
    ] = None
    set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Another parameter of podium.recommenders.Factorization, such as decay=none or "
            "xi=exact. May be repeated.",
        ),
    ] = None


@dataclass(frozen=True)
class Passes:
    """Options of the passes that minimise the loss."""

    panel: ClassVar[str] = "Optimisation"

    n_epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs",
            metavar="N",
            help="Number of passes over all pairs. Default: 15 to 60, fewer for more pairs.",
        ),
    ] = None
    learning_rate: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Length of the first step. The steps decrease to zero. Default: 0.3 for cosines "
            "(softmax and sl with at least 64 factors), and 0.1 otherwise.",
        ),
    ] = None
    n_blocks: Annotated[
        int | None,
        typer.Option(
            "--blocks",
            metavar="N",
            help="Number of parts that the users are divided into, and of blocks of items. It "
            "changes the model, unlike the number of threads or workers. Default: chosen from "
            "the shape of the data.",
        ),
    ] = None
    random_state: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of all random draws.")
    ] = 0


@dataclass(frozen=True)
class HeldOut:
    """Options of the pairs that select the best pass."""

    panel: ClassVar[str] = "Validation"

    valid: Annotated[
        Path | None,
        Sets("eval_set"),
        typer.Option(
            metavar="FILE",
            help="Table of validation pairs, which are not used for training. The model is "
            "measured on them after each pass, without the pairs that are in INTERACTIONS. The "
            "best pass is kept.",
        ),
    ] = None
    eval_metric: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="Measure on the validation pairs. Default: ndcg@10."),
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Stop after N passes without an improvement on the validation pairs. Default: "
            "make all passes.",
        ),
    ] = None


@dataclass(frozen=True)
class Tuning(Search):
    """Options of the search for parameters."""

    valid_share: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Share of each user's pairs to validate on, instead of --valid. The final model "
            f"is trained on all pairs. Default with --tune: {SHARE}.",
        ),
    ] = None


@dataclass(frozen=True)
class Work(Cluster):
    """Options of the executor, threads or a cluster, and of resuming an interrupted fit."""

    threads: Annotated[
        int | None,
        Sets("n_threads"),
        typer.Option(metavar="N", help="Number of threads. Default: the number of processors."),
    ] = None
    resume: Resume = False

    def check(self) -> None:
        """Refuse options that exclude each other."""
        from podium import _check
        from podium.errors import ArgumentError

        if self.ray is not None and self.threads is not None:
            raise ArgumentError(
                "--threads and --ray exclude each other, because --threads is for a fit in this "
                "process. Pass one of them; --workers sets the number of workers of Ray."
            )
        super().check()
        _check.cutoff(self.threads, name="--threads", required=False)

    @contextmanager
    def executor(self) -> Generator[Executor]:
        """Yield the executor of the fit."""
        from podium.executors import Threads

        with super().executor() as cluster:
            yield Threads(self.threads) if cluster is None else cluster


@dataclass(frozen=True)
class PairColumns(EventFile):
    """The names of columns that differ from the default names."""

    user_col: UserColumn = None
    item_col: ItemColumn = None
    value_col: ValueColumn = None


def make(objective: Objective, passes: Passes, held_out: HeldOut, *, tune: bool = False) -> Any:
    """Return the unfitted model with checked parameters; a search needs no validation file.

    Raises
    ------
    ArgumentError
        If a parameter is wrong for any data, or if it needs validation pairs and there are none.
    """
    from podium import _check
    from podium.metrics import parse_relevance
    from podium.recommenders import Factorization

    if tune and held_out.valid is None:
        measure, held_out = held_out.eval_metric, replace(held_out, eval_metric=None)
        parse_relevance("ndcg@10" if measure is None else measure)
    _refuse_validation_options(held_out)
    gain = gain_of(objective.gain, objective.min_relevance)
    if objective.min_relevance is not None:
        _check.positive(objective.min_relevance, "min_relevance")
    _check.seed(passes.random_state)
    options: dict[str, Any] = {
        f.name: getattr(group, f.name)
        for group in (objective, passes, held_out)
        for f in fields(group)
        if f.name not in ("set", "valid", "min_relevance")
    }
    options["gain"] = gain
    other_names = sorted(set(Factorization().get_params()) - set(options))
    set_parameters = recommender_assignments(objective.set)
    for name in set_parameters:
        _check.choice(name, "the NAME of --set", other_names)
    given_options = {name: value for name, value in options.items() if value is not None}
    model = Factorization(**given_options, **set_parameters)
    model.check()
    return model


def _refuse_validation_options(held_out: HeldOut) -> None:
    from podium.errors import ArgumentError

    if held_out.valid is not None:
        return
    for name in ("patience", "eval_metric"):
        if getattr(held_out, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise ArgumentError(f"{option} needs --valid, the validation pairs.")
