"""The search for a recommender: its space and messages, and the command to repeat."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from podium._text import counted
from podium.cli import _messages
from podium.cli._messages import progress
from podium.cli._models import decay_of
from podium.cli._searching import Search
from podium.cli._tuning import save, tried, value_of

if TYPE_CHECKING:
    from podium.data import Interactions
    from podium.executors import Executor
    from podium.tuning import Search as Found
    from podium.tuning import Trial

SHARE = 0.1  # the share of each user's pairs to validate on, by default
_OF_SEARCH = {"tune", "grid", "budget", "valid_share", "tune_table", "resume"}
_OF_VALIDATION = {"valid", "eval_metric", "patience"}


def space(model: Any, tuning: Search, fixed: set[str]) -> list[dict[str, Any]]:
    """Return the values to draw from: the given ones, or the default ones without fixed names.

    Raises
    ------
    ArgumentError
        If the model has no parameter of a given name, a value is invalid, or an option fixes it; or
        if nothing is left to search.
    """
    from podium import _check
    from podium.errors import ArgumentError
    from podium.tuning import default_grid

    if not model.get_params():
        raise ArgumentError(
            f"--tune has nothing to search: {type(model).__name__} has no parameters. Leave --tune "
            "out."
        )
    if tuning.grid is None:
        parts = default_grid(model)
        for name in fixed & {"loss", "similarity"}:  # the ranges of other parameters depend on them
            parts = [part for part in parts if str(getattr(model, name)) in part[name]] or parts
        free = [{n: v for n, v in part.items() if n not in fixed} for part in parts]
        if not any(free):
            raise ArgumentError(
                "--tune has nothing to search, because options fix "
                f"{_check.listed(sorted(parts[0])).replace(' or ', ' and ')}. Leave out one of "
                "them, or --tune, or name other parameters with --grid."
            )
        return free
    for name in tuning.grid_texts():
        _check.choice(name, "the NAME of --grid", sorted(model.get_params()))
    tuning.check_grid(fixed)
    values = tuning.grid_values()
    if isinstance(values.get("decay"), list):
        values["decay"] = [decay_of(value) for value in values["decay"]]
    return [values]


def search(
    model: Any,
    events: Mapping[str, Interactions | None],
    tuning: Search,
    fixed: set[str],
    measure: str,
    executor: Executor,
    file: Path | None,
    *,
    share: float | None,
    seed: int,
    resume: bool,
) -> Found:
    """Search for the best parameters; after an interrupt, the finished trials are written."""
    from podium import tuning as library

    try:
        with progress("tuning") as show:
            result = library.search(
                model,
                events["user_items"],
                seen=events["seen"],
                eval_set=events["eval_set"],
                grid=space(model, tuning, fixed),
                valid=SHARE if share is None else share,
                measure=measure,
                **tuning.limits(),
                refit=False,
                checkpoint=file,
                resume=resume,
                executor=executor,
                seed=seed,
                progress=show,
            )
    except library.Interrupted as stop:
        save(stop.search, tuning.tune_table)
        note = "" if file is None else f"; --resume continues from {file}"
        _messages.say(f"interrupted; {_describe(stop.search)}{note}.")
        raise
    save(result, tuning.tune_table)
    _messages.say(_describe(result))
    return result


def given(context: typer.Context) -> set[str]:
    """Return the parameters that the command line names, those of --set included."""
    names = {name for name in context.params if is_given(context, name)}
    return names | {_name(text) for text in context.params["set"] or ()}


def repeated(
    context: typer.Context,
    params: Mapping[str, Any],
    named: frozenset[str],
    *,
    makes_passes: bool,
) -> str:
    """Return the command that fits a model with these parameters, as text for a shell.

    `named` are the parameters of the model that have an option of the same name. A fit that makes
    no passes has no validation pairs.
    """
    is_validated = makes_passes and context.params["valid"]
    left_out = _OF_SEARCH if is_validated else _OF_SEARCH | _OF_VALIDATION
    options: dict[str, str] = {}
    words: list[str] = []
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params.get(str(parameter.name))
        if parameter.param_type_name == "argument":
            words += map(str, _listed(value))
            continue
        options[name] = max(parameter.opts, key=len)
        if name == "set":
            value = [text for text in value or () if _name(text) not in params]
        if is_given(context, name) and name not in left_out and name not in named & params.keys():
            words += _words(options[name], value)
    for name, value in params.items():
        is_named = name in named
        words += [options[name], _text(value)] if is_named else ["--set", f"{name}={_text(value)}"]
    return shlex.join(["podium", str(context.info_name), *words])


def _name(text: str) -> str:
    """Return the name in a text of --set."""
    return text.partition("=")[0].strip()


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether the command line has an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _words(option: str, value: Any) -> list[str]:
    """Return an option with its value, several times if it may be repeated."""
    if value is True:
        return [option]
    return [word for part in _listed(value) for word in (option, str(part))]


def _listed(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]


def _describe(result: Found) -> str:
    """Return the number of candidates, the best one, and the measure of the given settings."""
    seconds = sum(trial.seconds for trial in result.trials)
    values = ", ".join(f"{name}={_text(value)}" for name, value in result.best.params.items())
    return (
        f"{tried(result)} in {counted(len(result.trials), 'fits')} "
        f"({seconds:.0f} s of processor time); best {values or 'with the given options'}: "
        f"{value_of(result, result.best)}{_of_defaults(result)}"
    )


def _of_defaults(result: Found) -> str:
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
