"""Checks of the test part: repeated pairs, relevances, and where the truth came from."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np

from podium.data.ids import distinct
from podium.data.lists import top_rows
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Floats, Ints, Part, Tables, is_among, present
from podium.decide.finding import Facts, fault, finding
from podium.evaluation.finding import Finding
from podium.evaluation.stats import paired
from podium.groups import Groups

_HIGH = 0.8  # share of the highest rating from which a rating is positive: 4 of 5
_FEW = 0.001  # share of users without positives that needs no warning
_SIZE = 0.05  # of a test
_WIDE = 0.1  # share of the mean; a difference of half of it can't be seen with wider errors


def repeated_pairs(price: Pricing) -> Finding | None:
    """Pairs of the test part that occur twice."""
    tables = price.tables
    count, total = tables.test.n_rows - tables.truth.n_rows, tables.test.n_rows
    if not count:
        return None
    is_repeat = tables.repeats(tables.test)
    counted_twice = apart(tables, tables.test)
    values = {n: (price.values(counted_twice, p), price.base[n]) for n, p in price.lists.items()}
    effects = price.effects(values)
    examples = tables.pair_examples(tables.test.rows(is_repeat))
    return finding("duplicate-test", (count, total), examples, effects)


def ratings(price: Pricing) -> Finding | None:
    """Ratings without a threshold, so that low ratings count as positive."""
    tables, request = price.tables, price.request
    if not request.is_rating or request.has_threshold:
        return None
    high = _HIGH * float(tables.truth.values.max())
    is_low = tables.is_positive & (tables.truth.values < high)
    without_low = tables.truth.rows(tables.truth.values >= high)
    of = int(is_low.sum()), tables.truth.n_rows
    examples = tables.pair_examples(tables.truth.rows(is_low)) if is_low.any() else ()
    return finding("ratings", of, examples, price.of_truth(without_low), high=high)


def low_grades(price: Pricing) -> Finding | None:
    """Test pairs with a relevance above 0 that is below the threshold."""
    tables, request = price.tables, price.request
    is_low = (tables.truth.values > 0) & ~tables.is_positive
    if not is_low.any():
        return None
    rest = tables.truth.rows(~is_low)
    effects = partial(price.of_truth, rest) if tables.is_positive.any() else tuple
    use = "still counts their grades" if request.keeps_low_grades else "counts them as not relevant"
    examples = tables.pair_examples(tables.truth.rows(is_low))
    facts: Facts = {"measure": request.measure, "threshold": request.threshold, "use": use}
    kind = "chosen" if request.has_threshold else ""
    return fault("low-grades", is_low, examples, effects, kind=kind, **facts)


def users_without_positives(price: Pricing) -> Finding | None:
    """Users of the test part without a positive for whom the measure is undefined."""
    tables = price.tables
    users = tables.test_users
    is_lost = ~price.has_relevant(tables.truth)
    if not is_lost.any():
        return None
    count, total = int(is_lost.sum()), users.size
    values = {
        name: (np.where(is_lost, np.nan, base), np.where(is_lost, 0.0, base))
        for name, base in price.base.items()
    }
    examples, effects = tables.examples("user", users[is_lost]), price.effects(values)
    facts: Facts = {"threshold": price.request.threshold}
    facts["kind"] = "graded" if price.request.keeps_low_grades else ""
    result = finding("users-without-positives", (count, total), examples, effects, **facts)
    severity = "note" if count < _FEW * total else "warning" if count < total else "error"
    return replace(result, severity=severity)


def few_users(price: Pricing) -> Finding | None:
    """Too few users for the differences that are usual between models."""
    name, base = next(iter(price.base.items()))
    runs = [*price.tables.runs]
    summary = price.summary(base)
    width, n = 2 * summary.std_error, summary.n_groups
    smallest = 2.0 ** (1 - n)
    if not n or (smallest <= _SIZE and not width > _WIDE * summary.mean > 0):
        return None
    facts: Facts = {"measure": price.request.measure, "name": name, "smallest": smallest}
    if smallest > _SIZE:
        return finding("few-users", n, kind="none", **facts)
    detectable = ""
    if len(runs) > 1:
        test = paired(base, price.base[runs[1]], n_permutations=None)
        detectable = f" A true difference of {runs[1]} from {name} below {test.detectable:.3f} "
        detectable += "would probably not be significant."
    return finding("few-users", n, width=width / summary.mean, detectable=detectable, **facts)


def apart(tables: Tables, part: Part) -> Part:
    """Return the rows with a new item code for each repeat of a pair, so that all of them count."""
    is_repeat = tables.repeats(part)
    item = part.item.copy()
    item[is_repeat] = tables.n_items + np.arange(int(is_repeat.sum()))
    return Part(part.user, item, part.value, part.time)


_JUDGED = 0.8  # share of the items at the top; with fewer, unjudged items decide
_RANKS = (1, 5, 20)
_ALL, _MANY = 0.995, 0.9  # shares of the positives that a run has listed and another one has not
_LEAST_POSITIVES = 30
_LEAST_USERS = 5
_REPEATED = 0.05  # share of queries
_PERSONAL = 0.5  # share of lists that differ, from which equal lists are of equal queries
_ANY_CHUNK = re.compile(r"(.+?)(?:[#:/_-]+(?:chunk|passage|part|page|p|c)?[_-]?|\s)\d+", re.I)
_SURE_CHUNK = re.compile(r"(.+?)(?:#|::|[_-](?:chunk|passage|part)[_-]?)\d+", re.I)
_OF_CHUNKS = 0.5  # share of ids that are documents with a number behind
_SAMPLE = 2000  # ids that are looked at, before all are


def unjudged_items(price: Pricing, name: str) -> Finding | None:
    """Lists whose first items the truth often does not judge, though it judges negatives too."""
    if not (price.tables.truth.values <= 0).any():
        return None
    k = price.request.measure.k or 10
    shares = {run: _judged(price.tables, run, k) for run in price.tables.runs}
    of_run = float(shares[name].mean())
    if of_run >= _JUDGED:
        return None
    most = max(shares, key=lambda run: float(shares[run].mean()))
    ranks = [rank for rank in _RANKS if rank <= shares[name].size]
    texts = [f"{100 * shares[name][:rank].mean():.0f} % of the first {rank}" for rank in ranks]
    other = f" Of run {most}, {100 * shares[most].mean():.0f} %." if most != name else ""
    of = round((1 - of_run) * 100), 100
    return finding("unjudged-items", of, run=name, shares=", ".join(texts), other=other)


def _judged(tables: Tables, name: str, k: int) -> Floats:
    """Return the share of the lists' items that are judged, for each rank from 1 to k."""
    run = tables.tested[name]
    offsets, rows = top_rows(Groups.from_qid(run.user), run.values, run.item, k)
    rank = np.arange(rows.size) - np.repeat(offsets[:-1], np.diff(offsets))
    is_judged = is_among(tables.key(run), np.sort(tables.key(tables.truth)))[rows]
    if not rows.size:
        return np.ones(1)
    return np.bincount(rank, weights=is_judged) / np.maximum(np.bincount(rank), 1)


