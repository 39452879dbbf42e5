"""The value of each measure for one ranked list, as docs/conventions.md defines it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

NAN = math.nan
_FORM = re.compile(r"([a-z0-9_]+?)(?:\((.*)\))?(?:@(\d+))?$")


@dataclass(frozen=True)
class Entry:
    """An item of a list: its id, score and grade, and whether it is judged."""

    item: str
    score: Any
    grade: float
    judged: bool


@dataclass(frozen=True)
class List:
    """The list of one user.

    Attributes
    ----------
    entries : tuple of Entry
        The items of the list, best first; equal scores in no particular order until `ordered`.
    grades : tuple of float
        The grades > 0 of all items that count, in the list or not, decreasing.
    n_items : int or None
        The number of items that could be ranked; None if it is unknown.
    n_judged : int
        The number of judged items that count.
    least : float
        The lowest grade of a positive.
    absent : bool
        Whether the run has no list of the user, who gets the worst value.
    """

    entries: tuple[Entry, ...]
    grades: tuple[float, ...]
    n_items: int | None
    n_judged: int
    least: float
    absent: bool = False

    @property
    def n_pos(self) -> int:
        return sum(grade >= self.least for grade in self.grades)

    @property
    def n_neg(self) -> int | None:
        return None if self.n_items is None else self.n_items - self.n_pos

    @property
    def hits(self) -> list[bool]:
        """Whether each rank holds a positive."""
        return [entry.grade >= self.least for entry in self.entries]

    def ordered(self, entries: Sequence[Entry]) -> List:
        """Return the list with its items in an order of equal scores."""
        return replace(self, entries=tuple(entries))


@dataclass(frozen=True)
class Metric:
    """The properties of a metric that the documents state."""

    formula: Callable[..., float] | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    graded: bool = False
    average: str = ""  # "" refused, "orders" the mean over orders, "pairs" half a tied pair
    needs_positive: bool = True
    bounds: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    divisor: Callable[..., float] | None = None  # of the pooled form
    reads: str = "relevance"
    is_mean: bool = True


@dataclass(frozen=True)
class Measure:
    """A metric with its options and cutoff."""

    text: str
    name: str
    k: int | None
    options: Mapping[str, Any]

    @property
    def form(self) -> str:
        """The name in the tables of packages."""
        return self.name if self.k is None else f"{self.name}@k"

    @property
    def metric(self) -> Metric:
        return METRICS["auc@k" if self.form == "auc@k" else self.name]

    @property
    def graded(self) -> bool:
        return self.metric.graded and self.options.get("gain") != "binary"

    def stated(self) -> dict[str, Any]:
        """Return the options that the text states, also those with a default value."""
        return dict(_options(_FORM.match(self.text).group(2)))  # type: ignore[union-attr]

    def value(self, ranked: List) -> float:
        """Return the value of an ordered list; nan if it is undefined."""
        if self.never_defined(ranked):
            return NAN
        if ranked.absent:
            return 0.0 if self.metric.higher_is_better else 1.0
        if self.metric.average == "pairs":
            return pair_share(self, ranked, range(len(ranked.entries)))
        formula: Any = self.metric.formula
        return formula(ranked, k=self.k, **self.options)

    def never_defined(self, ranked: List) -> bool:
        """Return whether no list of the user could have a value."""
        has_none = not ranked.grades if self.graded else ranked.n_pos == 0
        if self.metric.needs_positive and has_none:
            return True
        if self.name in ("pap", "pauc"):
            return _top_negatives(ranked, self.k or 0, self.options["clip"]) == 0
        return self.name in ("auc", "pauc2") and (ranked.n_neg == 0 or self.k == 1)

    def is_unsettled(self, ranked: List) -> bool:
        """Return whether the list is too short to determine the value."""
        if ranked.absent or self.never_defined(ranked):
            return False
        n_hits = sum(ranked.hits)
        n_others = len(ranked.entries) - n_hits
        if self.form == "auc@k":
            return len(ranked.entries) < min(self.k or 0, ranked.n_items or math.inf)
        if self.name == "auc":
            return ranked.n_neg is None or (n_hits < ranked.n_pos and n_others < ranked.n_neg)
        if self.name not in ("pap", "pauc"):
            return False
        needed = ranked.n_pos if self.name == "pauc" else min(self.k or 0, ranked.n_pos)
        return n_hits < needed and n_others < _top_negatives(
            ranked, self.k or 0, self.options["clip"]
        )


def parse(text: str) -> Measure:
    """Return a measure from its text, such as "ndcg(gain=exp2)@10"."""
    name, options, k = _FORM.match(text).groups()  # type: ignore[union-attr]
    cutoff = None if k is None else int(k)
    metric = METRICS["auc@k" if name == "auc" and cutoff else name]
    return Measure(text, name, cutoff, {**metric.options, **dict(_options(options))})


def _options(text: str | None) -> Iterator[tuple[str, Any]]:
    for part in (text or "").split(",") if text else ():
        name, _, value = part.partition("=")
        yield name, _typed(value)


def _typed(value: str) -> Any:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    return float(value) if re.fullmatch(r"[\d.]+", value) else value


def gain_of(grade: float, gain: str, least: float) -> float:
    """Return the gain of a grade."""
    if gain == "binary":
        return float(grade >= least)
    return grade if gain == "linear" else 2.0**grade - 1


def discount_of(rank: int, discount: str) -> float:
    """Return the weight of a rank."""
    if discount == "letor":
        return 1.0 if rank <= 2 else 1 / math.log2(rank)
    return 1 / math.log2(rank + 1)


def _gained(grades: Sequence[float], least: float, gain: str, discount: str) -> float:
    return math.fsum(
        gain_of(grade, gain, least) * discount_of(rank, discount)
        for rank, grade in enumerate(grades, 1)
    )


def _dcg(ranked: List, *, k: int | None, gain: str, discount: str) -> float:
    return _gained([e.grade for e in ranked.entries][:k], ranked.least, gain, discount)


def _ndcg(ranked: List, *, k: int | None, gain: str, discount: str, ideal: str) -> float:
    best = ranked.grades[:k]
    if ideal == "full":
        best = ranked.grades[:1] * (k or len(ranked.entries) or 1)
    return _dcg(ranked, k=k, gain=gain, discount=discount) / _gained(
        best, ranked.least, gain, discount
    )


def _err(ranked: List, *, k: int | None, max_grade: float) -> float:
    total, going_on = 0.0, 1.0
    for rank, entry in enumerate(ranked.entries[:k], 1):
        stop = (2.0**entry.grade - 1) / 2.0**max_grade
        total += going_on * stop / rank
        going_on *= 1 - stop
    return total


def _topk_loss(ranked: List, *, k: int) -> float:
    zeros = (0.0,) * k
    top = (*(e.grade for e in ranked.entries), *zeros)[:k]
    return float(top != (*ranked.grades, *zeros)[:k])


def _top_negatives(ranked: List, k: int, clip: bool) -> int:
    """Return the number of negatives of pap and pauc; 0 if they are undefined."""
    if ranked.n_neg is None or ranked.n_neg >= k:
        return k
    return ranked.n_neg if clip else 0


def _pairs(places: Sequence[tuple[Any, bool]], n_top: float, n_bottom: float) -> float:
    """Return the correct pairs of the best positives and negatives; a tied pair counts one half.

    `places` has the place of each item of a list, such as its rank, and whether it is positive.
    Items that are not in the list rank below all others.
    """
    below = [math.inf]
    positives = (sorted(p for p, hit in places if hit) + below * int(n_top))[: int(n_top)]
    negatives = (sorted(p for p, hit in places if not hit) + below * int(n_bottom))[: int(n_bottom)]
    return sum((p < n) + (p == n) / 2 for p in positives for n in negatives)


def pair_share(measure: Measure, ranked: List, places: Sequence[Any]) -> float:
    """Return a share of pairs, given the place of each item: a rank, or one for equal scores."""
    flags = [*zip(places, ranked.hits, strict=True)]
    if measure.name == "pauc2":
        return _two_way(flags, ranked, **measure.options)
    if measure.name == "auc":
        n_top, n_bottom = ranked.n_pos, ranked.n_neg or 0
    else:
        n_bottom = _top_negatives(ranked, measure.k or 0, measure.options["clip"])
        n_top = ranked.n_pos if measure.name == "pauc" else min(measure.k or 0, ranked.n_pos)
    return _pairs(flags, n_top, n_bottom) / (n_top * n_bottom)


def _two_way(
    places: Sequence[tuple[Any, bool]], ranked: List, *, alpha: float, beta: float
) -> float:
    """Return pauc2 of a list of all items: the worst positives against the best negatives."""
    n_worst, n_best = (1 - alpha) * ranked.n_pos, beta * (ranked.n_neg or 0)
    positives = enumerate(sorted((p for p, hit in places if hit), reverse=True))
    negatives = enumerate(sorted(p for p, hit in places if not hit))
    counted = [(n, min(max(n_best - i, 0), 1)) for i, n in negatives]
    correct = math.fsum(
        min(max(n_worst - i, 0), 1) * part * ((p < n) + (p == n) / 2)
        for i, p in positives
        for n, part in counted
    )
    return correct / (n_worst * n_best)


def _auc_at(ranked: List, *, k: int) -> float:
    top = ranked.hits[:k]
    n_pos, n_neg = top.count(True), top.count(False)
    return _pairs([*enumerate(top)], n_pos, n_neg) / (n_pos * n_neg) if n_pos and n_neg else NAN


def _precision(ranked: List, *, k: int, norm: str) -> float:
    return sum(ranked.hits[:k]) / _precision_divisor(ranked, k=k, norm=norm)


def _precision_divisor(ranked: List, *, k: int, norm: str) -> float:
    return {
        "k": k,
        "min": min(k, ranked.n_pos),
        "list": min(k, max(len(ranked.entries), 1)),
    }[norm]


def _recall(ranked: List, *, k: int | None, norm: str) -> float:
    return sum(ranked.hits[:k]) / _reachable(ranked, k=k, norm=norm)


def _reachable(ranked: List, *, k: int | None, norm: str) -> float:
    return min(k or math.inf, ranked.n_pos) if norm == "min" else ranked.n_pos


def _f1(ranked: List, *, k: int) -> float:
    return 2 * sum(ranked.hits[:k]) / (k + ranked.n_pos)


def _r_precision(ranked: List, *, k: None) -> float:
    return sum(ranked.hits[: ranked.n_pos]) / ranked.n_pos


def _hit_rate(ranked: List, *, k: int | None) -> float:
    return float(any(ranked.hits[:k]))


def _rr(ranked: List, *, k: int | None) -> float:
    return next((1 / rank for rank, hit in enumerate(ranked.hits[:k], 1) if hit), 0.0)


def _ap(ranked: List, *, k: int | None, norm: str) -> float:
    return ap_of([*range(1, len(ranked.entries) + 1)][:k], ranked, k=k, norm=norm)


def ap_of(ranks: Sequence[int], ranked: List, *, k: int | None, norm: str) -> float:
    """Return ap, given the rank of each item: under ties=threshold, the last one of its tie."""
    hits = ranked.hits
    at_hits = [
        sum(h for h, r in zip(hits, ranks, strict=False) if r <= rank) / rank
        for rank, hit in zip(ranks, hits, strict=False)
        if hit and rank <= (k or math.inf)
    ]
    divisor = max(len(at_hits), 1) if norm == "retrieved" else _reachable(ranked, k=k, norm=norm)
    return math.fsum(at_hits) / divisor


def _rbp(ranked: List, *, k: int | None, p: float) -> float:
    return math.fsum((1 - p) * p**i for i, hit in enumerate(ranked.hits[:k]) if hit)


def _bpref(ranked: List, *, k: None) -> float:
    n_pos, n_negatives = ranked.n_pos, ranked.n_judged - ranked.n_pos
    total, above = 0.0, 0
    for entry, hit in zip(ranked.entries, ranked.hits, strict=True):
        if hit:
            total += 1 - min(above, n_pos) / min(n_pos, n_negatives) if n_negatives else 1.0
        above += entry.judged and not hit
    return total / n_pos


def _judged(ranked: List, *, k: int) -> float:
    top = [entry.judged for entry in ranked.entries[:k]]
    return sum(top) / len(top) if top else NAN


def _pair_divisor(ranked: List, *, k: int, clip: bool) -> float:
    return min(k, ranked.n_pos) * _top_negatives(ranked, k, clip)


def _all_pairs(ranked: List, *, k: int, clip: bool) -> float:
    return ranked.n_pos * _top_negatives(ranked, k, clip)


def _auc_pairs(ranked: List, *, k: None) -> float:
    return ranked.n_pos * max(ranked.n_neg or 0, 0)


def _f1_divisor(ranked: List, *, k: int) -> float:
    return k + ranked.n_pos


_CLIP = {"clip": False}
_GAINS = {"gain": "linear", "discount": "log2"}
_FREE = (0.0, math.inf)
_SHOWN: dict[str, Any] = {"reads": "catalogue", "needs_positive": False}

METRICS: dict[str, Metric] = {
    "pap": Metric(None, _CLIP, average="pairs", divisor=_pair_divisor),
    "pauc": Metric(None, _CLIP, average="pairs", divisor=_all_pairs),
    "pauc2": Metric(None, {"alpha": 0.5, "beta": 0.5}, average="pairs"),
    "auc": Metric(average="pairs", divisor=_auc_pairs),
    "auc@k": Metric(_auc_at),
    "precision": Metric(_precision, {"norm": "k"}, average="orders", divisor=_precision_divisor),
    "recall": Metric(_recall, {"norm": "n_pos"}, average="orders", divisor=_reachable),
    "f1": Metric(_f1, average="orders", divisor=_f1_divisor),
    "r_precision": Metric(_r_precision, average="orders"),
    "hit_rate": Metric(_hit_rate),
    "rr": Metric(_rr),
    "ap": Metric(_ap, {"norm": "n_pos"}),
    "rbp": Metric(_rbp, {"p": 0.8}, average="orders"),
    "bpref": Metric(_bpref),
    "judged": Metric(_judged, needs_positive=False),
    "dcg": Metric(_dcg, _GAINS, graded=True, average="orders", bounds=_FREE),
    "ndcg": Metric(_ndcg, {**_GAINS, "ideal": "best"}, graded=True, average="orders"),
    "err": Metric(_err, {"max_grade": 4.0}, graded=True),
    "topk_loss": Metric(_topk_loss, graded=True, higher_is_better=False),
    "coverage": Metric(**_SHOWN, is_mean=False),
    "gini": Metric(**_SHOWN, is_mean=False, higher_is_better=False),
    "novelty": Metric(**_SHOWN, bounds=_FREE),
    "popularity": Metric(**_SHOWN, bounds=_FREE, higher_is_better=False),
    "diversity": Metric(reads="items", needs_positive=False, bounds=(0.0, 2.0)),
}
"""Every metric, by its name."""
