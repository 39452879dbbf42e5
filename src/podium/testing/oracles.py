"""Every metric by brute force, in plain Python that follows the definitions.

The code does not sort in place or stop early, and shares nothing with the metrics. A tie rule is
applied by enumerating all orders of equal scores, so that lists must be short (about six items).
Rational metrics are exact fractions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from podium.errors import ArgumentError, UnsettledError
from podium.types import Ties

Value: TypeAlias = Fraction | float | None
"""An exact or a floating value; None if the metric is undefined."""


@dataclass(frozen=True)
class Listing:
    """The list of one group, as given by the caller.

    Attributes
    ----------
    scores, relevance : one per item of the list
        The scores and relevances, in any order.
    item : one per item
        The ids, for ties="id".
    hidden : tuple of float
        The relevances > 0 of items that are not in the list.
    n_items : int or None
        The number of items to rank; None if it is unknown and the list may go on forever.
    min_relevance : float
        The relevance from which an item is positive.
    """

    scores: tuple[float, ...]
    relevance: tuple[float, ...]
    item: tuple[Any, ...] = ()
    hidden: tuple[float, ...] = ()
    n_items: int | None = None
    min_relevance: float = 1.0

    @property
    def grades(self) -> list[float]:
        """All relevances > 0, falling, including those of hidden items."""
        return sorted((r for r in self.relevance + self.hidden if r > 0), reverse=True)

    @property
    def n_pos(self) -> int:
        return sum(self.positive(r) for r in self.grades)

    @property
    def n_neg(self) -> int | None:
        return None if self.n_items is None else self.n_items - self.n_pos

    def positive(self, relevance: float) -> bool:
        """Return whether an item with this relevance is positive."""
        return relevance >= self.min_relevance


@dataclass(frozen=True)
class Ranked:
    """One order of a listing: its relevances from the top, and the listing itself."""

    top: tuple[float, ...]
    listing: Listing

    @property
    def flags(self) -> list[bool]:
        return [self.listing.positive(r) for r in self.top]


def brute_force(name: str, listing: Listing, ties: Ties = "worst", **arguments: Any) -> Value:
    """Return a metric of one list with a tie rule, by its definition.

    Parameters
    ----------
    name : str
        A name in `podium.metrics.REGISTRY`.
    listing : Listing
        A list of at most about six items, because all orders of equal scores are enumerated.
    ties : {"worst", "best", "average", "id"}
        The tie rule. "random" has no single value; see `all_values`.
    **arguments
        The cutoff k and all options of the metric.

    Returns
    -------
    Fraction, float or None
        The value; None if it is undefined.

    Raises
    ------
    UnsettledError
        If the value depends on how the list continues.

    Examples
    --------
    >>> brute_force("precision", Listing((2.0, 1.0), (1.0, 0.0)), k=2)
    Fraction(1, 2)
    """
    if definition(name).half_pairs and ties == "average" and listing.n_pos:
        return _settled(name, listing.relevance, listing.scores, listing, arguments)
    values = all_values(name, listing, ties, **arguments)
    return _mean(values) if ties == "average" else values[0]


def all_values(
    name: str, listing: Listing, ties: Ties = "average", **arguments: Any
) -> list[Value]:
    """Return a metric's values in all orders that a tie rule allows ("average": all orders)."""
    entry = definition(name)
    has_relevant = bool(listing.grades) if entry.graded else listing.n_pos > 0
    is_defined = has_relevant or not entry.needs_positive
    return [
        _value(name, ranked, arguments) if is_defined else None for ranked in orders(listing, ties)
    ]


