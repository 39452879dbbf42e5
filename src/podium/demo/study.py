"""The study: recommenders propose products, rankers reorder them, and a test decides.

Three windows of eight weeks follow each other. In each, recommenders learn from all purchases
before the window. Rankers of several kinds learn in the first window which of the proposed products
are bought. The second window chooses a recommender, and `podium.tuning.search` a ranker. The third
one is used once, to compare all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import podium
from podium import recommenders, tuning
from podium.data import splits
from podium.data.retail import OnlineRetail
from podium.errors import ArgumentError
from podium.types import PerRow, RowIndex

K = 10
TARGET = f"pap@{K}"
MEASURES = (TARGET, f"ndcg@{K}", f"recall@{K}")
GUARDS = {f"recall@{K}": -0.005, f"coverage@{K}": -0.1}
"""The largest losses that are accepted for a gain in the target."""

DAY = 1440  # minutes
WINDOW_DAYS = 56  # full weeks, so that all windows have the same number of Sundays
RECENT_DAYS = 28
N_PROPOSED = 150  # products that each recommender proposes to each customer
N_LISTED = 100  # products in the list of a run

RECOMMENDERS = {
    "popularity": ("popularity", RECENT_DAYS),
    "recent": ("recent", np.inf),
    "item similarity": ("item-knn(k=300)", np.inf),
    "EASE": ("ease(l2=500,precision=single)", np.inf),
}
"""The model of each recommender, and the days of purchases that it learns from."""

RANKERS = {
    "logistic-regression": "logistic regression",
    "linear(loss=pap-logistic": f"pAp@{K} ranker",
    "linear(loss=robirank": "RoBiRank",
    "lightgbm": "LightGBM",
}
"""The names of the rankers that a search tries, by the beginning of their text."""

Sparse = Any  # scipy.sparse.csr_array, for which SciPy has no types
Table = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Window:
    """A window of time: what was bought before it, and what was bought for the first time in it.

    Attributes
    ----------
    start, stop : int
        The first minute of the window, and the first minute after it.
    past : int64, (n_past,)
        The positions of the purchases before the window.
    new : int64, (n_new,)
        The positions of the first purchases of new products, by customers with a past. Repeat
        orders are left out, because they need no recommendation.
    customers : int64, (n_listed,)
        The customers of these purchases, in ascending order.
    """

    start: int
    stop: int
    past: RowIndex
    new: RowIndex
    customers: RowIndex


@dataclass(frozen=True, eq=False)
class Candidates:
    """The products that any recommender proposes, and the lists of the recommenders.

    Attributes
    ----------
    row, item : int64, (n_candidates,)
        The position of the candidate's customer in `Window.customers`, and the product.
    features : float64, (n_candidates, n_features)
        The features, with mean 0 and variance 1 among the candidates of each customer.
    bought : float64, (n_candidates,)
        1 if the customer bought the product in the window, else 0.
    lists : dict of str to table
        The run of each recommender.
    """

    row: RowIndex
    item: RowIndex
    features: NDArray[np.float64]
    bought: PerRow
    lists: dict[str, Table]


@dataclass(frozen=True, eq=False)
class Results:
    """The choices on the validation window, and the results on the test window.

    Attributes
    ----------
    windows, candidates : dict of str
        The windows "train", "valid" and "test", and their candidates.
    rankers : dict of str to ranker
        The best ranker of each kind, trained on the first window.
    settings : dict of str to str
        The text of each recommender and ranker, such as "ease(l2=500)".
    validation : dict of str to float
        The mean of the target on the validation window, by method.
    base, choice : str
        The best recommender on the validation window, and the simplest ranker to which no other is
        better there by more than noise.
    past, truth, runs
        The tables of the test window: past purchases, new purchases, and the lists by method, those
        of the choice first.
    """

    shop: OnlineRetail
    windows: dict[str, Window]
    candidates: dict[str, Candidates]
    rankers: dict[str, Any]
    settings: dict[str, str]
    validation: dict[str, float]
    base: str
    choice: str
    past: Table
    truth: Table
    runs: dict[str, Table]
    comparison: podium.Comparison
    gate: podium.Gate
    audit: podium.Audit


def run_study(shop: OnlineRetail, step: Callable[[str], None]) -> Results:
    """Train on the first window, choose on the second, and compare once on the third.

    `step` is called with the name of each step when it begins.
    """
    windows = {name: window(shop, *times) for name, times in times_of_windows(shop).items()}
    candidates: dict[str, Candidates] = {}
    for name, part in windows.items():
        step(f"recommending for the {name} window")
        candidates[name] = propose(shop, part)
    step("training and choosing a ranker")
    searched = search(candidates["train"], candidates["valid"])
    rankers = {name_of(text): ranker for text, ranker in searched.rivals.items()}
    settings = {name: text for name, (text, _) in RECOMMENDERS.items()}
    settings |= {name_of(text): text for text in searched.rivals}

    step("choosing a recommender")
    runs = runs_of(shop, windows["valid"], candidates["valid"], rankers)
    truth = table(shop, windows["valid"].new)
    validation = {
        m: podium.measure(truth, run, TARGET, ties="worst").means[TARGET] for m, run in runs.items()
    }
    base = max(RECOMMENDERS, key=validation.__getitem__)
    choice = name_of(searched.best.params["model"])

    step("comparing on the test window")
    test = windows["test"]
    runs = runs_of(shop, test, candidates["test"], rankers)
    runs = {choice: runs[choice]} | runs
    past, truth = table(shop, first_of_pairs(shop, test.past)), table(shop, test.new)
    comparison = podium.compare(truth, runs, MEASURES, pairs="all", ties="worst", keep_lists=True)
    gate = podium.gate(
        *(truth, runs[base], runs[choice], TARGET),
        guards=GUARDS,
        by=("engagement", "country"),
        ties="worst",
        users=countries(shop),
        catalogue=past,
        names=(base, choice),
    )
    audit = podium.audit(past, truth, runs, TARGET)
    return Results(
        *(shop, windows, candidates, rankers, settings, validation, base, choice),
        *(past, truth, runs, comparison, gate, audit),
    )


def times_of_windows(shop: OnlineRetail, days: int = WINDOW_DAYS) -> dict[str, tuple[int, int]]:
    """Return (start, stop) of the last three windows of the data: "train", "valid", "test"."""
    end, length = int(shop.minute.max()) + 1, days * DAY
    if end - 3 * length <= shop.minute.min():
        raise ArgumentError(
            f"days must be small enough to leave purchases before the windows, got {days}."
        )
    return {
        name: (end - n * length, end - (n - 1) * length)
        for name, n in (("train", 3), ("valid", 2), ("test", 1))
    }


def window(shop: OnlineRetail, start: int, stop: int) -> Window:
    """Divide the purchases before `stop` at the time `start`; cancellations are left out."""
    purchases = np.flatnonzero((shop.quantity > 0) & (shop.minute < stop))
    split = splits.by_time(shop.minute[purchases], at=start)
    past, during = purchases[split.train], first_of_pairs(shop, purchases[split.test])
    bought = matrix(shop, past)
    user, item = shop.user[during], shop.item[during]
    is_new = (bought[user, item] == 0) & (np.diff(bought.indptr)[user] > 0)
    return Window(start, stop, past, during[is_new], np.unique(user[is_new]))


def events(shop: OnlineRetail, rows: RowIndex) -> Table:
    """Return purchases with their times in seconds, by the positions of customers and products."""
    times = shop.epoch0 + 60 * shop.minute[rows]
    return {"user": shop.user[rows], "item": shop.item[rows], "timestamp": times}


def first_of_pairs(shop: OnlineRetail, rows: RowIndex) -> RowIndex:
    """Return the first purchase of each customer and product; a customer's rows are by time."""
    pairs = shop.user[rows] * shop.n_items + shop.item[rows]
    return rows[np.unique(pairs, return_index=True)[1]]


