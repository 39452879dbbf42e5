"""Wrong metrics as people have written them, re-implemented in plain Python, with their sources.

Each takes the ranked items of a query, its grades by item and k, and returns the query's value. The
mean over queries with a relevant item is the number, unless `mean` says otherwise. `KNOWN` was
written before the search of `podium.explain` was frozen, `LATER` after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

Ranked = Sequence[str]
Grades = Mapping[str, float]
Scored = list[tuple[str, float]]
Metric = Callable[[Ranked, Grades, int], float]


@dataclass
class Data:
    """Lists (item, score) in the order of the file, and grades, by query."""

    runs: dict[str, Scored]
    grades: dict[str, dict[str, float]]

    def ranked(self, query: str) -> list[str]:
        return [item for item, _ in sorted(self.runs.get(query, []), key=lambda pair: -pair[1])]

    def judged(self) -> list[str]:
        return [query for query, grades in self.grades.items() if max(grades.values()) > 0]


@dataclass
class Wrong:
    """A wrong metric: its right name, what is wrong, and the causes that say it, if any."""

    name: str
    measure: str
    value: Metric
    causes: str = ""
    mean: Callable[[Data, Wrong, int], float] | None = None
    change: Callable[[Data], Data] = lambda data: data
    seen: Callable[[Data], Data] = lambda data: data

    def numbers_of(self, data: Data, k: int) -> list[float]:
        return [self.value(data.ranked(q), data.grades[q], k) for q in data.judged()]

    def numbers(self, data: Data, k: int) -> tuple[float, dict[str, float]]:
        data = self.seen(data)
        users = {q: self.value(data.ranked(q), data.grades[q], k) for q in data.judged()}
        return (fmean(users.values()) if self.mean is None else self.mean(data, self, k)), users


def n_relevant(grades: Grades) -> int:
    return sum(grade >= 1 for grade in grades.values())


def hits(ranked: Ranked, grades: Grades, k: int) -> int:
    return sum(grades.get(item, 0) >= 1 for item in ranked[:k])


def dcg(gains: Sequence[float], shift: int = 1) -> float:
    return sum(gain / math.log2(rank + shift) for rank, gain in enumerate(gains, 1))


def gains(ranked: Ranked, grades: Grades, k: int) -> list[float]:
    return [grades.get(item, 0.0) for item in ranked[:k]]


def best(grades: Grades) -> list[float]:
    return sorted((grade for grade in grades.values() if grade > 0), reverse=True)


def over(one: float, other: float) -> float:
    return one / other if other else 0.0


def right_ndcg(ranked: Ranked, grades: Grades, k: int) -> float:
    return over(dcg(gains(ranked, grades, k)), dcg(best(grades)[:k]))


def right_recall(ranked: Ranked, grades: Grades, k: int) -> float:
    return over(hits(ranked, grades, k), n_relevant(grades))


def ndcg_of_top(ranked: Ranked, grades: Grades, k: int) -> float:
    """supermemoryai/memorybench#67, OpenBMB/ToolBench#184: the ideal is the sorted answer."""
    found = gains(ranked, grades, k)
    return over(dcg(found), dcg(sorted(found, reverse=True)))


def ndcg_of_list(ranked: Ranked, grades: Grades, k: int) -> float:
    """apache/spark#12461, discussion: the ideal is a re-ordering of the predictions."""
    whole = sorted(gains(ranked, grades, len(ranked)), reverse=True)
    return over(dcg(gains(ranked, grades, k)), dcg(whole[:k]))


def ndcg_uncut(ranked: Ranked, grades: Grades, k: int) -> float:
    """llama-index-core 0.14.25 and haystack-ai 3.4.1: the ideal has all expected items."""
    return over(dcg(gains(ranked, grades, k)), dcg(best(grades)))


def ndcg_letor_discount(ranked: Ranked, grades: Grades, k: int) -> float:
    """OpenAgentHQ/openagent-eval#223: log2(index + 1), and 1 at index 0."""
    weights = [1.0, *(1 / math.log2(i + 1) for i in range(1, max(k, len(grades)) + 1))]
    found, ideal = gains(ranked, grades, k), best(grades)[:k]
    pairs = [sum(g * w for g, w in zip(x, weights, strict=False)) for x in (found, ideal)]
    return over(*pairs)


