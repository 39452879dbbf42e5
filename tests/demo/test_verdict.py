from __future__ import annotations

import numpy as np
import pytest

from podium.demo.page import methods, table, verdict, winners
from podium.demo.study import duels
from podium.evaluation import Evaluation, compare_evaluations

N = 200


def evaluation(values: np.ndarray) -> Evaluation:
    columns = {"pap@10": values, "precision@10": values / 2}
    return Evaluation(np.arange(N), np.arange(N) % 20 + 1, columns).segmented("engagement")


def noise(seed: int, scale: float) -> np.ndarray:
    draw = np.random.default_rng(seed).normal(0, scale, N)
    return draw - draw.mean()


@pytest.fixture(scope="module")
def clear() -> dict[str, Evaluation]:
    """Means 0.2, 0.5 and 0.3 exactly, with differences far above their noise."""
    means = {"low": 0.2, "high": 0.5, "middle": 0.3}
    return {n: evaluation(m + noise(i, 0.05)) for i, (n, m) in enumerate(means.items())}


@pytest.fixture(scope="module")
def close() -> dict[str, Evaluation]:
    """Two methods 0.001 apart under noise of 0.1, and one far below."""
    means = {"a": 0.5, "b": 0.501, "far": 0.2}
    return {n: evaluation(m + noise(9 + i, 0.1)) for i, (n, m) in enumerate(means.items())}


def text(evaluations: dict[str, Evaluation]) -> str:
    return " ".join(verdict(evaluations, duels(evaluations)))


def test_verdict_orders_by_mean_and_names_the_one_winner(clear):
    pairs = duels(clear)
    assert methods(pairs) == ["high", "middle", "low"]
    assert winners(pairs) == ["high"]
    assert text(clear).startswith("High wins: its mean pap@10 of 0.5000 is the highest.")
    assert "High beats middle by 0.2000" in text(clear)
    assert "and low by 0.3000" in text(clear)


def test_verdict_when_no_method_wins_alone(close):
    pairs = duels(close)
    assert winners(pairs) == ["b", "a"]
    assert text(close).startswith("No method wins alone: b has the highest mean")
    assert "a is not significantly worse in a paired test" in text(close)
    duel = next(d for d in pairs if {d.better, d.worse} == {"a", "b"})
    assert duel.p_value >= 0.05
    assert f"a difference of {duel.test.detectable:.4f} is found" in text(close)
    assert f"B beats far by {0.501 - 0.2:.4f}" in text(close)


def test_duels_are_all_pairs_better_first(clear):
    pairs = duels(clear)
    assert [(d.better, d.worse) for d in pairs] == [
        ("high", "middle"),
        ("high", "low"),
        ("middle", "low"),
    ]
    assert all(d.test.difference > 0 for d in pairs)
    assert [d.test.difference for d in pairs] == pytest.approx([0.2, 0.3, 0.1])


def test_p_values_of_duels_are_corrected_for_their_number(close):
    smallest = min(duels(close), key=lambda d: d.test.randomisation_p_value)
    assert smallest.p_value == pytest.approx(3 * smallest.test.randomisation_p_value)


def test_verdict_counts_products_from_precision(clear):
    assert "buys 2.50 (high), 1.50 (middle) and 1.00 (low)" in text(clear)


def test_table_has_a_row_per_method_and_the_baseline_is_not_compared(clear):
    result = table(clear, compare_evaluations(clear), duels(clear))
    assert [row[0] for row in result["rows"]] == ["low", "high", "middle"]
    assert all(len(row) == len(result["columns"]) for row in result["rows"])
    assert result["rows"][0][-2:] == ["", ""]
    assert result["rows"][1][1].startswith("0.5000 ± ")
    assert result["rows"][1][-2] == "+0.3000"
    assert result["rows"][1][-1] == "<0.001"
    assert result["columns"][3:5] == ["pap@10, n_pos <= 10", "pap@10, n_pos > 10"]
