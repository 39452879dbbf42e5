"""The search of podium factorize: its options, space and messages, and the command to repeat."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

import typer

from podium.cli import _messages
from podium.cli._messages import progress
from podium.cli._options import WRITTEN, check_target
from podium.cli._tuning import value_of

if TYPE_CHECKING:
    from podium.data.events import Events
    from podium.executors import Executor
    from podium.tuning import Search, Trial

_SHARE = 0.1  # the share of each user's pairs to validate on, by default
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_OF_SEARCH = {"tune", "grid", "budget", "valid_share", "tune_table", "resume"}
_OF_VALIDATION = {"eval_metric", "patience"}


@dataclass(frozen=True)
class Tuning:
    """Options of the search for parameters."""

    panel: ClassVar[str] = "Search"

    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Choose the parameters that are best on validation pairs, among those that are "
            "not given as options. The command that repeats the best fit is printed.",
        ),
    ] = False
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="Values to draw from instead of the default ones, such as n_factors=32,64 or "
            "l2='log(0.01,0.3)'. May be repeated.",
        ),
    ] = None
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|N",
            help="Processor time of the search, such as 90s, 10m or 2h, or the number of "
            "candidates. Default: 15 candidates.",
        ),
    ] = None
    valid_share: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Share of each user's pairs to validate on, instead of --valid. The final model "
            f"is trained on all pairs. Default with --tune: {_SHARE}.",
        ),
    ] = None
    tune_table: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(
            metavar="FILE",
            help="File to write all trials to; its suffix gives the format (.parquet, .csv, .tsv, "
            ".arrow).",
        ),
    ] = None

    def check(self, valid: Path | None) -> None:
        """Refuse options that contradict each other, before any file is read."""
        from podium import _check
        from podium.errors import ArgumentError

        check_target(self.tune_table, "--tune-table")
        for name in ("grid", "budget", "valid_share", "tune_table"):
            if getattr(self, name) is not None and not self.tune:
                raise ArgumentError(f"--{name.replace('_', '-')} needs --tune.")
        if self.valid_share is not None:
            _check.open_fraction(self.valid_share, "--valid-share")
            if valid is not None:
                raise ArgumentError(
                    "--valid and --valid-share were given, and each selects the validation pairs. "
                    "Keep one."
                )
        self.limits()

    def limits(self) -> dict[str, Any]:
        """Return the budget as an argument of the library.

        Raises
        ------
        ArgumentError
            If it is neither a time nor a number.
        """
        from podium import _check
        from podium.errors import ArgumentError

        if self.budget is None:
            return {}
        match = re.fullmatch(r"(\d+(?:\.\d*)?)([smh]?)", self.budget.strip())
        if match is None or (not match[2] and not match[1].isdecimal()):
            raise ArgumentError(
                "--budget must be a time such as 90s, 10m or 2h, or a number of candidates, got "
                f"{self.budget!r}."
            )
        if not match[2]:
            return {"n_trials": _check.cutoff(int(match[1]), name="--budget")}
        seconds = float(match[1]) * _SECONDS[match[2]]
        return {"budget": _check.number(seconds, "--budget", low=0.0, strict=True)}


def space(model: Any, tuning: Tuning, fixed: set[str]) -> list[dict[str, Any]]:
    """Return the values to draw from: the given ones, or the default ones without fixed names.

    Raises
    ------
    ArgumentError
        If the model has no parameter of a given name, a value is invalid, or an option fixes it.
    """
    from podium import _check
    from podium.errors import ArgumentError
    from podium.tuning import default_space, parse_values

    if tuning.grid is None:
        parts = default_space(model)
        for name in fixed & {"loss", "similarity"}:  # the ranges of other parameters depend on them
            parts = [part for part in parts if str(getattr(model, name)) in part[name]] or parts
        return [{n: v for n, v in part.items() if n not in fixed} for part in parts]
    values_by_name: dict[str, Any] = {}
    for text in tuning.grid:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or name in values_by_name:
            raise ArgumentError(f"--grid must be NAME=VALUES, each name once, got {text!r}.")
        _check.choice(name, "the NAME of --grid", sorted(model.get_params()))
        if name in fixed:
            raise ArgumentError(f"--grid names {name!r}, but another option fixes it. Keep one.")
        try:
            values_by_name[name] = _losses(values) if name == "loss" else parse_values(values)
        except ArgumentError as error:
            raise ArgumentError(f"--grid {text!r}: {error}") from None
    return [values_by_name]


def search(
    model: Any,
    events: Mapping[str, Events | None],
    tuning: Tuning,
    fixed: set[str],
    measure: str,
    executor: Executor,
    file: Path | None,
    *,
    resume: bool,
) -> Search:
    """Search for the best parameters; after an interrupt, the finished trials are written."""
    from podium import tuning as library

    share = tuning.valid_share
    try:
        with progress("tuning") as show:
            result = library.search_recommender(
                model,
                **{name: each.columns() for name, each in events.items() if each is not None},
                space=space(model, tuning, fixed),
                valid=_SHARE if share is None else share,
                measure=measure,
                **tuning.limits(),
                refit=False,
                checkpoint=file,
                resume=resume,
                executor=executor,
                seed=model.random_state,
                progress=show,
            )
    except library.Interrupted as stop:
        _save(stop.search, tuning.tune_table)
        note = "" if file is None else f"; --resume continues from {file}"
        _messages.say(f"interrupted; {_describe(stop.search)}{note}.")
        raise
    _save(result, tuning.tune_table)
    _messages.say(_describe(result))
    return result


def given(context: typer.Context) -> set[str]:
    """Return the parameters that the command line names, those of --set included."""
    names = {name for name in context.params if _is_given(context, name)}
    return names | {text.partition("=")[0].strip() for text in context.params["set"] or ()}


def repeated(context: typer.Context, params: Mapping[str, Any]) -> str:
    """Return the command that fits a model with these parameters, as text for a shell."""
    left_out = _OF_SEARCH if context.params["valid"] else _OF_SEARCH | _OF_VALIDATION
    options: dict[str, str] = {}
    words: list[str] = []
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params.get(str(parameter.name))
        if parameter.param_type_name == "argument":
            words.append(str(value))
            continue
        options[name] = max(parameter.opts, key=len)
        if not _is_given(context, name) or name in left_out or name in params:
            continue
        words += _words(options[name], value)
    for name, value in params.items():
        option = options.get(name)
        words += ["--set", f"{name}={_text(value)}"] if option is None else [option, _text(value)]
    return shlex.join(["podium", "factorize", *words])


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _words(option: str, value: Any) -> list[str]:
    """Return an option with its value, several times if it may be repeated."""
    if value is True:
        return [option]
    values = cast("list[Any]", value if isinstance(value, list | tuple) else [value])
    return [word for each in values for word in (option, str(each))]


def _losses(text: str) -> list[str]:
    """Divide a list of losses at commas outside parentheses."""
    return [name.strip() for name in re.split(r",(?![^()]*\))", text)]


def _save(result: Search, path: Path | None) -> None:
    if path is not None:
        result.save(path)
        _messages.say(f"wrote {path}, {_count(len(result.trials), 'trial')}")


def _describe(result: Search) -> str:
    """Return the number of candidates, the best one, and the measure of the given settings."""
    n_candidates = len({trial.number for trial in result.trials})
    n_failed = len({trial.number for trial in result.trials if trial.error})
    failed = f", of which {n_failed} failed" if n_failed else ""
    seconds = sum(trial.seconds for trial in result.trials)
    values = ", ".join(f"{name}={_text(value)}" for name, value in result.best.params.items())
    return (
        f"tried {_count(n_candidates, 'candidate')}{failed} in {_count(len(result.trials), 'fit')} "
        f"({seconds:.0f} s of processor time); best {values}: {value_of(result, result.best)}"
        f"{_of_defaults(result)}"
    )


def _of_defaults(result: Search) -> str:
    """Return the measure of the longest fit of the first candidate, unless it is the best."""
    fits: list[Trial] = [t for t in result.trials if t.number == 0 and not t.error]
    if not fits or result.best.number == 0:
        return ""
    return f"; without the search {fits[-1].mean:.4f}"


def _text(value: Any) -> str:
    """Return a parameter as the command line reads it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
