"""Writing results down: tables to go on with, numbers as JSON, and the page. Each file whole."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from podium import report
from podium.data import OnlineRetail, atomic, write_table
from podium.errors import DataError
from podium.experiments._features import FEATURES
from podium.experiments._models import Trial
from podium.experiments._results import Results, examples
from podium.experiments._windows import Window


def prepare(out: Path) -> None:
    """Make the folder and see that a page can be rendered, before the work that it is for."""
    report.render({"title": ""})
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out} can't be written: {error.strerror or error}.") from error


def write(results: Results, page: report.Report, out: Path) -> Path:
    """Write all files into the folder `out`; return the page's path.

    Customers and products have the shop's own ids: customer numbers and stock codes.
    """
    test, shop = results.tasks["test"], results.shop
    write_table(_named(test.truth_table(), shop), out / "truth.parquet")
    for name, scores in results.scores.items():
        write_table(_named(test.run_table(scores), shop), out / run_file(name))
    write_table(_per_user(results), out / "per_user.parquet")
    with atomic(out / "results.json") as place:
        text = json.dumps(summary(results), indent=1, ensure_ascii=False, allow_nan=False)
        place.write_text(text + "\n", encoding="utf-8")
    report.write(page, out / "report.html")
    return out / "report.html"


def run_file(method: str) -> str:
    """Return the name of a method's run file: run-item-similarity.parquet."""
    return f"run-{re.sub(r'[^a-z0-9]+', '-', method.lower())}.parquet"


def summary(results: Results) -> dict[str, Any]:
    """Return everything that was found, as JSON can hold it."""
    return {
        "verdict": results.verdict.text,
        "winners": list(results.verdict.winners),
        "methods": results.how,
        "windows": {name: _window(results, name, w) for name, w in results.windows.items()},
        "comparison": results.comparison.to_dict(),
        "evaluations": {name: e.to_dict() for name, e in results.evaluations.items()},
        "trials": {method: [_trial(t) for t in tried] for method, tried in results.trials.items()},
        "weights": {
            method: dict(zip(FEATURES, tried[0].coef.tolist(), strict=True))
            for method, tried in results.trials.items()
        },
        "examples": examples(results),
    }


def _named(table: Mapping[str, Any], shop: OnlineRetail) -> dict[str, Any]:
    return {
        **table,
        "user": shop.customer_id[table["user"]],
        "item": shop.stock_code[table["item"]],
    }


def _per_user(results: Results) -> dict[str, Any]:
    """Return a row per method and customer."""
    evaluations = results.evaluations
    first = next(iter(evaluations.values()))
    columns: dict[str, Any] = {
        "method": np.repeat(list(evaluations), first.n_groups),
        "user": np.concatenate([results.shop.customer_id[e.labels] for e in evaluations.values()]),
        "n_pos": np.concatenate([e.n_pos for e in evaluations.values()]),
    }
    for measure in first.measures:
        columns[measure] = np.concatenate([e.values[measure] for e in evaluations.values()])
    return columns


def _window(results: Results, name: str, window: Window) -> dict[str, Any]:
    task = results.tasks[name]
    return {
        "start_minute": window.start,
        "stop_minute": window.stop,
        "customers": int(task.lists.users.size),
        "candidates": int(task.lists.row.size),
        "new_purchases": int(task.truth.nnz),
        "share_among_candidates": task.found,
    }


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "settings": str(trial.settings),
        "validation": trial.value,
        "best_iteration": trial.best,
        "iterations": int(trial.validation.size),
    }
