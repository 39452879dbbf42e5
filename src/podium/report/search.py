"""What shows the Search of `podium.tuning`: its trials and the best one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from podium._text import counted, tally
from podium.evaluation.stats.intervals import t_interval
from podium.metrics import parse
from podium.report._types import Figure, Table
from podium.report.cells import NOTHING, number, percentage
from podium.report.figures import intervals
from podium.report.renderer import Pictures, Renderer, chosen_measure
from podium.report.views import Numbers, Tables, Text, View
from podium.tuning import Search, Trial

_HIDDEN = ("chosen", "stop_reason", "warning", "error")
_LEVEL = 0.95
_MOST_TRIALS = 20


class SearchRenderer(Renderer[Search]):
    """The trials of a Search."""

    def parts(self) -> View:
        """Return the trials from the best mean to the worst; the chosen one comes first."""
        measure, columns = self.result.measure, self.result.table
        names = [name for name in columns if name not in _HIDDEN and not name.startswith("fold_")]
        order = self._in_order()
        rows = [[_cell(name, columns[name][i]) for name in names] for i in order]
        errors = [text for text in columns["error"] if text]
        failed = f" {len(errors)} of them failed: {tally(errors)}." if errors else ""
        note = f"{counted(len(order), 'trials')} by {measure}, the chosen one first.{failed}"
        table: Table = {"columns": names, "rows": rows, "highlight": [(0, names.index("mean"))]}
        legend = ("Bold: the chosen trial. Its lead over the others is not tested.",)
        return View((Tables((table,)), Text((note,))), legend)

    def table(self) -> Table:
        """Return one row per trial."""
        columns = self.result.table
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        return {"columns": list(columns), "rows": rows}

    def numbers(self) -> Numbers:
        """Yield the mean of the best trial, its numeric parameters, and the cost of the search."""
        trials, best = self.result.trials, self.result.best
        fields = {"std_error": best.std_error, "n_groups": best.n_groups}
        params = best.params.items()
        numeric = {name: value for name, value in params if type(value) in (int, float)}
        yield self.result.measure, {"": best.mean, **fields}
        yield "best", {"trial": best.number, **numeric}
        yield "n_trials", {"": len(trials)}
        yield "n_failed", {"": sum(1 for trial in trials if trial.error)}
        yield "seconds", {"": sum(trial.seconds for trial in trials)}

    def pictures(self, measure: Any) -> Pictures:
        """Return the trials."""
        name = chosen_measure([self.result.measure], measure)
        trials = (self.result.trials[i] for i in self._in_order())
        return {"trials": _trials(name, [_row(t) for t in trials if not math.isnan(t.mean)])}

    def _in_order(self) -> list[int]:
        """Return the places of the trials, the chosen one first, then from the best mean on."""
        trials, best = self.result.trials, self.result.best
        sign = parse(self.result.measure).metric.sign

        def place(i: int) -> tuple[bool, bool, float]:
            mean = trials[i].mean
            return trials[i].number != best.number, math.isnan(mean), -sign * mean

        return sorted(range(len(trials)), key=place)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return NOTHING
    if name in ("mean", "std_error"):
        return number(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _row(trial: Trial) -> dict[str, Any]:
    low, high = t_interval(trial.mean, trial.std_error, trial.n_groups, _LEVEL)
    params = ", ".join(f"{name}={value}" for name, value in trial.params.items())
    label = params or f"trial {trial.number}"
    return {"label": label, "value": trial.mean, "low": low, "high": high}


def _trials(measure: str, rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Return the mean of each trial with its interval, the best first."""
    drawn = rows[:_MOST_TRIALS]
    best = f"the best {len(drawn)} of " if len(drawn) < len(rows) else ""
    trials = f"{best}{counted(len(rows), 'trials')}"
    title = f"{measure} of {trials}, with {percentage(_LEVEL)} intervals"
    return intervals(title, drawn, axis_label=f"mean {measure}")