def matrix(shop: OnlineRetail, rows: RowIndex) -> Sparse:
    """Return CSR, (n_customers, n_products), with 1 where a customer bought a product."""
    firsts = first_of_pairs(shop, rows)
    cells: Any = (np.ones(firsts.size, np.float32), (shop.user[firsts], shop.item[firsts]))
    return sparse.csr_array(cells, shape=(shop.n_users, shop.n_items))


def propose(shop: OnlineRetail, part: Window) -> Candidates:
    """Fit the recommenders to the past, and join the products that they propose."""
    bought = matrix(shop, part.past)
    models: list[recommenders.Recommender] = []
    lists: dict[str, Table] = {}
    is_proposed = np.zeros((part.customers.size, shop.n_items), np.bool_)
    for name, (text, days) in RECOMMENDERS.items():
        model, rows = recommenders.parse(text), last(shop, part, days)
        learned = events(shop, rows) if model.needs_times else matrix(shop, rows)
        models.append(model.fit(learned, seen=None if model.needs_times else bought))
        items, scores = models[-1].recommend(part.customers, min(N_PROPOSED, shop.n_items))
        row, place = np.nonzero(items >= 0)
        is_proposed[row, items[row, place]] = True
        row, place = row[place < N_LISTED], place[place < N_LISTED]
        lists[name] = as_run(shop, part, row, items[row, place], scores[row, place])
    row, item = np.nonzero(is_proposed)
    user = part.customers[row]
    # Roots, because a few scores are far above the others.
    scores = [np.sqrt(np.fmax(model.score_pairs(user, item), 0)) for model in models]
    columns = np.column_stack([*scores, *(column[item] for column in of_products(shop, part))])
    is_bought = matrix(shop, part.new)[user, item].astype(np.float64)
    return Candidates(row, item, standardised(columns, row), is_bought, lists)


