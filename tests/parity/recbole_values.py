"""Values of RecBole's metrics on small lists, as JSON: podium's tests read them.

RecBole 1.2.1 needs numpy < 1.24, so it has an environment of its own::

    python3.11 -m venv .venv-recbole
    .venv-recbole/bin/pip install numpy==1.23.5 scipy==1.11.4 scikit-learn==1.3.2 torch==2.13.0
    .venv-recbole/bin/pip install --no-deps recbole==1.2.1
    .venv-recbole/bin/python tests/parity/recbole_values.py > tests/parity/recbole_values.json

Of RecBole, this file uses `recbole.evaluator` only: the collector, which ranks all items of each
user, and the metrics. It loads `EvaluatorType` without the rest of `recbole.utils`, which needs
many more packages.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from like_lists import N_ITEMS, Table, lists, past

CUTOFFS = [1, 3, 10]
PER_USER = ["Hit", "MRR", "MAP", "NDCG", "Precision", "Recall", "AveragePopularity"]
OF_ALL = ["GAUC", "ItemCoverage", "GiniIndex"]


def load_evaluator() -> Any:
    import recbole

    name, path = "recbole.utils", Path(recbole.__file__).parent / "utils" / "enum_type.py"
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return importlib.import_module("recbole.evaluator")


def collected(recbole: Any, config: dict[str, Any], truth: Table, run: Table) -> Any:
    """Return what RecBole collects of lists of all items; item 0 of RecBole is the padding."""
    import torch

    scores = torch.full((len(run), N_ITEMS + 1), -torch.inf)
    for row, scored in enumerate(run.values()):
        scores[row, [i + 1 for i in scored]] = torch.tensor(list(scored.values()))
    pairs = [(row, i + 1) for row, u in enumerate(run) for i, g in truth[u].items() if g > 0]
    users, items = (torch.tensor(column) for column in zip(*pairs, strict=True))
    collector = recbole.Collector(config)
    collector.data_struct.set("data.num_items", N_ITEMS + 1)  # as dataset.num, with the padding
    counts = torch.bincount(torch.tensor([i + 1 for _, i in past()])).tolist()
    collector.data_struct.set("data.count_items", dict(enumerate(counts)))
    collector.eval_batch_collect(scores, None, users, items)
    return collector.data_struct


def per_user(metric: Any, data: Any) -> Any:
    """Return the values of users at cutoffs from 1 to the largest."""
    used = metric.used_info(data)
    if type(metric).__name__ == "AveragePopularity":
        return metric.metric_info(metric.get_pop(*used))
    takes_lengths = type(metric).__name__ in ("MAP", "NDCG", "Recall")
    return metric.metric_info(*used) if takes_lengths else metric.metric_info(used[0])


def main() -> None:
    """Print the means that RecBole reports, and the values of users that it averages."""
    recbole = load_evaluator()
    config = {
        "metrics": PER_USER + OF_ALL,
        "topk": CUTOFFS,
        "metric_decimal_place": 4,
        "eval_args": {"mode": {"valid": "full", "test": "full"}},
        "device": "cpu",
    }
    truth, run = lists(whole=True)
    data = collected(recbole, config, truth, run)
    evaluator = recbole.Evaluator(config)
    values = {
        f"{name}@{k}": {str(u): float(row[k - 1]) for u, row in zip(run, rows, strict=True)}
        for name in PER_USER
        for rows in [per_user(evaluator.metric_class[name.lower()], data)]
        for k in CUTOFFS
    }
    means = {name: float(value) for name, value in evaluator.evaluate(data).items()}
    equal = {0: dict.fromkeys(range(N_ITEMS), 1.0)}
    tied = [
        float(evaluator.evaluate(collected(recbole, config, {0: {item: 1}}, equal))["mrr@10"])
        for item in range(N_ITEMS)
    ]
    document = {"recbole": "1.2.1", "means": means, "values": values, "mrr@10 of equal": tied}
    json.dump(document, sys.stdout, indent=0)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