def made_from_run(price: Pricing, name: str) -> Finding | None:
    """A truth whose positives are all in the lists of one run, though other runs lack many."""
    tables = price.tables
    n_positives = tables.positives.n_rows
    shares = {run: price.is_positive[run].sum() / max(n_positives, 1) for run in tables.runs}
    lacking = [run for run, share in shares.items() if share <= _MANY]
    if n_positives < _LEAST_POSITIVES or shares[name] < _ALL or not lacking:
        return None
    of = (round(shares[name] * n_positives), n_positives)
    facts: Facts = {"other": lacking[0]}
    facts |= {"share": 100 * shares[name], "of_other": shares[lacking[0]]}
    return finding("truth-from-run", of, run=name, **facts)


def perfect_lists(price: Pricing, name: str) -> Finding | None:
    """Lists with all positives before all other items, such as a run that was made of the truth."""
    tables = price.tables
    run = tables.tested[name]
    is_positive, n_users = price.is_positive[name], tables.n_users
    n_all = np.bincount(tables.positives.user, minlength=n_users)
    n_found = np.bincount(run.user[is_positive], minlength=n_users)
    if (n_found < n_all).sum() > (1 - _ALL) * n_users:
        return None
    lowest, highest = np.full(n_users, np.inf), np.full(n_users, -np.inf)
    np.minimum.at(lowest, run.user[is_positive], run.values[is_positive])
    np.maximum.at(highest, run.user[~is_positive], run.values[~is_positive])
    is_open = (n_all > 0) & np.isfinite(highest)
    is_perfect = is_open & (n_found == n_all) & (lowest > highest)
    count, total = int(is_perfect.sum()), int(is_open.sum())
    if total < _LEAST_USERS or count < _ALL * total:
        return None
    examples = tables.examples("user", np.flatnonzero(is_perfect))
    return finding("perfect-lists", (count, total), examples, run=name)