def recall_as_hit(ranked: Ranked, grades: Grades, k: int) -> float:
    """supermemoryai/memorybench#67, TIGER-AI-Lab/UniIR#29: 1 with any hit."""
    return float(hits(ranked, grades, k) > 0)


def recall_capped(ranked: Ranked, grades: Grades, k: int) -> float:
    """joshuaswarren/remnic PR#698, review: divided by min(k, relevant)."""
    return over(hits(ranked, grades, k), min(k, n_relevant(grades)))


def precision_returned(ranked: Ranked, grades: Grades, k: int) -> float:
    """mlflow 3.17.2, llama-index-core 0.14.25: divided by what was returned."""
    return over(hits(ranked, grades, k), len(ranked[:k]))


def precisions(ranked: Ranked, grades: Grades, k: int) -> float:
    flags = [grades.get(item, 0) >= 1 for item in ranked[:k]]
    return sum(sum(flags[: i + 1]) / (i + 1) for i, flag in enumerate(flags) if flag)


def ap_of_hits(ranked: Ranked, grades: Grades, k: int) -> float:
    return over(precisions(ranked, grades, k), hits(ranked, grades, k))


def right_ap(ranked: Ranked, grades: Grades, k: int) -> float:
    return over(precisions(ranked, grades, k), n_relevant(grades))


def hit_ranks(ranked: Ranked, grades: Grades, k: int) -> list[int]:
    return [i for i, x in enumerate(ranked[:k], 1) if grades.get(x, 0) >= 1]


def first(ranked: Ranked, grades: Grades, k: int) -> int:
    return next(iter(hit_ranks(ranked, grades, k)), 0)


def right_rr(ranked: Ranked, grades: Grades, k: int) -> float:
    return over(1, first(ranked, grades, k))


def granular_rr(ranked: Ranked, grades: Grades, k: int) -> float:
    """llama-index-core 0.14.25, use_granular_mrr."""
    ranks = hit_ranks(ranked, grades, k)
    return fmean(1 / i for i in ranks) if ranks else 0.0


def right_f1(ranked: Ranked, grades: Grades, k: int) -> float:
    return 2 * hits(ranked, grades, k) / (k + n_relevant(grades))


def f_of_means(data: Data, wrong: Wrong, k: int) -> float:
    lists = [(data.ranked(q), data.grades[q]) for q in data.judged()]
    p = fmean(hits(x, g, k) / k for x, g in lists)
    r = fmean(right_recall(x, g, k) for x, g in lists)
    return 2 * p * r / (p + r)


def pooled_recall(data: Data, wrong: Wrong, k: int) -> float:
    found = sum(hits(data.ranked(q), data.grades[q], k) for q in data.judged())
    return found / sum(n_relevant(data.grades[q]) for q in data.judged())


def of_hit_users(data: Data, wrong: Wrong, k: int) -> float:
    values = wrong.numbers_of(data, k)
    return fmean(value for value in values if value > 0)


def of_all_users(data: Data, wrong: Wrong, k: int) -> float:
    values = wrong.numbers_of(data, k)
    return sum(values) / len(data.grades)


def of_answered(data: Data, wrong: Wrong, k: int) -> float:
    queries = [q for q in data.judged() if data.runs.get(q)]
    return fmean(wrong.value(data.ranked(q), data.grades[q], k) for q in queries)


def reversed_order(data: Data) -> Data:
    return Data({q: [(i, -s) for i, s in x] for q, x in data.runs.items()}, data.grades)


def file_order(data: Data) -> Data:
    lists = {q: [(i, -float(n)) for n, (i, _) in enumerate(x)] for q, x in data.runs.items()}
    return Data(lists, data.grades)


def with_twins(data: Data) -> Data:
    """Repeat every third item of each list below it."""
    lists = {
        q: [(i, s - c * 0.01) for n, (i, s) in enumerate(x) for c in range(1 + (n % 3 == 0))]
        for q, x in data.runs.items()
    }
    return Data(lists, data.grades)


def binary(value: Metric, least: float = 1) -> Metric:
    """Return a metric of grades that count 1 from a least one."""
    return lambda ranked, grades, k: value(
        ranked, {item: float(grade >= least) for item, grade in grades.items()}, k
    )


