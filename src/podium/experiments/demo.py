"""The demo: ten products that each customer of a gift shop should be told about next.

Only products that are new to the customer count: a repeat order needs no recommendation. Three
windows of eight weeks follow each other; features of a window are made from purchases before it.
Rankers are trained on the first, stopped and chosen on the second, and measured once on the third.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from podium.data import OnlineRetail, load_onlineretail
from podium.experiments import _files, _page
from podium.experiments._columns import Catalogue
from podium.experiments._features import build
from podium.experiments._models import N_TRIALS, Task, choose_baselines, search
from podium.experiments._results import MEASURES, Results, settle
from podium.experiments._similarity import words
from podium.experiments._story import table
from podium.experiments._windows import Ids, Purchases, Window, consecutive, new_purchases
from podium.progress import silent
from podium.types import Progress

_SUBSAMPLE = "customers"  # purpose of the draw, part of its seed


def run(
    out: Path | str | None = None,
    *,
    progress: Progress = silent,
    seed: int = 0,
    n_customers: int | None = None,
) -> dict[str, Any]:
    """Train and compare five ways to choose ten new products for each customer.

    Parameters
    ----------
    out : path, optional
        Folder to write into; it is made where it is missing. ``report.html`` (one page that needs
        no network), ``results.json``, ``per_user.parquet``, ``truth.parquet`` and one
        ``run-*.parquet`` per method, which ``podium measure truth.parquet run-…`` reads. Each
        file appears whole or not at all.
    progress : callable
        Called as ``progress(done, total, note)``.
    seed : int
        Of the subsample and of tests that draw; training itself draws nothing.
    n_customers : int, optional
        Use only so many customers, drawn at random, for a quick look.

    Returns
    -------
    dict
        The report (what ``podium.report.render`` takes), with "table" ({"columns", "rows"}, text
        for the terminal), "verdict" (a paragraph) and, with `out`, "path" (of the page) added.

    Notes
    -----
    Deterministic: the same data and seed give the same numbers.

    References
    ----------
    chen2012 (the data); hiranandani2020 (pAp@k).

    Examples
    --------
    >>> run("demo")["verdict"]  # doctest: +SKIP
    """
    if out is not None:
        _files.prepare(Path(out))
    step = _Steps(progress)
    results = _study(load_onlineretail(), step, seed, n_customers)
    page = _page.report(results)
    rows = table(results.comparison, results.verdict, MEASURES)
    found: dict[str, Any] = {**page, "table": rows, "verdict": results.verdict.text}
    step("writing")
    if out is not None:
        found["path"] = str(_files.write(results, page, Path(out)))
    step("done")
    return found


def study(shop: OnlineRetail, *, seed: int = 0, n_customers: int | None = None) -> Results:
    """Do the work of `run` on any shop's events, without writing anything."""
    return _study(shop, _Steps(silent), seed, n_customers)


def _study(shop: OnlineRetail, step: _Steps, seed: int, n_customers: int | None) -> Results:
    purchases = Purchases.of(shop, _some(shop.n_users, n_customers, seed))
    windows = consecutive(purchases)
    catalogue = Catalogue(shop.country, words(shop.description))
    tasks: dict[str, Task] = {}
    for name, window in windows.items():
        step(f"features of the {name} window")
        tasks[name] = task(purchases, window, catalogue)
    trials = search(tasks["train"], tasks["valid"], step)
    baselines = choose_baselines(tasks["valid"])
    step("measuring the test window")
    return settle(shop, windows, tasks, trials, baselines, seed=seed)


def task(purchases: Purchases, window: Window, catalogue: Catalogue) -> Task:
    """Make a window a ranking task for the customers who bought something new in it."""
    truth = new_purchases(purchases, window)
    users = np.flatnonzero(np.diff(truth.indptr)).astype(np.int64)
    return Task(build(purchases, window.start, users, catalogue), truth)


def _some(n_users: int, n: int | None, seed: int) -> Ids | None:
    if n is None or n >= n_users:
        return None
    rng = np.random.default_rng([seed, *_SUBSAMPLE.encode()])
    return np.sort(rng.choice(n_users, n, replace=False)).astype(np.int64)


class _Steps:
    """Counts the steps of a run as they begin: three windows, the trainings, measuring, writing."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = 0

    def __call__(self, note: str) -> None:
        self._progress(self._done, N_TRIALS + 5, note)
        self._done += 1
