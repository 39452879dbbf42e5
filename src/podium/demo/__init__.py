"""The demo: ten products that each customer of a gift shop should be told about next.

Only products that are new to the customer count: a repeat order needs no recommendation. Three
windows of eight weeks follow each other; features of a window are made from purchases before it.
Rankers are trained on the first, stopped and chosen on the second, and measured once on the third.

To see how podium is used, read ``study.py`` first. The candidates and features come from
``features.py``, the sentences and the page from ``page.py``.
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
        Folder to write into; it is made where it is missing. ``report.html`` (one page that needs
        no network), ``results.json``, ``per_user.parquet``, ``truth.parquet`` and one
        ``run-*.parquet`` per method, which ``podium measure truth.parquet run-…`` reads. Each
        file appears whole or not at all.
    shop : OnlineRetail, optional
        Purchases of another shop, or of some customers; by default the bundled data.
    progress : callable
        Called as ``progress(done, total, note)``.

    Returns
    -------
    dict
        The report (what ``podium.report.render`` takes), with "table" ({"columns", "rows"}, text
        for the terminal), "verdict" (a paragraph) and, with `out`, "path" (of the page) added.

    Notes
    -----
    Deterministic: the same data give the same numbers.

    References
    ----------
    chen2012 (the data); hiranandani2020 (pAp@k).

    Examples
    --------
    >>> run("demo")["verdict"]  # doctest: +SKIP
    """
    folder = None if out is None else _folder(Path(out))
    done = count()

    def step(note: str) -> None:
        progress(next(done), N_TRIALS + 5, note)

    results = train_and_compare(load_onlineretail() if shop is None else shop, step)
    summary = _summarize(results)
    content = page.report(results, summary)
    step("writing")
    made = {
        "table": page.table(results.comparison, results.duels),
        "verdict": summary["verdict"],
    }
    if folder is not None:
        _write(results, summary, folder)
        report.write(content, folder / "report.html")
        made["path"] = str(folder / "report.html")
    step("done")
    return {**content, **made}


def _summarize(results: Results) -> dict[str, Any]:
    """Return all results as JSON can hold them."""
    settings = {method: tried[0].settings for method, tried in results.trials.items()}
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
        "comparison": results.comparison.to_dict(),
        "evaluations": {name: e.to_dict() for name, e in results.evaluations.items()},
        "trials": {
            method: [
                {
                    "settings": trial.settings,
                    "validation": trial.value,
                    "best_iteration": trial.ranker.best_iteration_,
                    "iterations": len(trial.ranker.history_["validation"]),
                }
                for trial in tried
            ]
            for method, tried in results.trials.items()
        },
        "weights": {
            method: dict(zip(FEATURES, tried[0].ranker.coef_.tolist(), strict=True))
            for method, tried in results.trials.items()
        },
        "examples": [_example(results, best, q) for q in (0.95, 0.75, 0.5)],
    }


def _example(results: Results, method: str, quantile: float) -> dict[str, Any]:
    """Show a method's list for the customer at a quantile of its pAp@10.

    The lowest customer number comes first among equals, so that nobody picked these customers.
    """
    shop, task, evaluation = results.shop, results.tasks["test"], results.evaluations[method]
    order = np.lexsort((evaluation.labels, evaluation.values[TARGET]))
    place = order[int(np.ceil(quantile * (order.size - 1)))]
    mine = np.flatnonzero(task.row == place)
    best = mine[np.argsort(-results.scores[method][mine], kind="stable")[:K]]
    user = task.users[place]
    earlier = np.flatnonzero((shop.user == user) & (shop.minute < task.start))
    latest = shop.item[earlier[np.argsort(-shop.minute[earlier], kind="stable")]]
    history = list(dict.fromkeys(latest.tolist()))
    return {
        "quantile": quantile,
        "pap": float(evaluation.values[TARGET][place]),
        "customer_id": int(shop.customer_id[user]),
        "country": str(shop.country[user]),
        "n_before": len(history),
        "n_new": task.truth[place].nnz,
        "latest": shop.description[history[:5]].tolist(),
        "shown": [
            {"description": str(shop.description[task.item[i]]), "bought": bool(task.y[i])}
            for i in best
        ],
    }


def _folder(out: Path) -> Path:
    """Make the folder and check that a page can be rendered, before the work that it is for."""
    report.render({"title": ""})
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out} can't be written: {error.strerror or error}.") from error
    return out


def _write(results: Results, summary: Mapping[str, Any], out: Path) -> None:
    """Write tables with the shop's own ids, customer numbers and stock codes, and all numbers."""
    test, shop = results.tasks["test"], results.shop

    def named(columns: Mapping[str, Any]) -> dict[str, Any]:
        user, item = shop.customer_id[columns["user"]], shop.stock_code[columns["item"]]
        return {**columns, "user": user, "item": item}

    write_table(named(test.truth_table()), out / "truth.parquet")
    for name, scores in results.scores.items():
        write_table(named(test.run_table(scores)), out / run_file(name))
    write_table(_per_user(results), out / "per_user.parquet")
    with atomic(out / "results.json") as place:
        text = json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False)
        place.write_text(text + "\n", encoding="utf-8")


def run_file(method: str) -> str:
    """Return the name of a method's run file: run-item-similarity.parquet."""
    return f"run-{re.sub(r'[^a-z0-9]+', '-', method.lower())}.parquet"


def _per_user(results: Results) -> dict[str, Any]:
    """Return a row per method and customer."""
    evaluations = list(results.evaluations.values())
    users = results.shop.customer_id[evaluations[0].labels]
    return {
        "method": np.repeat(list(results.evaluations), users.size),
        "user": np.tile(users, len(evaluations)),
        "n_pos": np.concatenate([e.n_pos for e in evaluations]),
        **{m: np.concatenate([e.values[m] for e in evaluations]) for m in evaluations[0].measures},
    }