def standardised(columns: NDArray[np.float64], row: RowIndex) -> NDArray[np.float64]:
    """Return columns with mean 0 and variance 1 within each customer's rows, which are adjacent.

    A season that shifts or scales a column for all products then changes nothing. A column that is
    constant for a customer becomes 0.
    """
    sizes = np.bincount(row)
    starts, sizes = np.cumsum(sizes) - sizes, sizes[:, None]
    centred = columns - (np.add.reduceat(columns, starts) / sizes)[row]
    spread = np.sqrt(np.add.reduceat(centred * centred, starts) / sizes)
    return centred * np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-6)[row]


def last(shop: OnlineRetail, part: Window, days: float) -> RowIndex:
    """Return the positions of the purchases of the last days before the window."""
    return part.past[shop.minute[part.past] >= part.start - days * DAY]


def of_products(shop: OnlineRetail, part: Window) -> list[PerRow]:
    """Return the features of products, each (n_products,), as logarithms.

    They are the numbers of customers so far and in the last days, and the days since the first and
    the last sale.
    """
    first, latest = np.full(shop.n_items, part.start), np.zeros(shop.n_items, np.int64)
    np.minimum.at(first, shop.item[part.past], shop.minute[part.past])
    np.maximum.at(latest, shop.item[part.past], shop.minute[part.past])
    counts = [
        np.bincount(shop.item[first_of_pairs(shop, rows)], minlength=shop.n_items)
        for rows in (part.past, last(shop, part, RECENT_DAYS))
    ]
    ages = [(part.start - minutes) / DAY for minutes in (first, latest)]
    return [np.log1p(column) for column in (*counts, *ages)]


def search(train: Candidates, valid: Candidates) -> tuning.Search:
    """Learn which of the proposed products a customer buys, with rankers of several kinds."""
    # The budget is far above the need, so that the choice does not depend on the machine.
    rows, rows_valid = ((part.features, part.bought, part.row) for part in (train, valid))
    return tuning.search("auto", *rows, eval_set=rows_valid, measure=TARGET, budget=1200)


def name_of(text: str) -> str:
    """Return the name of a ranker, given its text."""
    return next(name for start, name in RANKERS.items() if text.startswith(start))


def runs_of(
    shop: OnlineRetail, part: Window, candidates: Candidates, rankers: Mapping[str, Any]
) -> dict[str, Table]:
    """Return the runs of all methods: the lists of the recommenders, and those of the rankers."""
    runs = dict(candidates.lists)
    for name, ranker in rankers.items():
        scores = ranker.predict(candidates.features)
        order = np.lexsort((-scores, candidates.row))
        row = candidates.row[order]
        order = order[np.arange(row.size) - np.searchsorted(row, row) < N_LISTED]
        listed = candidates.row[order], candidates.item[order], scores[order]
        runs[name] = as_run(shop, part, *listed)
    return runs


def as_run(
    shop: OnlineRetail, part: Window, row: RowIndex, item: RowIndex, score: NDArray[Any]
) -> Table:
    """Return scored products as a run, with the shop's numbers of customers and products."""
    customer = shop.customer_id[part.customers[row]]
    return {"user": customer, "item": shop.stock_code[item], "score": score}


def table(shop: OnlineRetail, rows: RowIndex) -> Table:
    """Return purchases as a table, with the shop's numbers of customers and products."""
    return {
        "user": shop.customer_id[shop.user[rows]],
        "item": shop.stock_code[shop.item[rows]],
        "timestamp": shop.minute[rows],
    }


def countries(shop: OnlineRetail) -> Table:
    """Return whether each customer is in the United Kingdom or elsewhere."""
    is_home = shop.country == "United Kingdom"
    return {"user": shop.customer_id, "country": np.where(is_home, "United Kingdom", "elsewhere")}
