"""Values of retrieval metrics of other packages on small lists: podium's tests read them.

Each package on the command line gives lines of JSON, one for each of its metrics and cutoffs::

    python3.11 -m venv .venv-retrievers
    .venv-retrievers/bin/pip install torch==2.13.0
    .venv-retrievers/bin/pip install haystack-ai==3.4.1 llama-index-core==0.14.25 \
        mlflow-skinny==3.17.2 sentence-transformers==6.2.0 beir==2.2.0 mteb==2.26.24
    .venv-retrievers/bin/python tests/parity/retriever_values.py beir mteb sentence_transformers \
        haystack llama_index mlflow > tests/parity/retriever_values.jsonl

Ragas 0.4.3 (with langchain-community<0.4) and DeepEval 4.3.1 need environments of their own. Their
lines are appended (>>). Of these two, this file uses what computes a value from ids or verdicts,
and no language model. A query without a value is left out.
"""

from __future__ import annotations

import asyncio
import copy
import json
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

from like_lists import Table, lists

Row = tuple[str, Any, Any]
"""The name of a metric, the values of queries, and the mean, None if the package gives none."""
CUTOFFS = (None, 1, 3, 10)


def haystack(truth: Table, run: Table, k: int | None) -> Iterator[Row]:
    from haystack import Document
    from haystack.components import evaluators

    relevant = [[Document(content=d, score=g) for d, g in positives(truth[q])] for q in truth]
    shown = [[Document(content=d) for d in top(run.get(q, {}), k)] for q in truth]
    for name in ("NDCG", "MAP", "MRR", "Recall", "Recall(mode='multi_hit')"):
        kind, _, mode = name.partition("(")
        options = {"mode": "multi_hit"} if mode else {}
        evaluator = getattr(evaluators, f"Document{kind}Evaluator")(**options)
        result = evaluator.run(ground_truth_documents=relevant, retrieved_documents=shown)
        text = f"Document{kind}Evaluator({mode}" if mode else f"Document{kind}Evaluator"
        yield (
            with_top(text, "top_k", k),
            zipped(truth, result["individual_scores"]),
            result["score"],
        )


def llama_index(truth: Table, run: Table, k: int | None) -> Iterator[Row]:
    from llama_index.core.evaluation.retrieval import metrics

    granular = {"MRR": "use_granular_mrr", "HitRate": "use_granular_hit_rate"}
    for name in ("NDCG", "AveragePrecision", "MRR", "Precision", "Recall", "HitRate"):
        for option in (None, granular[name]) if name in granular else (None,):
            metric = getattr(metrics, name)(**({option: True} if option else {}))
            values = {
                q: metric.compute(
                    expected_ids=[d for d, _ in positives(truth[q])], retrieved_ids=top(run[q], k)
                ).score
                for q in truth
            }
            text = f"{name}({option}=True)" if option else name
            yield with_top(text, "similarity_top_k", k), values, None


def mlflow(truth: Table, run: Table, k: int | None) -> Iterator[Row]:
    import mlflow
    import pandas as pd

    relevant = pd.Series([[d for d, _ in positives(truth[q])] for q in truth])
    shown = pd.Series([top(run[q], None) for q in truth])
    for name in ("precision_at_k", "recall_at_k", "ndcg_at_k") if k else ():
        result = getattr(mlflow.metrics, name)(k).eval_fn(shown, relevant)
        yield f"{name}({k})", zipped(truth, result.scores), result.aggregate_results["mean"]


def sentence_transformers(truth: Table, run: Table, k: int | None) -> Iterator[Row]:
    from sentence_transformers.sentence_transformer import evaluation

    kinds = ("accuracy", "precision_recall", "mrr", "ndcg", "map")
    cutoffs = {f"{kind}_at_k": [k] for kind in kinds}

    def computed(queries: list[str]) -> dict[str, Any]:
        relevant = {q: {d for d, _ in positives(truth[q])} for q in queries}
        evaluator = evaluation.InformationRetrievalEvaluator(
            dict.fromkeys(queries, ""), {}, relevant, **cutoffs
        )
        hits = [
            [{"corpus_id": d, "score": s} for d, s in run.get(q, {}).items()]
            for q in evaluator.queries_ids
        ]
        return {name: values[k] for name, values in evaluator.compute_metrics(hits).items()}

    if k is not None:
        values = {q: computed([q]) for q in truth if positives(truth[q])}
        for name, mean in computed(list(truth)).items():
            yield name.replace("@k", f"@{k}"), {q: values[q][name] for q in values}, mean


def beir(truth: Table, run: Table, k: int | None) -> Iterator[Row]:
    from beir.retrieval.evaluation import EvaluateRetrieval

    yield from of_all_and_of_each(EvaluateRetrieval.evaluate, truth, run, k)


def beir_custom(truth: Table, run: Table, k: int | None) -> Iterator[Row]:
    from beir.retrieval.evaluation import EvaluateRetrieval

    def evaluate(*given: Any) -> list[Any]:
        return [EvaluateRetrieval.evaluate_custom(*given, metric=name) for name in ("mrr", "acc")]

    yield from of_all_and_of_each(evaluate, truth, run, k)


