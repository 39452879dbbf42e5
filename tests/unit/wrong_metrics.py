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
    """A wrong metric: its right name, what is wrong, and names of causes that say it."""

    name: str
    measure: str
    value: Metric
    causes: tuple[str, ...]
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


def ndcg_of_length(ranked: Ranked, grades: Grades, k: int) -> float:
    """run-llama/llama_index#17070, PR#17126: the ideal has a one for each retrieved item."""
    return over(dcg(gains(ranked, grades, k)), dcg([1.0] * min(k, len(ranked))))


def ndcg_uncut(ranked: Ranked, grades: Grades, k: int) -> float:
    """llama-index-core 0.14.25 and haystack-ai 3.4.1: the ideal has all expected items."""
    return over(dcg(gains(ranked, grades, k)), dcg(best(grades)))


def ndcg_uncut_binary(ranked: Ranked, grades: Grades, k: int) -> float:
    """llama-index-core 0.14.25 with grades: they count 1."""
    flags = {item: float(grade >= 1) for item, grade in grades.items()}
    return ndcg_uncut(ranked, flags, k)


def ndcg_short_ideal(ranked: Ranked, grades: Grades, k: int) -> float:
    """mlflow/mlflow#24541, elastic/elasticsearch#154362: the ideal is cut at the list's length."""
    return over(dcg(gains(ranked, grades, k)), dcg(best(grades)[: min(k, len(ranked))]))


def ndcg_letor_discount(ranked: Ranked, grades: Grades, k: int) -> float:
    """OpenAgentHQ/openagent-eval#223: log2(index + 1), and 1 at index 0."""
    weights = [1.0, *(1 / math.log2(i + 1) for i in range(1, max(k, len(grades)) + 1))]
    found, ideal = gains(ranked, grades, k), best(grades)[:k]
    pairs = [sum(g * w for g, w in zip(x, weights, strict=False)) for x in (found, ideal)]
    return over(*pairs)


def ndcg_late_discount(ranked: Ranked, grades: Grades, k: int) -> float:
    """yihong-chen/neural-collaborative-filtering#2: log2(rank + 2) with ranks from 1."""
    return over(dcg(gains(ranked, grades, k), 2), dcg(best(grades)[:k], 2))


def ndcg_late_in_list(ranked: Ranked, grades: Grades, k: int) -> float:
    """The same in the list alone."""
    return over(dcg(gains(ranked, grades, k), 2), dcg(best(grades)[:k]))


def ndcg_other_ideal_gain(ranked: Ranked, grades: Grades, k: int) -> float:
    """The kind of RapidFireAI/rapidfireai#261: the gains of the two lists differ."""
    ideal = [2**grade - 1 for grade in best(grades)[:k]]
    return over(dcg(gains(ranked, grades, k)), dcg(ideal))


def ndcg_of_k_ones(ranked: Ranked, grades: Grades, k: int) -> float:
    """mongodb/chatbot PR#555: the ideal has k ones."""
    return dcg(gains(ranked, grades, k)) / dcg([1.0] * k)


def ndcg_exp2_top(ranked: Ranked, grades: Grades, k: int) -> float:
    """opensearch-project/search-relevance#191, of this kind: exponential gains, ideal of ones."""
    found = [2**grade - 1 for grade in gains(ranked, grades, k)]
    return over(dcg(found), dcg([1.0] * min(k, n_relevant(grades))))


def recall_as_hit(ranked: Ranked, grades: Grades, k: int) -> float:
    """supermemoryai/memorybench#67, TIGER-AI-Lab/UniIR#29: 1 with any hit."""
    return float(hits(ranked, grades, k) > 0)


def f1_of_hit(ranked: Ranked, grades: Grades, k: int) -> float:
    """supermemoryai/memorybench#67: F1 with that recall."""
    share = over(hits(ranked, grades, k), min(k, len(ranked)))
    return 2 * share / (share + 1)