def repeated_queries(price: Pricing) -> Finding | None:
    """Users or queries with the same positives and the same lists, so that one counts twice."""
    tables, users = price.tables, price.tables.test_users
    if not tables.runs:
        return None
    truth = _digest(tables, tables.truth)
    if users.size - distinct(truth[users]).size < max(1, _REPEATED * users.size):
        return None  # before the lists are read, which are much larger
    lists = [_digest(tables, run) for run in tables.tested.values()]
    users = users[np.all([digest[users] != 0 for digest in lists], axis=0)]
    of_lists = np.column_stack([digest[users] for digest in lists])
    n_lists = np.unique(of_lists, axis=0).shape[0]
    both = np.column_stack([truth[users], of_lists])
    _, first = np.unique(both, axis=0, return_index=True)
    count = users.size - first.size
    if count < max(1, _REPEATED * users.size) or n_lists < _PERSONAL * users.size:
        return None
    is_repeat = present(np.delete(users, first), tables.n_users)[tables.test_users]
    examples = tables.examples("user", tables.test_users[is_repeat])
    return finding("repeated-queries", (count, users.size), examples, price.of_users(~is_repeat))


def _digest(tables: Tables, part: Part) -> Ints:
    """Return a hash of the items and values of each user's rows, in any order; 0 without rows."""
    keys = part.item.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    keys ^= part.values.astype(np.float64).view(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    keys ^= keys >> np.uint64(29)
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    keys ^= keys >> np.uint64(32)
    result = np.zeros(tables.n_users, np.uint64)
    np.add.at(result, part.user, keys | np.uint64(1))
    return result.view(np.int64)


def chunks(price: Pricing, name: str) -> Finding | None:
    """Items that are chunks of documents: of those of the truth, or several of one in a list."""
    tables = price.tables
    run, known = tables.tested[name], tables.item_in_test | tables.in_train[1]
    items = distinct(run.item)
    if tables.items.dtype.kind != "U" or not items.size:
        return None
    codes = {label: code for code, label in enumerate(tables.items.tolist()) if known[code]}
    kind, documents = "", _documents(tables, items[~known[items]], codes, _ANY_CHUNK)
    if not documents:
        kind, documents = "several", _documents(tables, items, None, _SURE_CHUNK)
    code = np.arange(tables.n_items)
    code[[*documents]] = [*documents.values()]
    joined = tables.distinct(replace(run, item=code[run.item]))
    is_chunk = present(np.array([*documents], np.int64), tables.n_items)[run.item]
    count = int(is_chunk.sum()) if not kind else run.n_rows - joined.n_rows
    if not documents or count < _REPEATED * run.n_rows:
        return None
    first = run.item[is_chunk][0]
    facts: Facts = {"chunk": tables.items[first], "document": tables.items[code[first]]}
    of, examples = (count, run.n_rows), tables.examples("item", run.item[is_chunk])
    effects = () if kind else price.of_run(name, joined)
    return finding("chunks", of, examples, effects, kind=kind, run=name, **facts)


def _documents(
    tables: Tables, items: Ints, codes: dict[str, int] | None, form: re.Pattern[str]
) -> dict[int, int]:
    """Return the code of the document of each item that is a chunk, or of its first chunk.

    There are none if fewer than half of the items are chunks.
    """
    step = -(-items.size // _SAMPLE)
    if step > 1 and not _documents(tables, items[::step], codes, form):
        return {}
    names = {code: form.fullmatch(str(tables.items[code])) for code in items.tolist()}
    chunk_of = {code: match[1] for code, match in names.items() if match is not None}
    if codes is None:
        codes = {document: code for code, document in reversed(chunk_of.items())}
    documents = {code: codes[document] for code, document in chunk_of.items() if document in codes}
    return documents if len(documents) >= _OF_CHUNKS * items.size else {}


CHECKS = (chunks, unjudged_items, made_from_run, perfect_lists)
OF_TEST = (repeated_pairs, ratings, low_grades, users_without_positives, few_users)
OF_TEST_AND_RUNS = (repeated_queries,)
