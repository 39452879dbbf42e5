"""The demo: recommend ten products to each customer of a gift shop.

Only products that are new to the customer count, because a repeat order needs no recommendation.
There are three consecutive windows of eight weeks. The features of a window are computed from
purchases before it. Rankers are trained on the first window, stopped and chosen on the second, and
measured once on the third.

To see how podium is used, read ``study.py`` first. ``features.py`` makes the candidates and
features, ``page.py`` the sentences and the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from podium import report
from podium.data import OnlineRetail, atomic, load_onlineretail, write_table
from podium.demo import page
from podium.demo.features import FEATURES
from podium.demo.study import N_TRIALS, TARGET, K, Results, train_and_compare
from podium.errors import DataError
from podium.progress import silent
from podium.types import Progress

__all__ = ["run"]


def run(
    out: Path | str | None = None,
    *,
    shop: OnlineRetail | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Train and compare five ways to choose ten new products for each customer.

    Parameters
    ----------
    out : path, optional
        The folder to write into; it is created if it does not exist. The files are ``report.html``
        (one page that needs no network), ``results.json``, ``per_user.parquet``, ``truth.parquet``
        and one ``run-*.parquet`` per method, which ``podium measure truth.parquet run-…`` reads.
        Each file is written atomically.
    shop : OnlineRetail, optional
        The purchases of another shop, or of some customers; the bundled data by default.
    progress : callable
        A function that is called as ``progress(done, total, note)``.

    Returns
    -------
    dict
        The report, as ``podium.report.render`` takes it, with the further keys "table" ({"columns",
        "rows"}, text for the terminal), "verdict" (a paragraph) and, if `out` is given, "path" (of
        the page).

    Raises
    ------
    DataError
        If the folder or a file can't be written.

    Notes
    -----
    The same data give the same numbers.

    References
    ----------
    chen2012 (the data); hiranandani2020 (pAp@k).

    Examples
    --------
    >>> run("demo")["verdict"]  # doctest: +SKIP
    """
    folder = None if out is None else _folder(Path(out))
    step_numbers = count()

    def step(note: str) -> None:
        progress(next(step_numbers), N_TRIALS + 5, note)

    results = train_and_compare(load_onlineretail() if shop is None else shop, step)
    summary = _summarize(results)
    content = page.report(results, summary)
    step("writing")
    additions = {
        "table": page.table(results.evaluations, results.comparison, results.duels),
        "verdict": summary["verdict"],
    }
    if folder is not None:
        _write(results, summary, folder)
        report.write(content, folder / "report.html")
        additions["path"] = str(folder / "report.html")
    step("done")
    return {**content, **additions}


def _summarize(results: Results) -> dict[str, Any]:
    """Return all results in a form that JSON can hold."""
    settings = {
        method: method_trials[0].settings for method, method_trials in results.trials.items()
    }
    best = results.duels[0].better
    return {
        "verdict": " ".join(page.verdict(results.evaluations, results.duels)),
        "winners": page.winners(results.duels),
        "methods": results.forms | settings,
        "windows": {
            name: {
                "start_minute": task.start,
                "stop_minute": task.stop,
                "customers": task.users.size,
                "candidates": task.row.size,
                "new_purchases": task.truth.nnz,
                "share_among_candidates": float(task.y.sum() / task.truth.nnz),
            }
            for name, task in results.tasks.items()
        },
        "comparison": results.comparison.as_json(),
        "evaluations": {
            name: evaluation.as_json() for name, evaluation in results.evaluations.items()
        },
        "trials": {
            method: [
                {
                    "settings": trial.settings,
                    "validation": trial.value,
                    "best_iteration": trial.ranker.best_iteration_,
                    "iterations": len(trial.ranker.history_["validation"]),
                }
                for trial in method_trials
            ]
            for method, method_trials in results.trials.items()
        },
        "weights": {
            method: dict(zip(FEATURES, method_trials[0].ranker.coef_.tolist(), strict=True))
            for method, method_trials in results.trials.items()
        },
        "examples": [_example(results, best, quantile) for quantile in (0.95, 0.75, 0.5)],
    }


def _example(results: Results, method: str, quantile: float) -> dict[str, Any]:
    """Return a method's list for the customer at a quantile of its pAp@10.

    Among equal values the lowest customer number comes first, so that the choice is not arbitrary.
    """
    shop, task, evaluation = results.shop, results.tasks["test"], results.evaluations[method]
    order = np.lexsort((evaluation.labels, evaluation.values[TARGET]))
    user_row = order[int(np.ceil(quantile * (order.size - 1)))]
    candidate_rows = np.flatnonzero(task.row == user_row)
    best = candidate_rows[np.argsort(-results.scores[method][candidate_rows], kind="stable")[:K]]
    user = task.users[user_row]
    earlier = np.flatnonzero((shop.user == user) & (shop.minute < task.start))
    latest = shop.item[earlier[np.argsort(-shop.minute[earlier], kind="stable")]]
    history = list(dict.fromkeys(latest.tolist()))
    return {
        "quantile": quantile,
        "pap": float(evaluation.values[TARGET][user_row]),
        "customer_id": int(shop.customer_id[user]),
        "country": str(shop.country[user]),
        "n_before": len(history),
        "n_new": task.truth[user_row].nnz,
        "latest": shop.description[history[:5]].tolist(),
        "shown": [
            {"description": str(shop.description[task.item[i]]), "bought": bool(task.y[i])}
            for i in best
        ],
    }


def _folder(out: Path) -> Path:
    """Create the folder and check that a page can be rendered, before the long computation."""
    report.render({"title": ""})
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out} can't be written: {error.strerror or error}.") from error
    return out


def _write(results: Results, summary: Mapping[str, Any], out: Path) -> None:
    """Write the tables, with the shop's customer numbers and stock codes, and all numbers."""
    task, shop = results.tasks["test"], results.shop

    def with_shop_ids(columns: Mapping[str, Any]) -> dict[str, Any]:
        user, item = shop.customer_id[columns["user"]], shop.stock_code[columns["item"]]
        return {**columns, "user": user, "item": item}

    write_table(with_shop_ids(task.truth_table()), out / "truth.parquet")
    for name, scores in results.scores.items():
        write_table(with_shop_ids(task.run_table(scores)), out / run_file(name))
    write_table(_per_user(results), out / "per_user.parquet")
    with atomic(out / "results.json") as path:
        text = json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False)
        path.write_text(text + "\n", encoding="utf-8")


def run_file(method: str) -> str:
    """Return the name of a method's run file, such as run-item-similarity.parquet."""
    return f"run-{re.sub(r'[^a-z0-9]+', '-', method.lower())}.parquet"


def _per_user(results: Results) -> dict[str, Any]:
    """Return columns with one row per method and customer."""
    evaluations = list(results.evaluations.values())
    users = results.shop.customer_id[evaluations[0].labels]
    return {
        "method": np.repeat(list(results.evaluations), users.size),
        "user": np.tile(users, len(evaluations)),
        "n_pos": np.concatenate([evaluation.n_pos for evaluation in evaluations]),
        **{
            measure: np.concatenate([evaluation.values[measure] for evaluation in evaluations])
            for measure in evaluations[0].measures
        },
    }