def recall_of_all(ranked: Ranked, grades: Grades, k: int) -> float:
    """MemPalace/mempalace#29: k above the length, so that everything counts."""
    return over(hits(ranked, grades, len(ranked)), n_relevant(grades))


def hits_over_k(ranked: Ranked, grades: Grades, k: int) -> float:
    return hits(ranked, grades, k) / k


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


def ap_over_k(ranked: Ranked, grades: Grades, k: int) -> float:
    return precisions(ranked, grades, k) / k


def right_ap(ranked: Ranked, grades: Grades, k: int) -> float:
    return over(precisions(ranked, grades, k), n_relevant(grades))


def first(ranked: Ranked, grades: Grades, k: int) -> int:
    return next((i for i, x in enumerate(ranked[:k], 1) if grades.get(x, 0) >= 1), 0)


def right_rr(ranked: Ranked, grades: Grades, k: int) -> float:
    return over(1, first(ranked, grades, k))


def rr_of_index(ranked: Ranked, grades: Grades, k: int) -> float:
    """Ranks from 1 are taken for indices: 1 / (rank + 1)."""
    rank = first(ranked, grades, k)
    return 1 / (rank + 1) if rank else 0.0


def granular_rr(ranked: Ranked, grades: Grades, k: int) -> float:
    """llama-index-core 0.14.25, use_granular_mrr."""
    found = [1 / i for i, x in enumerate(ranked[:k], 1) if grades.get(x, 0) >= 1]
    return fmean(found) if found else 0.0


def granular_hit(ranked: Ranked, grades: Grades, k: int) -> float:
    """llama-index-core 0.14.25, use_granular_hit_rate."""
    return right_recall(ranked, grades, k)


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


def upper(data: Data) -> Data:
    """Write half of the ids of the lists in upper case."""
    lists = {
        q: [(i.upper() if n % 2 else i, s) for n, (i, s) in enumerate(x)]
        for q, x in data.runs.items()
    }
    return Data(lists, data.grades)


def lower(data: Data) -> Data:
    return Data({q: [(i.lower(), s) for i, s in x] for q, x in data.runs.items()}, data.grades)


def one_less(value: Metric) -> Metric:
    return lambda ranked, grades, k: value(ranked, grades, k - 1)


def ndcg_binary(ranked: Ranked, grades: Grades, k: int) -> float:
    return over(
        dcg([float(g >= 1) for g in gains(ranked, grades, k)]),
        dcg([1.0] * min(k, n_relevant(grades))),
    )


def weighed(weight: Callable[[int], float]) -> Any:
    def ndcg(ranked: Ranked, grades: Grades, k: int) -> float:
        lists = gains(ranked, grades, k), best(grades)[:k]
        return over(*(sum(g * weight(i) for i, g in enumerate(x, 1)) for x in lists))

    return ndcg


