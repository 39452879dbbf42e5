"""Results: all that the demo found out, for the table, the page and the files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data import OnlineRetail, top_items
from podium.evaluation import Comparison, Evaluation, compare_evaluations, measure
from podium.experiments._features import Column
from podium.experiments._models import LOGISTIC, PAP, TARGET, K, Task, Trial
from podium.experiments._story import Verdict, judge
from podium.experiments._windows import Ids, Window

MEASURES = (TARGET, f"precision@{K}", f"recall@{K}", f"ndcg@{K}")
_QUANTILES = (0.95, 0.75, 0.5)


@dataclass(frozen=True, eq=False)
class Results:
    """What was trained, chosen on validation, and measured once on the test window.

    Attributes
    ----------
    shop : OnlineRetail
    windows : dict of str to Window
    tasks : dict of str to Task
        Both by "train", "valid" and "test".
    trials : dict of str to list of Trial
        By method, best on validation first.
    baselines : dict of str to (feature, mean pAp@10 on validation)
    scores : dict of str to float64 (n_rows,)
        Of the test candidates, by method.
    evaluations : dict of str to Evaluation
        On the test window, by method.
    comparison : Comparison
        All methods against the one that was strongest on validation among those whose loss is
        not made for pAp@k.
    verdict : Verdict
    """

    shop: OnlineRetail
    windows: dict[str, Window]
    tasks: dict[str, Task]
    trials: dict[str, list[Trial]]
    baselines: dict[str, tuple[str, float]]
    scores: dict[str, Column]
    evaluations: dict[str, Evaluation]
    comparison: Comparison
    verdict: Verdict

    @property
    def chosen(self) -> Trial:
        """The pAp@10 ranker that did best on validation."""
        return self.trials[PAP][0]

    @property
    def how(self) -> dict[str, str]:
        """What each method is, in the form that validation chose."""
        forms = {name: feature for name, (feature, _) in self.baselines.items()}
        return forms | {name: str(tried[0].settings) for name, tried in self.trials.items()}


def settle(
    shop: OnlineRetail,
    windows: dict[str, Window],
    tasks: dict[str, Task],
    trials: dict[str, list[Trial]],
    baselines: dict[str, tuple[str, float]],
    *,
    seed: int,
) -> Results:
    """Score the test window with what validation chose, and measure it."""
    test = tasks["test"]
    scores = {name: test.lists.features[form] for name, (form, _) in baselines.items()}
    scores |= {name: test.features @ tried[0].coef for name, tried in trials.items()}
    evaluations = {name: _evaluate(test, s, shop, seed) for name, s in scores.items()}
    strength = {name: value for name, (_, value) in baselines.items()}
    strength[LOGISTIC] = trials[LOGISTIC][0].value
    baseline = max(strength, key=lambda name: strength[name])
    ordered = {baseline: evaluations[baseline], **evaluations}
    comparison = compare_evaluations(ordered)
    verdict = judge(evaluations, TARGET)
    return Results(
        shop, windows, tasks, trials, baselines, scores, evaluations, comparison, verdict
    )


def _evaluate(test: Task, scores: Column, shop: OnlineRetail, seed: int) -> Evaluation:
    evaluation = measure(
        test.truth_table(), test.run_table(scores), MEASURES, by="engagement", seed=seed
    )
    home = shop.country[evaluation.labels] == "United Kingdom"
    return evaluation.segmented("country", np.where(home, "United Kingdom", "elsewhere"))


def examples(results: Results) -> list[dict[str, Any]]:
    """Show the first method's list for three customers: a very good one, a good one, a usual one.

    They stand at the 95th, 75th and 50th percentile of its pAp@10, the lowest customer number
    first among equals, so that nobody picked them.
    """
    name = results.verdict.order[0]
    evaluation = results.evaluations[name]
    values = evaluation.values[TARGET]
    order = np.lexsort((evaluation.labels, values))
    groups, codes, ids = top_items(results.tasks["test"].run_table(results.scores[name]), K)
    shown: list[dict[str, Any]] = []
    for quantile in _QUANTILES:
        position = order[int(np.ceil(quantile * (values.size - 1)))]
        user = int(evaluation.labels[position])
        place = int(np.searchsorted(groups.labels, user))
        items = ids[codes[groups.offsets[place] : groups.offsets[place + 1]]]
        about = {"quantile": quantile, "pap": float(values[position])}
        shown.append({**about, **_customer(results, user, items)})
    return shown


def _customer(results: Results, user: int, items: Ids) -> dict[str, Any]:
    shop, start = results.shop, results.windows["test"].start
    mine = (shop.user == user) & (shop.quantity > 0) & (shop.minute < start)
    latest = shop.item[mine][np.argsort(-shop.minute[mine], kind="stable")]
    latest = latest[np.sort(np.unique(latest, return_index=True)[1])]
    bought = set(results.tasks["test"].truth[user].indices.tolist())
    return {
        "customer_id": int(shop.customer_id[user]),
        "country": str(shop.country[user]),
        "n_before": int(latest.size),
        "n_new": len(bought),
        "latest": [str(shop.description[i]) for i in latest[:5]],
        "shown": [
            {"description": str(shop.description[i]), "bought": int(i) in bought} for i in items
        ],
    }