def mteb(truth: Table, run: Table, k: int | None) -> Iterator[Row]:
    from mteb._evaluators import retrieval_metrics as peer

    def evaluate(qrels: Table, results: Table, cutoffs: list[int]) -> list[Any]:
        found = peer.calculate_retrieval_scores(results, qrels, sorted({1, *cutoffs}))
        parts = {name: getattr(found, name) for name in ("ndcg", "recall", "precision", "mrr")}
        others = {"_map": found.map, "hit_rate": found.hit_rate, "naucs": {}, "naucs_mrr": {}}
        scores = peer.make_score_dict(**parts, **others, task_scores={})
        return [{n: v for n, v in scores.items() if n.endswith(f"_at_{cutoffs[0]}")}]

    yield from of_all_and_of_each(evaluate, truth, run, k)


def of_all_and_of_each(
    evaluate: Callable[..., Any], truth: Table, run: Table, k: int | None
) -> Iterator[Row]:
    """Yield the metrics of a function of qrels, results and cutoffs that gives means."""

    def means(queries: Any) -> dict[str, float]:
        qrels, results = ({q: table[q] for q in queries if q in table} for table in (truth, run))
        parts = evaluate(qrels, copy.deepcopy(results), [k])
        return {name: value for part in parts for name, value in part.items()}

    if k is not None:
        values = {q: means([q]) for q in run}
        for name, mean in means(truth).items():
            yield name, {q: values[q][name] for q in values}, mean


def ragas(truth: Table, run: Table, k: int | None) -> Iterator[Row]:
    from ragas import SingleTurnSample, metrics
    from ragas.metrics._context_precision import Verification

    values: dict[str, dict[str, float]] = {}
    for q in truth:
        shown, relevant = top(run[q], k), dict(positives(truth[q]))
        verdicts = [Verification(reason="", verdict=int(d in relevant)) for d in shown]
        precision = metrics.ContextPrecision()._calculate_average_precision(verdicts)
        values.setdefault(of("ContextPrecision", k, "contexts"), {})[q] = precision
        sample = SingleTurnSample(retrieved_context_ids=shown, reference_context_ids=list(relevant))
        for name in ("IDBasedContextPrecision", "IDBasedContextRecall"):
            score = asyncio.run(getattr(metrics, name)().single_turn_ascore(sample))
            values.setdefault(of(name, k, "ids"), {})[q] = score
    yield from ((name, found, None) for name, found in values.items())


def deepeval(truth: Table, run: Table, k: int | None) -> Iterator[Row]:
    from types import SimpleNamespace

    from deepeval.metrics.contextual_precision import contextual_precision as peer

    def value(q: str) -> float:
        is_hit = [bool(truth[q].get(d)) for d in top(run.get(q, {}), k)]
        verdicts = [
            SimpleNamespace(verdict=(peer.Verdict.NO, peer.Verdict.YES)[hit]) for hit in is_hit
        ]
        metric = SimpleNamespace(verdicts=verdicts, strict_mode=False)
        return float(peer.ContextualPrecisionMetric._calculate_score(metric))

    yield of("ContextualPrecisionMetric", k, "contexts"), {q: value(q) for q in truth}, None


def positives(grades: dict[Any, float]) -> list[tuple[Any, float]]:
    return [(item, grade) for item, grade in grades.items() if grade > 0]


def top(scores: dict[Any, float], k: int | None) -> list[Any]:
    return sorted(scores, key=lambda item: -scores[item])[:k]


def with_top(name: str, parameter: str, k: int | None) -> str:
    return name if k is None else f"{name}, {parameter}={k}"


def of(name: str, k: int | None, kind: str) -> str:
    return name if k is None else f"{name} of {k} {kind}"


def zipped(truth: Table, values: Any) -> dict[Any, float]:
    return dict(zip(truth, values, strict=True))


SETS: list[tuple[Callable[..., Iterator[Row]], str, dict[str, bool]]] = [
    (beir, "beir", {"tied": True, "empty": True, "missing": True}),
    (beir_custom, "beir", {"empty": True, "missing": True}),
    (mteb, "mteb", {"tied": True, "empty": True, "missing": True}),
    (sentence_transformers, "sentence-transformers", {"empty": True, "missing": True}),
    (haystack, "haystack-ai", {"empty": True, "missing": True}),
    (llama_index, "llama-index-core", {}),
    (mlflow, "mlflow-skinny", {"empty": True}),
    (ragas, "ragas", {"empty": True}),
    (deepeval, "deepeval", {"empty": True, "missing": True}),
]
"""The functions, with the name of the package and the kind of lists."""


def main() -> None:
    """Print the values of the packages on the command line."""
    for peer, distribution, kind in SETS:
        package = peer.__name__.removesuffix("_custom")
        if package not in sys.argv[1:]:
            continue
        for k in CUTOFFS:
            for name, values, mean in peer(*lists(graded=True, text=True, **kind), k):
                row = {"package": package, "version": version(distribution), "name": name}
                rounded = {q: round(float(v), 10) for q, v in values.items() if v == v}
                mean = None if mean is None else round(float(mean), 10)
                sys.stdout.write(json.dumps({**row, "mean": mean, "values": rounded}) + "\n")


if __name__ == "__main__":
    main()