def exponential(value: Metric) -> Metric:
    """Return a metric of exponential gains."""
    return lambda r, g, k: value(r, {item: 2**grade - 1 for item, grade in g.items()}, k)


def condensed(value: Metric) -> Metric:
    """Return a metric of lists without items that lack a judgement."""
    return lambda ranked, grades, k: value([i for i in ranked if i in grades], grades, k)


def renamed(name: Callable[[int, str], str]) -> Callable[[Data], Data]:
    """Return a change of the ids in lists, given their position."""
    return lambda data: Data(
        {q: [(name(n, i), s) for n, (i, s) in enumerate(x)] for q, x in data.runs.items()},
        data.grades,
    )


def spelt(
    name: str, measure: str, value: Metric, cause: str, *names: Callable[[int, str], str]
) -> Wrong:
    """Return a program that reads other ids than the lists have."""
    return Wrong(name, measure, value, cause, None, *map(renamed, names))


def ideal(best_gains: Callable[[Ranked, Grades, int], list[float]], shift: int = 1) -> Metric:
    """Return ndcg with another ideal list."""
    return lambda r, g, k: over(dcg(gains(r, g, k)), dcg(best_gains(r, g, k), shift))


def one_less(value: Metric) -> Metric:
    return lambda ranked, grades, k: value(ranked, grades, k - 1)


def weighed(weight: Callable[[int], float]) -> Any:
    def ndcg(ranked: Ranked, grades: Grades, k: int) -> float:
        lists = gains(ranked, grades, k), best(grades)[:k]
        return over(*(sum(g * weight(i) for i, g in enumerate(x, 1)) for x in lists))

    return ndcg