def orders(listing: Listing, ties: Ties) -> Iterator[Ranked]:
    """Yield the orders that a tie rule allows: all orders for "average", else one.

    Of two items with equal scores, "worst" puts the less relevant one first, "best" the more
    relevant one, and "id" the one with the greater id.
    """
    rows = range(len(listing.scores))
    blocks = [
        [i for i in rows if listing.scores[i] == s] for s in sorted(set(listing.scores))[::-1]
    ]
    if ties == "average":
        choices = itertools.product(*map(itertools.permutations, blocks))
        # Each distinct order arises equally often, from exchanges of items of equal relevance.
        yield from dict.fromkeys(_ranked(listing, itertools.chain(*choice)) for choice in choices)
        return
    keys: dict[str, Callable[[int], Any]] = {
        "worst": lambda i: listing.relevance[i],
        "best": lambda i: -listing.relevance[i],
        "id": lambda i: -sorted(map(str, listing.item)).index(str(listing.item[i])),
    }
    yield _ranked(listing, (i for block in blocks for i in sorted(block, key=keys[ties])))


def _ranked(listing: Listing, rows: Iterable[int]) -> Ranked:
    return Ranked(tuple(listing.relevance[i] for i in rows), listing)


def _value(name: str, ranked: Ranked, arguments: dict[str, Any]) -> Value:
    if not definition(name).half_pairs:
        return definition(name).function(ranked, **arguments)
    n = len(ranked.top)
    return _settled(name, ranked.top, [float(n - i) for i in range(n)], ranked.listing, arguments)


def _mean(values: Sequence[Value]) -> Value:
    if None in values:
        return None
    return sum(v for v in values if v is not None) / len(values)


# --- Pairs: sums over pairs of a positive and a negative, of whole lists -------------------------


@dataclass(frozen=True)
class Scored:
    """A whole list in the paper's form: the scores of positives and of negatives."""

    positives: tuple[float, ...]
    negatives: tuple[float, ...]
    endless: bool

    def top(self, n_positives: int, n_negatives: int) -> Fraction:
        """Sum over pairs of best positives and negatives: 1 if in order, 1/2 if tied."""
        top_positives = sorted(self.positives)[::-1][:n_positives]
        top_negatives = sorted(self.negatives)[::-1][:n_negatives]
        return sum(
            (_credit(s, t) for s, t in itertools.product(top_positives, top_negatives)),
            start=Fraction(0),
        )


def _credit(s: float, t: float) -> Fraction:
    return Fraction(1) if s > t else Fraction(1, 2) if s == t else Fraction(0)


def _settled(
    name: str,
    relevance: Sequence[float],
    scores: Sequence[float],
    listing: Listing,
    arguments: dict[str, Any],
) -> Value:
    """Return the value if it does not depend on how the list continues, else raise."""
    function = definition(name).function
    lists = _completions(relevance, scores, listing, arguments.get("k", 1))
    values = {function(full_list, **arguments) for full_list in lists}
    if len(values) > 1:
        raise UnsettledError(f"the value may be any of {', '.join(sorted(map(str, values)))}")
    return values.pop()


def _completions(
    relevance: Sequence[float], scores: Sequence[float], listing: Listing, k: int
) -> Iterator[Scored]:
    """Yield all possible continuations of a list below its end, with distinct scores."""
    n_hidden = sum(listing.positive(r) for r in listing.hidden)
    # An endless list continues with at least the k negatives that can affect a metric.
    n_other = k if listing.n_items is None else listing.n_items - len(scores) - n_hidden
    below = [min(scores, default=0.0) - 1.0 - i for i in range(n_hidden + n_other)]
    listed = list(zip(scores, map(listing.positive, relevance), strict=True))
    for places in itertools.combinations(below, n_hidden):
        yield Scored(
            positives=tuple(s for s, positive in listed if positive) + places,
            negatives=tuple(s for s, positive in listed if not positive)
            + tuple(s for s in below if s not in places),
            endless=listing.n_items is None,
        )


def _pairs(scored: Scored, n_positives: int, k: int, clip: bool) -> Value:
    n_neg = len(scored.negatives)
    if n_neg < k and not (clip and n_neg > 0):
        return None
    n_top = min(k, n_neg)
    return scored.top(n_positives, n_top) / (n_positives * n_top)


def _pap(scored: Scored, *, k: int, clip: bool) -> Value:
    return _pairs(scored, min(k, len(scored.positives)), k, clip)


