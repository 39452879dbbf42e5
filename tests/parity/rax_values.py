"""Values and gradients of Rax's losses on small lists, as JSON: podium's tests read them.

To compute them anew, with Rax 0.4.0 (`make bench` installs it) and in double precision::

    .venv/bin/python tests/parity/rax_values.py > tests/parity/rax_values.json

This file needs nothing but Rax, and draws with Python's own generator, so that every
environment draws the same lists.
"""

from __future__ import annotations

import functools
import json
import math
import os
import random
import sys
from typing import Any

N_LISTS = 10
LONGEST = 9
LOSSES = {
    "listmle_loss": "distinct",
    "softmax_loss": "graded",
    "pairwise_hinge_loss": "graded",
    "pairwise_logistic_loss": "graded",
    "pointwise_sigmoid_loss": "graded",
    "pointwise_mse_loss": "graded",
    "lambdarank": "graded",
    "lambdarank, top 2": "graded",
}
SPECIAL: dict[str, tuple[str, list[float], list[float], list[bool]]] = {
    "ordered by a gap of 40": ("listmle_loss", [40.0, 0.0], [1.0, 0.0], [True, True]),
    "reversed by a gap of 40": ("listmle_loss", [0.0, 40.0], [1.0, 0.0], [True, True]),
    "scores of 1000": ("listmle_loss", [-1000.0, 1000.0, 0.0], [2.0, 1.0, 0.0], [True] * 3),
    "tied, best first": ("listmle_loss", [2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [True] * 3),
    "tied, best second": ("listmle_loss", [1.0, 2.0, 0.0], [1.0, 1.0, 0.0], [True] * 3),
    "no grade above 0": ("softmax_loss", [0.5, -0.5], [0.0, 0.0], [True, True]),
    "one grade, pairs": ("pairwise_logistic_loss", [0.5, -0.5], [1.0, 1.0], [True, True]),
    "one grade, order": ("listmle_loss", [0.5, -0.5], [1.0, 1.0], [True, True]),
    "one row": ("softmax_loss", [0.5], [2.0], [True]),
    "padding only": ("softmax_loss", [0.5, -0.5], [1.0, 0.0], [False, False]),
    "logistic of a gap of 40": ("pointwise_sigmoid_loss", [40.0, -40.0], [1, 0], [True, True]),
    "pair with a gap of 40": ("pairwise_logistic_loss", [40.0, 0.0], [1.0, 0.0], [True, True]),
    "fractional grade": ("pointwise_sigmoid_loss", [0.5, -0.5], [0.5, 0.0], [True, True]),
}


def lists() -> list[dict[str, list[float]]]:
    """Scores of each list with two kinds of labels: all different, and grades with ties."""
    rng = random.Random(2009)
    drawn = []
    for i in range(N_LISTS):
        n = rng.randint(2, LONGEST)
        distinct = rng.sample(range(n), n)
        graded = [rng.choice((0.0, 0.0, 1.0, 2.0)) for _ in range(n)]
        graded[:2] = [2.0, 0.0]
        scale = (0.1, 1.0, 5.0)[i % 3]
        scores = [rng.gauss(0.0, scale) for _ in range(n)]
        drawn.append({"scores": scores, "distinct": [float(y) for y in distinct], "graded": graded})
    return drawn


def function(name: str) -> Any:
    """Return a loss of Rax, or one that is composed of its parts; pairs are summed."""
    import jax
    import rax

    def weighted(topn: int | None) -> Any:
        weights = functools.partial(rax.dcg_lambdaweight, normalize=True, topn=topn)
        return functools.partial(
            rax.pairwise_logistic_loss, lambdaweight_fn=weights, reduce_fn=jax.numpy.sum
        )

    parts = {
        "lambdarank": weighted(None),
        "lambdarank, top 2": weighted(2),
    }
    return parts.get(name) or getattr(rax, name)


def called(name: str, scores: Any, labels: Any, where: Any) -> dict[str, Any]:
    """Return the value of one list that is padded to LONGEST, and its gradient without that."""
    import jax

    fill = LONGEST - len(scores)
    s, y = (jax.numpy.array([*column, *[0.0] * fill]) for column in (scores, labels))
    w = jax.numpy.array([*where, *[False] * fill])
    value, grad = jax.value_and_grad(lambda s: function(name)(s, y, where=w))(s)
    return {"value": _plain(value), "grad": [_plain(g) for g in grad[: len(scores)]]}


def _plain(number: Any) -> float | str:
    return float(number) if math.isfinite(number) else str(float(number))


def main() -> None:
    """Print the lists with Rax's values of each."""
    os.environ["JAX_ENABLE_X64"] = "1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import rax

    drawn = lists()
    values = {
        name: [called(name, u["scores"], u[kind], [True] * len(u["scores"])) for u in drawn]
        for name, kind in LOSSES.items()
    }
    special = {name: called(*case) for name, case in SPECIAL.items()}
    stored = {"rax": rax.__version__, "lists": drawn, "values": values, "special": special}
    json.dump(stored, sys.stdout, indent=0)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