def of_first(data: Data, wrong: Wrong, k: int) -> float:
    queries = data.judged()
    some = queries[: len(queries) * 4 // 5]
    return fmean(wrong.value(data.ranked(q), data.grades[q], k) for q in some)


def of_logs(data: Data, wrong: Wrong, k: int) -> float:
    values = wrong.numbers_of(data, k)
    return math.expm1(fmean(math.log1p(value) for value in values))


KNOWN = [
    Wrong(
        "haystack#11959: duplicates", "ndcg", right_ndcg, ("duplicates-twice",), None, with_twins
    ),
    Wrong("ideal of the top k", "ndcg", ndcg_of_top, ("ideal-of-top-k",)),
    Wrong("ideal of the list", "ndcg", ndcg_of_list, ("ideal-of-list", "unretrieved")),
    Wrong("llama_index PR#17126", "ndcg", ndcg_of_length, ("ideal-of-length-ones",)),
    Wrong("haystack", "ndcg", ndcg_uncut, ("ideal-not-cut", "binary-ideal-not-cut")),
    Wrong("llama_index", "ndcg", ndcg_uncut_binary, ("ideal-not-cut", "binary-ideal-not-cut")),
    Wrong("mlflow#24541", "ndcg", ndcg_short_ideal, ("ideal-cut-at-length",)),
    Wrong("openagent-eval#223", "ndcg", ndcg_letor_discount, ("discount",)),
    Wrong("late discount", "ndcg", ndcg_late_discount, ("discount-shifted",)),
    Wrong("late in the list", "ndcg", ndcg_late_in_list, ("discount-shifted-in-list",)),
    Wrong("kind of rapidfireai#261", "ndcg", ndcg_other_ideal_gain, ("ideal-gain-exp2",)),
    Wrong("mongodb/chatbot#555", "ndcg", ndcg_of_k_ones, ("ideal-of-k-ones",)),
    Wrong("search-relevance#191", "ndcg", ndcg_exp2_top, ("ideal-of-ones", "ideal-gain-binary")),
    Wrong("memorybench#67", "recall", recall_as_hit, ("as-hit_rate",)),
    Wrong("memorybench#67, F1", "f1", f1_of_hit, ("f1-with-recall-of-1",)),
    Wrong("MemPalace#29", "recall", recall_of_all, ("cutoff-none",)),
    Wrong("precision for recall", "recall", hits_over_k, ("as-precision",)),
    Wrong("recall capped", "recall", recall_capped, ("norm",)),
    Wrong("precision of the returned", "precision", precision_returned, ("norm",)),
    Wrong("AP over hits", "ap", ap_of_hits, ("norm",)),
    Wrong("AP over k", "ap", ap_over_k, ("ap-over-k",)),
    Wrong("rank + 1", "rr", rr_of_index, ("rr-next-rank",)),
    Wrong("granular MRR", "rr", granular_rr, ("rr-mean-of-hits",)),
    Wrong("granular hit rate", "hit_rate", granular_hit, ("as-recall",)),
    Wrong("F of means", "f1", right_f1, ("f1-of-means",), f_of_means),
    Wrong("pooled recall", "recall", right_recall, ("pooled",), pooled_recall),
    Wrong("users with a hit", "rr", right_rr, ("users-with-a-hit",), of_hit_users),
    Wrong("users without positives", "ap", right_ap, ("undefined",), of_all_users),
    Wrong(
        "empty answers", "recall", right_recall, ("missing", "empty-lists-left-out"), of_answered
    ),
    Wrong("distances", "ndcg", right_ndcg, ("order-reversed",), seen=reversed_order),
    Wrong("order of the file", "rr", right_rr, ("order-of-file",), seen=file_order),
    Wrong("ids in another case", "recall", right_recall, ("ids-without-case",), None, upper, lower),
    Wrong("k - 1", "ap", one_less(right_ap), ("cutoff-k-minus-1",)),
    Wrong("rapidfireai#261", "ndcg", lambda r, g, k: ndcg_binary(r, g, k) / 3, ()),
    Wrong("square roots", "ndcg", weighed(lambda rank: rank**-0.5), ()),
    Wrong("slow discount", "ndcg", weighed(lambda rank: 1 / (1 + math.log(rank))), ()),
    Wrong("squared ranks", "rr", lambda r, g, k: right_rr(r, g, k) ** 2, ()),
    Wrong("F2", "f1", lambda r, g, k: over(5 * hits(r, g, k), 4 * n_relevant(g) + k), ()),
    Wrong("half of the list", "recall", lambda r, g, k: right_recall(r[::2], g, k), ()),
    Wrong("top two only", "ap", lambda r, g, k: right_ap(r, dict([*g.items()][:9]), k), ()),
    Wrong("first 80 %", "ndcg", right_ndcg, (), of_first),
    Wrong("geometric mean", "recall", right_recall, (), of_logs),
    Wrong("blend", "ndcg", lambda r, g, k: (right_ndcg(r, g, k) + right_rr(r, g, k)) / 2, ()),
]


# --- Written after the search was frozen ----------------------------------------------------------


def ndcg_of_hit_ones(ranked: Ranked, grades: Grades, k: int) -> float:
    """The ideal is a run of ones as long as the hits."""
    return over(dcg(gains(ranked, grades, k)), dcg([1.0] * hits(ranked, grades, k)))


def ndcg_exp2_uncut(ranked: Ranked, grades: Grades, k: int) -> float:
    """Exponential gains, and o19s/quepid#836 the other way round: the ideal is not cut."""
    found, ideal = gains(ranked, grades, k), best(grades)
    return over(dcg([2**g - 1 for g in found]), dcg([2**g - 1 for g in ideal]))


def ndcg_exp2_letor(ranked: Ranked, grades: Grades, k: int) -> float:
    """Exponential gains and max(1, log2(rank)), as in LETOR's script."""
    lists = gains(ranked, grades, k), best(grades)[:k]
    sums = (sum((2**g - 1) / max(1.0, math.log2(i)) for i, g in enumerate(x, 1)) for x in lists)
    return over(*sums)


def ndcg_log_e(ranked: Ranked, grades: Grades, k: int) -> float:
    """hexiangnan/neural_collaborative_filtering#63, in the list alone."""
    found = sum(g / math.log(i + 1) for i, g in enumerate(gains(ranked, grades, k), 1))
    return over(found, dcg(best(grades)[:k]))


def dcg_log_e(ranked: Ranked, grades: Grades, k: int) -> float:
    return sum(g / math.log(i + 1) for i, g in enumerate(gains(ranked, grades, k), 1))


def ap_capped(ranked: Ranked, grades: Grades, k: int) -> float:
    """mozilla/bugbug PR#719: divided by min(relevant, k)."""
    return over(precisions(ranked, grades, k), min(k, n_relevant(grades)))


def mean_precision(ranked: Ranked, grades: Grades, k: int) -> float:
    return fmean(hits(ranked, grades, i) / i for i in range(1, k + 1))


def rr_guarded(ranked: Ranked, grades: Grades, k: int) -> float:
    """Indices from 0 with a guard against division by zero."""
    rank = first(ranked, grades, k)
    return 1 / max(rank - 1, 1) if rank else 0.0


def rr_summed(ranked: Ranked, grades: Grades, k: int) -> float:
    return sum(1 / i for i, x in enumerate(ranked[:k], 1) if grades.get(x, 0) >= 1)


def rr_uncut(ranked: Ranked, grades: Grades, k: int) -> float:
    return right_rr(ranked, grades, len(ranked) or 1)


def recall_of_high(ranked: Ranked, grades: Grades, k: int) -> float:
    """Only grades of 2 and above are relevant."""
    high = {item: grade - 1 for item, grade in grades.items()}
    return right_recall(ranked, high, k)


def recall_of_grades(ranked: Ranked, grades: Grades, k: int) -> float:
    return over(sum(gains(ranked, grades, k)), sum(best(grades)))


def condensed_ap(ranked: Ranked, grades: Grades, k: int) -> float:
    """Items without a judgement are removed first."""
    return right_ap([item for item in ranked if item in grades], grades, k)


def median_of_users(data: Data, wrong: Wrong, k: int) -> float:
    return median(wrong.numbers_of(data, k))


def by_positives(data: Data, wrong: Wrong, k: int) -> float:
    """A row for each relevant item, as in a leave-one-out table."""
    pairs = [
        (wrong.value(data.ranked(q), data.grades[q], k), n_relevant(data.grades[q]))
        for q in data.judged()
    ]
    return sum(value * n for value, n in pairs) / sum(n for _, n in pairs)


def of_all_users_as_1(data: Data, wrong: Wrong, k: int) -> float:
    values = wrong.numbers_of(data, k)
    return (sum(values) + len(data.grades) - len(values)) / len(data.grades)


def pooled_ndcg(data: Data, wrong: Wrong, k: int) -> float:
    found = sum(dcg(gains(data.ranked(q), data.grades[q], k)) for q in data.judged())
    return found / sum(dcg(best(data.grades[q])[:k]) for q in data.judged())


def renamed(name: Callable[[int, str], str]) -> Callable[[Data], Data]:
    """Return a change of the ids in lists, given their position."""
    return lambda data: Data(
        {q: [(name(n, i), s) for n, (i, s) in enumerate(x)] for q, x in data.runs.items()},
        data.grades,
    )


def once(data: Data) -> Data:
    """Keep the best row of each item."""
    lists: dict[str, Scored] = {}
    for q, x in data.runs.items():
        ordered = sorted(x, key=lambda pair: -pair[1])
        lists[q] = [p for n, p in enumerate(ordered) if p[0] not in {i for i, _ in ordered[:n]}]
    return Data(lists, data.grades)


def without_some(data: Data, wrong: Wrong, k: int) -> float:
    queries = [q for n, q in enumerate(data.judged()) if n % 10]
    return fmean(wrong.value(data.ranked(q), data.grades[q], k) for q in queries)


def trimmed_mean(data: Data, wrong: Wrong, k: int) -> float:
    values = sorted(wrong.numbers_of(data, k))
    cut = len(values) // 10
    return fmean(values[cut : len(values) - cut])


def over_best_user(data: Data, wrong: Wrong, k: int) -> float:
    values = [dcg(gains(data.ranked(q), data.grades[q], k)) for q in data.judged()]
    return fmean(values) / max(values)


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


LATER = [
    Wrong("ones for hits", "ndcg", ndcg_of_hit_ones, ("ideal-of-hits",)),
    Wrong("exponential, not cut", "ndcg", ndcg_exp2_uncut, ("ideal-not-cut",)),
    Wrong("exponential, LETOR", "ndcg", ndcg_exp2_letor, ("gain", "discount")),
    Wrong("natural logarithm", "ndcg", ndcg_log_e, ("discount-natural-in-list",)),
    Wrong("natural logarithm, DCG", "dcg", dcg_log_e, ("discount-natural",)),
    Wrong("no discount", "ndcg", weighed(lambda rank: 1.0), ("discount-none",)),
    Wrong("reciprocal discount", "ndcg", weighed(lambda rank: 1 / rank), ("discount-reciprocal",)),
    Wrong("pooled", "ndcg", right_ndcg, ("sums-pooled",), pooled_ndcg),
    Wrong("AP capped", "ap", ap_capped, ("norm",)),
    Wrong("mean precision", "ap", mean_precision, ("ap-of-all-k-ranks",)),
    Wrong("condensed", "ap", condensed_ap, ("unjudged",)),
    Wrong("guarded index", "rr", rr_guarded, ("rr-from-0",)),
    Wrong("sum of reciprocals", "rr", rr_summed, ("rr-sum-of-hits",)),
    Wrong("no cutoff", "rr", rr_uncut, ("cutoff-none",)),
    Wrong("row per positive", "rr", right_rr, ("weighted-by-positives",), by_positives),
    Wrong("k + 1", "recall", lambda r, g, k: right_recall(r, g, k + 1), ("cutoff-k-plus-1",)),
    Wrong(
        "from index 1", "recall", lambda r, g, k: right_recall(r[1:], g, k), ("first-rank-removed",)
    ),
    Wrong("higher threshold", "recall", recall_of_high, ("min_relevance",)),
    Wrong("grades summed", "recall", recall_of_grades, ("grades-summed",)),
    Wrong("median", "recall", right_recall, ("median",), median_of_users),
    Wrong("no positives: 1", "recall", right_recall, ("undefined",), of_all_users_as_1),
    Wrong("recall for precision", "precision", right_recall, ("as-recall",)),
    Wrong("another cutoff", "ndcg", lambda r, g, k: right_ndcg(r, g, 3), ("cutoff-3",)),
    Wrong("ranks as scores", "ap", right_ap, ("order-reversed",), seen=reversed_order),
    Wrong(
        "blanks",
        "ndcg",
        right_ndcg,
        ("ids-trimmed",),
        None,
        renamed(lambda n, i: i + " " * (n % 2)),
        renamed(lambda n, i: i.strip()),
    ),
    Wrong(
        "full-width digits",
        "ap",
        right_ap,
        ("ids-normalized",),
        None,
        renamed(lambda n, i: i.replace("1", "\uff11")),
        renamed(lambda n, i: i.replace("\uff11", "1")),
    ),
    Wrong(
        "chunks",
        "recall",
        right_recall,
        ("chunks-as-documents",),
        None,
        renamed(lambda n, i: f"{i}#{n}"),
        renamed(lambda n, i: i.partition("#")[0]),
    ),
    Wrong("each item once", "ndcg", right_ndcg, ("duplicates-first",), None, with_twins, once),
    Wrong("decimal in the list", "ndcg", lambda r, g, k: ndcg_log_e(r, g, k) * math.log(10), ()),
    Wrong("root of ranks", "rr", lambda r, g, k: right_rr(r, g, k) ** 0.5, ()),
    Wrong("smoothed recall", "recall", lambda r, g, k: hits(r, g, k) / (n_relevant(g) + 1), ()),
    Wrong("smoothed precision", "precision", lambda r, g, k: (hits(r, g, k) + 1) / (k + 2), ()),
    Wrong("nine of ten", "ndcg", right_ndcg, (), without_some),
    Wrong("trimmed mean", "ap", right_ap, (), trimmed_mean),
    Wrong("over the best user", "ndcg", right_ndcg, (), over_best_user),
    Wrong("swapped", "rr", right_rr, (), seen=swapped),
    Wrong("a judgement less", "ndcg", forgetful(right_ndcg), ()),
    Wrong("two in one", "ap", lambda r, g, k: (right_ap(r, g, k) + right_recall(r, g, k)) / 2, ()),
]


# --- Written after the second half had been measured, and the chance of two numbers mended --------

FRESH = [
    Wrong("cube", "rr", lambda r, g, k: right_rr(r, g, k) ** 3, ()),
    Wrong("log of rank + 2", "ndcg", weighed(lambda rank: 1 / math.log10(rank + 9)), ()),
    Wrong("halves", "precision", lambda r, g, k: hits(r, g, k) / (2 * k), ()),
    Wrong("k + 3", "ndcg", lambda r, g, k: right_ndcg(r, g, k + 3), ()),
    Wrong(
        "last query twice",
        "ndcg",
        right_ndcg,
        (),
        lambda d, w, k: fmean([*w.numbers_of(d, k), w.numbers_of(d, k)[-1]]),
    ),
    Wrong("from the third", "recall", lambda r, g, k: right_recall(r[2:], g, k), ()),
    Wrong(
        "two of three queries",
        "ap",
        right_ap,
        (),
        lambda d, w, k: fmean(v for n, v in enumerate(w.numbers_of(d, k)) if n % 3),
    ),
    Wrong("maximum", "rr", lambda r, g, k: max(right_rr(r, g, k), right_recall(r, g, k)), ()),
    Wrong(
        "mean of k and k - 2",
        "ndcg",
        lambda r, g, k: fmean(right_ndcg(r, g, c) for c in (k, k - 2)),
        (),
    ),
    Wrong(
        "squares of grades",
        "ndcg",
        lambda r, g, k: right_ndcg(r, {i: x * x for i, x in g.items()}, k),
        (),
    ),
    Wrong("AP over k + 1", "ap", lambda r, g, k: precisions(r, g, k) / (k + 1), ()),
    Wrong(
        "F1 over the list",
        "f1",
        lambda r, g, k: over(2 * hits(r, g, k), len(r) + n_relevant(g)),
        (),
    ),
]