def _pauc(scored: Scored, *, k: int, clip: bool) -> Value:
    return _pairs(scored, len(scored.positives), k, clip)


def _auc(scored: Scored) -> Value:
    if scored.endless:
        raise UnsettledError("the number of negatives is unknown")
    n_pos, n_neg = len(scored.positives), len(scored.negatives)
    return scored.top(n_pos, n_neg) / (n_pos * n_neg) if n_neg else None


def _pauc2(scored: Scored, *, alpha: float, beta: float) -> Value:
    if scored.endless:
        raise UnsettledError("the number of negatives is unknown")
    n_pos, n_neg = len(scored.positives), len(scored.negatives)
    lowest, top = (1 - Fraction(alpha)) * n_pos, Fraction(beta) * n_neg
    if not top:
        return None
    positives = _counted(sorted(scored.positives), lowest)
    negatives = _counted(sorted(scored.negatives)[::-1], top)
    correct = [p * q * _credit(s, t) for (s, p), (t, q) in itertools.product(positives, negatives)]
    return sum(correct, start=Fraction(0)) / (lowest * top)


def _counted(scores: Sequence[float], number: Fraction) -> list[tuple[float, Fraction]]:
    """Return the first scores with the part of each that counts, in all this number."""
    parts = (min(max(number - i, Fraction(0)), Fraction(1)) for i in range(len(scores)))
    return list(zip(scores, parts, strict=True))


# --- Ranks: sums over the ranks of the given list ------------------------------------------------


def _auc_at(ranked: Ranked, *, k: int) -> Value:
    if k < 2 or ranked.listing.n_items == ranked.listing.n_pos:
        return None  # no list has a positive and a negative in the top k
    if len(ranked.top) < k and len(ranked.top) != ranked.listing.n_items:
        raise UnsettledError(f"fewer than {k} items")
    flags = ranked.flags[:k]
    above = [a and not b for a, b in itertools.combinations(flags, 2)]
    n_pos, n_neg = flags.count(True), flags.count(False)
    return Fraction(above.count(True), n_pos * n_neg) if n_pos and n_neg else None


def _precision(ranked: Ranked, *, k: int, norm: str = "k") -> Value:
    divisors = {"k": k, "min": min(k, ranked.listing.n_pos), "list": min(k, len(ranked.top)) or 1}
    return Fraction(ranked.flags[:k].count(True), divisors[norm])


def _f1(ranked: Ranked, *, k: int) -> Value:
    p, r = _precision(ranked, k=k), _recall(ranked, k=k, norm="n_pos")
    return Fraction() if not p or not r else 2 * p * r / (p + r)


def _bpref(ranked: Ranked) -> Value:
    flags, n_pos = ranked.flags, ranked.listing.n_pos
    hidden = (r for r in ranked.listing.hidden if r > 0)
    n_neg = flags.count(False) + sum(not ranked.listing.positive(r) for r in hidden)
    above = [flags[:i].count(False) for i, flag in enumerate(flags) if flag]
    return (
        sum(
            (1 - Fraction(min(n, n_pos), min(n_pos, n_neg)) if n else Fraction(1) for n in above),
            start=Fraction(),
        )
        / n_pos
    )


def _judged(ranked: Ranked, *, k: int) -> Value:
    return Fraction(1) if ranked.top[:k] else None


def _reachable(ranked: Ranked, k: int | None, norm: str) -> int:
    n_pos = ranked.listing.n_pos
    return n_pos if k is None or norm == "n_pos" else min(k, n_pos)


def _recall(ranked: Ranked, *, k: int | None, norm: str) -> Value:
    return Fraction(ranked.flags[:k].count(True), _reachable(ranked, k, norm))


def _r_precision(ranked: Ranked) -> Value:
    return _precision(ranked, k=ranked.listing.n_pos)


def _hit_rate(ranked: Ranked, *, k: int | None) -> Value:
    return Fraction(any(ranked.flags[:k]))


