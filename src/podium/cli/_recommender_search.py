"""The search for a recommender: its space and messages, and the command to repeat."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import typer

from podium._text import counted
from podium.cli._models import decay_of
from podium.cli._searching import Tuning, describe, text_of

if TYPE_CHECKING:
    from podium.tuning import Search, Trial

_OF_SEARCH = {"tune", "grid", "budget", "valid_share", "split", "tune_table", "resume"}
_OF_VALIDATION = {"valid", "eval_metric", "refit"}


def grid(model: Any, tuning: Tuning, fixed: set[str]) -> list[dict[str, Any]]:
    """Return the values to draw from: the given ones, or the default ones without fixed names.

    Raises
    ------
    ArgumentError
        If the model has no parameter of a given name, a value is invalid, or an option fixes it; or
        if nothing is left to search.
    """
    from podium.tuning.candidates import checked_grid

    parts = tuning.free_grid(model, fixed)
    if tuning.grid is not None and isinstance(parts[0].get("decay"), list):
        parts[0]["decay"] = [decay_of(value) for value in parts[0]["decay"]]
    return checked_grid(model, parts)


def stated_names(context: typer.Context) -> set[str]:
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
    no passes has no validation pairs; with --refit, it learns from them.
    """
    is_validated = makes_passes and context.params["valid"]
    left_out = _OF_SEARCH if is_validated else _OF_SEARCH | _OF_VALIDATION
    options: dict[str, str] = {}
    words: list[str] = []
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params.get(str(parameter.name))
        if parameter.param_type_name == "argument":
            further = [context.params["valid"]] if context.params["refit"] else []
            words += map(str, [*_listed(value), *([] if is_validated else further)])
            continue
        options[name] = max(parameter.opts, key=len)
        if name == "set":
            value = [text for text in value or () if _name(text) not in params]
        if is_given(context, name) and name not in left_out and name not in named & params.keys():
            values = _listed(value)
            words += (
                [options[name]]
                if value is True
                else [word for part in values for word in (options[name], str(part))]
            )
    for name, value in params.items():
        is_named = name in named
        words += (
            [options[name], text_of(value)] if is_named else ["--set", f"{name}={text_of(value)}"]
        )
    return shlex.join(["podium", str(context.info_name), *words])


def _name(text: str) -> str:
    """Return the name in a text of --set."""
    return text.partition("=")[0].strip()


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether the command line has an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _listed(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]


def outcome(result: Search) -> str:
    """Return the best candidate, the cost of the search, and the measure without it."""
    seconds = sum(trial.seconds for trial in result.trials)
    fits = f" in {counted(len(result.trials), 'fits')} ({seconds:.0f} s of processor time)"
    first: list[Trial] = [t for t in result.trials if t.number == 0 and not t.error]
    if not first or result.best.number == 0:
        return describe(result, fits)
    return f"{describe(result, fits)}; without the search {first[-1].mean:.4f}"


def tried(result: Search) -> list[str]:
    """Return one line per model of a portfolio: its measure and time, or why it was not tried."""
    return [
        f"{trial.params['model']}: {trial.error}"
        if trial.error
        else f"{trial.params['model']}: {trial.mean:.4f} ± {trial.std_error:.4f}, "
        f"{trial.seconds:.1f} s"
        for trial in result.trials
    ]


def chosen(result: Search) -> str:
    """Return the model that is chosen from a portfolio, and its measure."""
    best = result.best
    return (
        f"chosen: {best.params['model']}, {result.measure} {best.mean:.4f} on the validation data "
        f"of {counted(best.n_groups, 'users')}"
    )