KNOWN = [
    Wrong("haystack#11959: duplicates", "ndcg", right_ndcg, "duplicates-twice", None, with_twins),
    Wrong("ideal of the top k", "ndcg", ndcg_of_top, "ideal-of-top-k"),
    Wrong("ideal of the list", "ndcg", ndcg_of_list, "ideal-of-list unretrieved"),
    Wrong(
        *("llama_index PR#17126", "ndcg"),
        ideal(lambda r, g, k: [1.0] * len(r[:k])),
        "ideal-of-length-ones",
    ),
    Wrong("haystack", "ndcg", ndcg_uncut, "ideal-not-cut binary-ideal-not-cut"),
    Wrong("llama_index", "ndcg", binary(ndcg_uncut), "ideal-not-cut binary-ideal-not-cut"),
    Wrong(
        *("mlflow#24541, elasticsearch#154362", "ndcg"),
        ideal(lambda r, g, k: best(g)[: len(r[:k])]),
        "ideal-cut-at-length",
    ),
    Wrong("openagent-eval#223", "ndcg", ndcg_letor_discount, "discount"),
    Wrong(
        *("yihong-chen/neural-collaborative-filtering#2", "ndcg"),
        lambda r, g, k: over(dcg(gains(r, g, k), 2), dcg(best(g)[:k], 2)),
        "discount-shifted",
    ),
    Wrong(
        *("late in the list", "ndcg"),
        lambda r, g, k: over(dcg(gains(r, g, k), 2), dcg(best(g)[:k])),
        "discount-shifted-in-list",
    ),
    Wrong(
        *("kind of rapidfireai#261", "ndcg"),
        ideal(lambda r, g, k: [2**x - 1 for x in best(g)[:k]]),
        "ideal-gain-exp2",
    ),
    Wrong(
        *("mongodb/chatbot#555", "ndcg"),
        lambda r, g, k: dcg(gains(r, g, k)) / dcg([1.0] * k),
        "ideal-of-k-ones",
    ),
    Wrong(
        *("search-relevance#191", "ndcg"),
        exponential(ideal(lambda r, g, k: [1.0] * min(k, n_relevant(g)))),
        "ideal-of-ones ideal-gain-binary",
    ),
    Wrong("memorybench#67", "recall", recall_as_hit, "as-hit_rate"),
    Wrong(
        *("memorybench#67, F1", "f1"),
        lambda r, g, k: over(2 * hits(r, g, k), hits(r, g, k) + len(r[:k])),
        "f1-with-recall-of-1",
    ),
    Wrong(
        *("MemPalace#29", "recall"),
        lambda r, g, k: over(hits(r, g, len(r)), n_relevant(g)),
        "cutoff-none",
    ),
    Wrong("precision for recall", "recall", lambda r, g, k: hits(r, g, k) / k, "as-precision"),
    Wrong("recall capped", "recall", recall_capped, "norm"),
    Wrong("precision of the returned", "precision", precision_returned, "norm"),
    Wrong("AP over hits", "ap", ap_of_hits, "norm"),
    Wrong("AP over k", "ap", lambda r, g, k: precisions(r, g, k) / k, "ap-over-k"),
    Wrong(
        *("rank + 1", "rr"),
        lambda r, g, k: 1 / (first(r, g, k) + 1) if first(r, g, k) else 0.0,
        "rr-next-rank",
    ),
    Wrong("granular MRR", "rr", granular_rr, "rr-mean-of-hits"),
    Wrong("granular hit rate", "hit_rate", right_recall, "as-recall"),
    Wrong("F of means", "f1", right_f1, "f1-of-means", f_of_means),
    Wrong("pooled recall", "recall", right_recall, "pooled", pooled_recall),
    Wrong("users with a hit", "rr", right_rr, "users-with-a-hit", of_hit_users),
    Wrong("users without positives", "ap", right_ap, "undefined", of_all_users),
    Wrong("empty answers", "recall", right_recall, "missing empty-lists-left-out", of_answered),
    Wrong("distances", "ndcg", right_ndcg, "order-reversed", seen=reversed_order),
    Wrong("order of the file", "rr", right_rr, "order-of-file", seen=file_order),
    spelt(
        *("ids in another case", "recall", right_recall, "ids-without-case"),
        lambda n, i: i.upper() if n % 2 else i,
        lambda n, i: i.lower(),
    ),
    Wrong("k - 1", "ap", one_less(right_ap), "cutoff-k-minus-1"),
    Wrong("rapidfireai#261", "ndcg", lambda r, g, k: binary(right_ndcg)(r, g, k) / 3),
    Wrong("square roots", "ndcg", weighed(lambda rank: rank**-0.5), "discount-root"),
    Wrong("slow discount", "ndcg", weighed(lambda rank: 1 / (1 + math.log(rank)))),
    Wrong("squared ranks", "rr", lambda r, g, k: right_rr(r, g, k) ** 2),
    Wrong("F2", "f1", lambda r, g, k: over(5 * hits(r, g, k), 4 * n_relevant(g) + k), "f2"),
    Wrong("half of the list", "recall", lambda r, g, k: right_recall(r[::2], g, k)),
    Wrong("top two only", "ap", lambda r, g, k: right_ap(r, dict([*g.items()][:9]), k)),
    Wrong(
        *("first 80 %", "ndcg", right_ndcg),
        mean=lambda d, w, k: fmean(w.numbers_of(d, k)[: len(d.judged()) * 4 // 5]),
    ),
    Wrong(
        *("geometric mean", "recall", right_recall),
        mean=lambda d, w, k: math.expm1(fmean(math.log1p(v) for v in w.numbers_of(d, k))),
    ),
    Wrong("blend", "ndcg", lambda r, g, k: (right_ndcg(r, g, k) + right_rr(r, g, k)) / 2),
]


# --- Written after the search was frozen ----------------------------------------------------------


def ndcg_log_e(ranked: Ranked, grades: Grades, k: int) -> float:
    """hexiangnan/neural_collaborative_filtering#63, in the list alone."""
    found = sum(g / math.log(i + 1) for i, g in enumerate(gains(ranked, grades, k), 1))
    return over(found, dcg(best(grades)[:k]))


def once(data: Data) -> Data:
    """Keep the best row of each item."""
    lists: dict[str, Scored] = {}
    for q, x in data.runs.items():
        ordered = sorted(x, key=lambda pair: -pair[1])
        lists[q] = [p for n, p in enumerate(ordered) if p[0] not in {i for i, _ in ordered[:n]}]
    return Data(lists, data.grades)


def swapped(data: Data) -> Data:
    """Exchange the two best items of every fourth list."""
    lists: dict[str, Scored] = {}
    for n, (q, x) in enumerate(data.runs.items()):
        ordered = sorted(x, key=lambda pair: -pair[1])
        if n % 4 == 0 and len(ordered) > 1:
            (a, s), (b, t) = ordered[:2]
            ordered[:2] = [(b, s), (a, t)]
        lists[q] = ordered
    return Data(lists, data.grades)


def forgetful(value: Metric) -> Metric:
    """Return a metric that lacks the first judgement of each query."""
    return lambda ranked, grades, k: value(ranked, dict(list(grades.items())[1:]), k)


def dcgs(data: Data, k: int) -> list[float]:
    return [dcg(gains(data.ranked(q), data.grades[q], k)) for q in data.judged()]


def pooled_ndcg(data: Data, wrong: Wrong, k: int) -> float:
    return sum(dcgs(data, k)) / sum(dcg(best(data.grades[q])[:k]) for q in data.judged())


def trimmed_mean(data: Data, wrong: Wrong, k: int) -> float:
    values = sorted(wrong.numbers_of(data, k))
    return fmean(values[len(values) // 10 : len(values) - len(values) // 10])


LATER = [
    Wrong("ones for hits", "ndcg", ideal(lambda r, g, k: [1.0] * hits(r, g, k)), "ideal-of-hits"),
    Wrong("exponential, not cut", "ndcg", exponential(ndcg_uncut), "ideal-not-cut"),
    Wrong("exponential, LETOR", "ndcg", exponential(ndcg_letor_discount), "gain discount"),
    Wrong("natural logarithm", "ndcg", ndcg_log_e, "discount-natural-in-list"),
    Wrong(
        *("natural logarithm, DCG", "dcg"),
        lambda r, g, k: sum(x / math.log(i + 1) for i, x in enumerate(gains(r, g, k), 1)),
        "discount-natural",
    ),
    Wrong("no discount", "ndcg", weighed(lambda rank: 1.0), "discount-none"),
    Wrong("reciprocal discount", "ndcg", weighed(lambda rank: 1 / rank), "discount-reciprocal"),
    Wrong("pooled", "ndcg", right_ndcg, "sums-pooled", pooled_ndcg),
    Wrong(
        *("mozilla/bugbug PR#719", "ap"),
        lambda r, g, k: over(precisions(r, g, k), min(k, n_relevant(g))),
        "norm",
    ),
    Wrong(
        *("mean precision", "ap"),
        lambda r, g, k: fmean(hits(r, g, i) / i for i in range(1, k + 1)),
        "ap-of-all-k-ranks",
    ),
    Wrong("condensed", "ap", condensed(right_ap), "unjudged"),
    Wrong(
        *("guarded index", "rr"),
        lambda r, g, k: 1 / max(first(r, g, k) - 1, 1) if first(r, g, k) else 0.0,
        "rr-from-0",
    ),
    Wrong(
        *("sum of reciprocals", "rr"),
        lambda r, g, k: sum(1 / i for i in hit_ranks(r, g, k)),
        "rr-sum-of-hits",
    ),
    Wrong("no cutoff", "rr", lambda r, g, k: right_rr(r, g, len(r) or 1), "cutoff-none"),
    Wrong(
        *("row per positive", "rr", right_rr, "weighted-by-positives"),
        mean=lambda d, w, k: fmean(
            w.numbers_of(d, k), [n_relevant(d.grades[q]) for q in d.judged()]
        ),
    ),
    Wrong("k + 1", "recall", lambda r, g, k: right_recall(r, g, k + 1), "cutoff-k-plus-1"),
    Wrong(
        "from index 1", "recall", lambda r, g, k: right_recall(r[1:], g, k), "first-rank-removed"
    ),
    Wrong("higher threshold", "recall", binary(right_recall, 2), "min_relevance"),
    Wrong(
        *("grades summed", "recall"),
        lambda r, g, k: over(sum(gains(r, g, k)), sum(best(g))),
        "grades-summed",
    ),
    Wrong("median", "recall", right_recall, "median", lambda d, w, k: median(w.numbers_of(d, k))),
    Wrong(
        *("no positives: 1", "recall", right_recall, "undefined"),
        mean=lambda d, w, k: (
            (sum(w.numbers_of(d, k)) + len(d.grades) - len(d.judged())) / len(d.grades)
        ),
    ),
    Wrong("recall for precision", "precision", right_recall, "as-recall"),
    Wrong("another cutoff", "ndcg", lambda r, g, k: right_ndcg(r, g, 3), "cutoff-3"),
    Wrong("ranks as scores", "ap", right_ap, "order-reversed", seen=reversed_order),
    spelt(
        *("blanks", "ndcg", right_ndcg, "ids-trimmed"),
        lambda n, i: i + " " * (n % 2),
        lambda n, i: i.strip(),
    ),
    spelt(
        *("full-width digits", "ap", right_ap, "ids-normalized"),
        lambda n, i: i.replace("1", "\uff11"),
        lambda n, i: i.replace("\uff11", "1"),
    ),
    spelt(
        *("chunks", "recall", right_recall, "chunks-as-documents"),
        lambda n, i: f"{i}#{n}",
        lambda n, i: i.partition("#")[0],
    ),
    Wrong("each item once", "ndcg", right_ndcg, "duplicates-first", None, with_twins, once),
    Wrong(
        *("decimal in the list", "ndcg"),
        lambda r, g, k: ndcg_log_e(r, g, k) * math.log(10),
        "discount-decimal-in-list",
    ),
    Wrong("root of ranks", "rr", lambda r, g, k: right_rr(r, g, k) ** 0.5),
    Wrong(
        *("smoothed recall", "recall"),
        lambda r, g, k: hits(r, g, k) / (n_relevant(g) + 1),
        "hits-over-positives-plus-1",
    ),
    Wrong("smoothed precision", "precision", lambda r, g, k: (hits(r, g, k) + 1) / (k + 2)),
    Wrong(
        *("nine of ten", "ndcg", right_ndcg),
        mean=lambda d, w, k: fmean(v for n, v in enumerate(w.numbers_of(d, k)) if n % 10),
    ),
    Wrong("trimmed mean", "ap", right_ap, "", trimmed_mean),
    Wrong(
        *("over the best user", "ndcg", right_ndcg),
        mean=lambda d, w, k: fmean(dcgs(d, k)) / max(dcgs(d, k)),
    ),
    Wrong("swapped", "rr", right_rr, "", seen=swapped),
    Wrong("a judgement less", "ndcg", forgetful(right_ndcg)),
    Wrong("two in one", "ap", lambda r, g, k: (right_ap(r, g, k) + right_recall(r, g, k)) / 2),
]


# --- Written after the second half had been measured, and the chance of two numbers mended --------

FRESH = [
    Wrong("cube", "rr", lambda r, g, k: right_rr(r, g, k) ** 3),
    Wrong("log of rank + 2", "ndcg", weighed(lambda rank: 1 / math.log10(rank + 9))),
    Wrong("halves", "precision", lambda r, g, k: hits(r, g, k) / (2 * k), "hits-over-twice-k"),
    Wrong("k + 3", "ndcg", lambda r, g, k: right_ndcg(r, g, k + 3)),
    Wrong(
        *("last query twice", "ndcg", right_ndcg),
        mean=lambda d, w, k: fmean([*w.numbers_of(d, k), w.numbers_of(d, k)[-1]]),
    ),
    Wrong("from the third", "recall", lambda r, g, k: right_recall(r[2:], g, k)),
    Wrong(
        *("two of three queries", "ap", right_ap),
        mean=lambda d, w, k: fmean(v for n, v in enumerate(w.numbers_of(d, k)) if n % 3),
    ),
    Wrong("maximum", "rr", lambda r, g, k: max(right_rr(r, g, k), right_recall(r, g, k))),
    Wrong(
        *("mean of k and k - 2", "ndcg"),
        lambda r, g, k: fmean(right_ndcg(r, g, c) for c in (k, k - 2)),
    ),
    Wrong(
        *("squares of grades", "ndcg"),
        lambda r, g, k: right_ndcg(r, {i: x * x for i, x in g.items()}, k),
        "gain-squared",
    ),
    Wrong("AP over k + 1", "ap", lambda r, g, k: precisions(r, g, k) / (k + 1)),
    Wrong(
        *("F1 over the list", "f1"),
        lambda r, g, k: over(2 * hits(r, g, k), len(r) + n_relevant(g)),
    ),
]


# --- Written after the search had been made anew --------------------------------------------------


def micro_f1(data: Data, wrong: Wrong, k: int) -> float:
    n_hits = sum(hits(data.ranked(q), data.grades[q], k) for q in data.judged())
    return 2 * n_hits / sum(k + n_relevant(data.grades[q]) for q in data.judged())


def rescored(change: Callable[[float], float]) -> Callable[[Data], Data]:
    return lambda data: Data(
        {q: [(i, change(s)) for i, s in x] for q, x in data.runs.items()}, data.grades
    )


NEWEST = [
    Wrong("over hits, of all users", "ap", ap_of_hits, "norm undefined", of_all_users),
    Wrong("returned, of answered", "precision", precision_returned, "norm", of_answered),
    Wrong("hit of a high grade", "hit_rate", binary(recall_as_hit, 2), "min_relevance"),
    Wrong("exponential, top k", "ndcg", exponential(ndcg_of_top), "ideal-of-top-k"),
    Wrong("capped, users with a hit", "recall", recall_capped, "norm", of_hit_users),
    Wrong(
        *("binary, late ideal", "ndcg"),
        binary(ideal(lambda r, g, k: best(g)[:k], 2)),
        "discount-shifted-in-ideal",
    ),
    Wrong("of answered", "rr", right_rr, "missing empty-lists-left-out", of_answered),
    Wrong(
        "condensed, over k", "ap", condensed(lambda r, g, k: precisions(r, g, k) / k), "ap-over-k"
    ),
    Wrong("micro F1", "f1", right_f1, "pooled", micro_f1),
    Wrong(
        *("over k, cut at k - 1", "precision"),
        lambda r, g, k: hits(r, g, k - 1) / k,
        "list-cut-at-k-minus-1",
    ),
    Wrong("best grade", "ndcg", ideal(lambda r, g, k: [max(g.values())] * k)),
    Wrong(
        *("rank of the best item", "rr"),
        lambda r, g, k: binary(right_rr, max(g.values()))(r, g, k),
    ),
    Wrong(
        *("precision of ranks", "precision"),
        lambda r, g, k: dcg([float(x >= 1) for x in gains(r, g, k)]) / k,
    ),
    Wrong("whole scores", "ndcg", right_ndcg, "", seen=rescored(round)),
    Wrong("sizes of scores", "recall", right_recall, "", seen=rescored(abs)),
    Wrong(
        *("by length", "ap", right_ap),
        mean=lambda d, w, k: fmean(w.numbers_of(d, k), [len(d.ranked(q)) for q in d.judged()]),
    ),
]


# --- Written after the scopes of changes and the share of a determined answer had been mended -----

LAST = [
    Wrong("binary, natural", "ndcg", binary(ndcg_log_e), "discount-natural-in-list"),
    Wrong(
        *("over those returned", "recall"),
        lambda r, g, k: over(hits(r, g, k), hits(r, g, len(r))),
        "unretrieved",
    ),
    Wrong(
        *("exponential, ones", "ndcg"),
        lambda r, g, k: over(dcg([2**x - 1 for x in gains(r, g, k)]), dcg([1.0] * len(r[:k]))),
        "ideal-of-length-ones",
    ),
    Wrong("hits of answered", "hit_rate", recall_as_hit, "missing", of_answered),
    Wrong("LETOR of all users", "ndcg", ndcg_letor_discount, "discount", of_all_users),
    Wrong("rank below k", "rr", one_less(right_rr), "cutoff-k-minus-1"),
    Wrong("second hit", "rr", lambda r, g, k: over(1, [*hit_ranks(r, g, k), 0, 0][1])),
    Wrong("over all judged", "ap", lambda r, g, k: precisions(r, g, k) / len(g)),
    Wrong("share of 3 k", "precision", lambda r, g, k: sum(gains(r, g, k)) / (3 * k)),
    Wrong(
        *("capped F1", "f1"), lambda r, g, k: 2 * hits(r, g, k) / (k + min(k, n_relevant(g))), ""
    ),
]
