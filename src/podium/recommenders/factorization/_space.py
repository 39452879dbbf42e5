"""The values that a search for a Factorization draws from by default."""

from __future__ import annotations

from typing import Any

from podium.recommenders._pairs import SEARCHED_GAINS

_FACTORS = {"n_factors": [64, 128, 256], "n_negatives": [128, 256]}

SPACE: tuple[dict[str, Any], ...] = (
    {
        "loss": ["softmax", "softmax(temperature=0.7)"],
        "similarity": ["dot"],
        **_FACTORS,
        "learning_rate": "log(0.05,0.3)",
        "l2": "log(0.03,0.4)",
        "gain": SEARCHED_GAINS,
    },
    {
        "loss": [
            "softmax",  # with the temperature of the default
            *(f"softmax(temperature={t})" for t in (0.07, 0.085, 0.1, 0.12, 0.15, 0.18)),
        ],
        "similarity": ["cosine"],
        **_FACTORS,
        "learning_rate": "log(0.1,2.0)",
        "l2": "log(0.001,0.02)",
        "popularity": [0.0, 0.5],
        "gain": SEARCHED_GAINS,
    },
    {
        "loss": ["robirank"],
        "similarity": ["dot"],
        **_FACTORS,
        "learning_rate": "log(0.05,0.3)",
        "l2": "log(0.01,0.12)",
        "gain": SEARCHED_GAINS,
    },
)
"""See `Recommender.default_space`. The best steps and l2 depend on the loss and the similarity."""
