"""The options of a search for parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from podium import _check
from podium._grammar import divided
from podium._text import counted, tally
from podium.cli import _messages
from podium.cli._messages import Sets, progress
from podium.cli._options import WRITTEN, texts_by_name
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.tuning import Search

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Tuning:
    """Options of the search for parameters.

    Parameters
    ----------
    tune
        Choose the parameters that are best on validation rows, among those that are not given as
        options. For a recommender, the command that repeats the best fit is printed.
    grid : NAME=VALUES
        Values to try instead of the default ones, such as l2=1e-4,1e-2, loss=logistic,pap-ramp@30
        or l2='log(1e-6,1)', which draws random values. loss__k is the cutoff of the loss. May be
        repeated.
    budget : TIME|N
        Number of random candidates to try. For a recommender, also the processor time of the
        search, such as 90s, 10m or 2h. Default: all candidates of the grid; for a recommender, 15.
    tune_table : FILE
        File to write all trials to; its suffix gives the format (.parquet, .csv, .tsv, .arrow).
    jobs : N
        Number of fits at a time; -1 for one per core. Default: 1.
    seed : N
        Seed of splits, random candidates and random solvers.
    """

    panel: ClassVar[str] = "Search"

    tune: bool = False
    grid: list[str] | None = None
    budget: Annotated[str | None, Sets("n_trials")] = None
    tune_table: Annotated[Path | None, WRITTEN] = None
    jobs: Annotated[int | None, Sets("n_jobs")] = None
    seed: Annotated[int, Sets("seed"), Sets("random_state")] = 0

    def limits(self) -> dict[str, Any]:
        """Return --budget as an argument of `podium.tuning.search`.

        Raises
        ------
        ArgumentError
            If it is neither a time nor a number.
        """
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
        return {"budget": _check.positive(seconds, "--budget")}

    def free_grid(self, model: Any, fixed: Collection[str]) -> list[dict[str, Any]]:
        """Return the values to try: the given ones, or the default ones without fixed names.

        Raises
        ------
        ArgumentError
            If a value is invalid, or an option fixes a name of --grid, or nothing is left to try.
        """
        from podium.tuning import default_grid

        values = dict[str, Any]()
        for name, text in texts_by_name(self.grid, "--grid", "NAME=VALUES").items():
            if name in fixed:
                raise ArgumentError(
                    f"--grid names {name!r}, but another option fixes it. Keep one."
                )
            try:
                values[name] = values_of(name, text)
            except ArgumentError as error:
                entry = f"{name}={text}"
                raise ArgumentError(f"--grid {entry!r}: {error.message.text}") from None
        grid = [values] if values else default_grid(model, fixed)
        if not any(grid):
            raise ArgumentError(
                f"--tune has nothing to search: {type(model).__name__} has no parameters that "
                "other options leave free. Leave out --tune or another option, or name other "
                "parameters with --grid."
            )
        return grid


def values_of(name: str, text: str) -> Any:
    """Return the values of a parameter; losses are texts, and "none" is a value of decay."""
    from podium.tuning.candidates import parse_values

    if name == "loss":
        return divided(text) or [text]
    values = parse_values(text)
    if name == "decay" and isinstance(values, list):
        return ["none" if value is None else value for value in values]
    return values


def run(
    search: Callable[..., Search], title: str, table: Path | None, tell: Callable[[Search], str]
) -> Search:
    """Search with progress; the table of trials is also written after an interrupt."""
    from podium.tuning import Interrupted

    try:
        with progress(title) as show:
            result = search(progress=show)
    except Interrupted as stop:
        _save(stop.search, table)
        _messages.say(f"interrupted; {tell(stop.search)}")
        raise
    _save(result, table)
    return result


def _save(search: Search, path: Path | None) -> None:
    """Write the table of a search if a path is given."""
    if path is not None:
        search.save(path)
        _messages.say(f"wrote {path}, {counted(len(search.trials), 'trials')}")


def describe(search: Search) -> str:
    """Return how many candidates were tried, the best one, and its measure."""
    names = {trial.number for trial in search.trials}
    errors = {trial.number: trial.error for trial in search.trials if trial.error}
    failed = tally(errors.values())
    best = search.best
    values = ", ".join(f"{name}={text_of(value, '.4g')}" for name, value in best.params.items())
    return (
        f"tried {counted(len(names), 'candidates')}"
        f"{f', of which {len(errors)} failed ({failed})' if errors else ''}; best "
        f"{values or 'with the given options'}: {search.measure} {best.mean:.4f} (standard error "
        f"{best.std_error:.4f}, {counted(best.n_groups, 'users')})"
    )


def chosen(search: Search) -> str:
    """Return the model that is chosen from a portfolio, and its measure."""
    best = search.best
    return (
        f"chosen: {best.params['model']}, {search.measure} {best.mean:.4f} on the validation data "
        f"of {counted(best.n_groups, 'users')}"
    )


def say_choice(search: Search) -> None:
    """Print the measure of each model of a portfolio, or why it was not tried; and the choice."""
    for trial in search.trials:
        figures = f"{trial.mean:.4f} ± {trial.std_error:.4f}, {trial.seconds:.1f} s"
        _messages.say(f"{trial.params['model']}: {trial.error or figures}")
    _messages.say(chosen(search))


def text_of(value: Any, digits: str = "") -> str:
    """Return a parameter as the command line reads it; digits is a format of numbers."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return format(value, digits) if isinstance(value, float) else str(value)
