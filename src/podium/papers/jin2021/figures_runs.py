"""Sampled evaluations repeated from exact ranks, and what estimators make of them."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from podium.errors import PodiumWarning
from podium.papers.jin2021 import models, protocol
from podium.papers.jin2021.protocol import Held, Ints
from podium.papers.recipe import Recipe
from podium.papers.study import generator
from podium.sampled import SampledRanks


@dataclass(frozen=True, eq=False)
class Evaluations:
    """The held-out items of a recipe's data, and samples of what its methods rank above them."""

    recipe: Recipe
    held: Held

    def ranks(self, method: str) -> Ints:
        """Return the rank of each user's held-out item among all items."""
        return models.exact_ranks(self.recipe, self.held, method)

    def sample(
        self, method: str, n_negatives: int | Sequence[int], repeat: int
    ) -> tuple[SampledRanks, SampledRanks]:
        """Return the ranks of one sampled evaluation, without and with the users' history.

        Repeats, methods and designs have items of their own.
        """
        rng = generator(self.recipe, f"{n_negatives} negatives for {method}", repeat)
        return self.held.simulate(self.ranks(method), n_negatives, int(rng.integers(2**31)))


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Evaluations:
    """Read the data, and see that every method can be fitted; fits are made when asked for."""
    models.load(recipe)
    return Evaluations(recipe, protocol.read(recipe, paths))


def told(recipe: Recipe, label: str, samples: tuple[SampledRanks, SampledRanks]) -> SampledRanks:
    """Return the ranks as an estimator of the recipe reads them."""
    return samples[label in recipe.parameters["with_history"]]


@contextmanager
def quiet() -> Generator[None]:
    """Let estimators be biased without saying so at every repeat: that is what is shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        yield