def _rr(ranked: Ranked, *, k: int | None) -> Value:
    return max((Fraction(1, r) for r, f in enumerate(ranked.flags[:k], 1) if f), default=Fraction())


def _ap(ranked: Ranked, *, k: int | None, norm: str) -> Value:
    top = ranked.flags[:k]
    at_hits = [Fraction(sum(top[:rank]), rank) for rank, hit in enumerate(top, 1) if hit]
    divisor = max(len(at_hits), 1) if norm == "retrieved" else _reachable(ranked, k, norm)
    return sum(at_hits, start=Fraction()) / divisor


def _rbp(ranked: Ranked, *, k: int | None, p: float) -> Value:
    return sum((1 - p) * p**i for i, hit in enumerate(ranked.flags[:k]) if hit)


def _dcg(ranked: Ranked, *, k: int | None, gain: str, discount: str) -> Value:
    if gain == "binary" and not ranked.listing.n_pos:
        return None
    total = 0.0
    for rank, relevance in enumerate(ranked.top[:k], 1):
        gain_value = 2**relevance - 1 if gain == "exp2" else relevance
        if gain == "binary":
            gain_value = float(ranked.listing.positive(relevance))
        if discount == "log2":
            total += gain_value / math.log2(rank + 1)
        else:
            total += gain_value if rank <= 2 else gain_value / math.log2(rank)
    return total


def _ndcg(ranked: Ranked, *, ideal: str, k: int | None, **arguments: Any) -> Value:
    grades = tuple(ranked.listing.grades)
    if ideal == "full":
        grades = grades[:1] * (k or len(ranked.top) or 1)
    value = _dcg(ranked, k=k, **arguments)
    best = _dcg(Ranked(grades, ranked.listing), k=k, **arguments)
    return None if value is None or not best else value / best


def _err(ranked: Ranked, *, k: int | None, max_grade: float) -> Value:
    total = 0.0
    for rank, relevance in enumerate(ranked.top[:k], 1):
        p_reached = math.prod(1 - (2**r - 1) / 2**max_grade for r in ranked.top[: rank - 1])
        total += p_reached * (2**relevance - 1) / 2**max_grade / rank
    return total


def _topk_loss(ranked: Ranked, *, k: int) -> Value:
    zeros = (0.0,) * k
    best = (*ranked.listing.grades, *zeros)[:k]
    return Fraction((*ranked.top, *zeros)[:k] != best)


@dataclass(frozen=True)
class Definition:
    """A metric's function of a `Ranked` list, or of a `Scored` list for `half_pairs`."""

    function: Callable[..., Value]
    graded: bool = False
    half_pairs: bool = False
    needs_positive: bool = True


DEFINITIONS: dict[str, Definition] = {
    "pap": Definition(_pap, half_pairs=True),
    "pauc": Definition(_pauc, half_pairs=True),
    "pauc2": Definition(_pauc2, half_pairs=True),
    "auc": Definition(_auc, half_pairs=True),
    "auc@k": Definition(_auc_at),
    "precision": Definition(_precision),
    "recall": Definition(_recall),
    "r_precision": Definition(_r_precision),
    "f1": Definition(_f1),
    "bpref": Definition(_bpref),
    "judged": Definition(_judged, needs_positive=False),
    "hit_rate": Definition(_hit_rate),
    "rr": Definition(_rr),
    "ap": Definition(_ap),
    "rbp": Definition(_rbp),
    "dcg": Definition(_dcg, graded=True),
    "ndcg": Definition(_ndcg, graded=True),
    "err": Definition(_err, graded=True),
    "topk_loss": Definition(_topk_loss, graded=True),
}
"""The brute-force definition of every metric, by its name in `podium.metrics.REGISTRY`."""


def definition(name: str) -> Definition:
    """Return a metric's definition; raise if it has none here."""
    if name not in DEFINITIONS:
        raise ArgumentError(f"{name} has no brute-force definition. Add it to DEFINITIONS.")
    return DEFINITIONS[name]
