"""Sums of kernels, whose order must not depend on what a process compiles together."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import _kernels

SRC = Path(_kernels.__file__).parent


def _in_lanes(terms: Any) -> Any:
    """Return the sum in the documented order: lanes of four vectors of eight, then their halves."""
    n = terms.size // 8
    lanes = np.zeros((4, 8), terms.dtype)
    for v in range(n):
        lanes[v % 4 if v < n - n % 4 else 0] += terms[8 * v : 8 * v + 8]
    vector = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
    for width in (4, 2, 1):
        vector = vector[:width] + vector[width : 2 * width]
    total = vector[0]
    for term in terms[8 * n :]:
        total += term
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 31, 32, 33, 47, 100, 1001])
def test_sums_have_the_documented_order(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    a, b = (rng.normal(size=n).astype(dtype) for _ in range(2))
    assert _kernels.lane_sum(a) == _in_lanes(a)
    assert _kernels.lane_dot(a, b) == _in_lanes(a * b)


def _summing(tree: ast.Module) -> set[str]:
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(decorator) == "summing_kernel" for decorator in node.decorator_list)
    }


def test_no_kernel_contains_a_reordered_sum_of_another_one() -> None:
    trees = {file: ast.parse(file.read_text()) for file in SRC.rglob("*_kernels.py")}
    names = set[str]().union(*(_summing(tree) for tree in trees.values()))
    assert names
    calls = {
        (file.name, call.func.id)
        for file, tree in trees.items()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    }
    assert not {(file, name) for file, name in calls if name in names}
