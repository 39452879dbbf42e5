"""The theory of pAp@k on margins, population risk and generalization.

``margins`` measures the four margins of scores and returns the surrogates that they make zero.
``population_risk`` is the limit of a group's risk as the group grows. ``generalization_bound``
bounds the difference between the population risk and the risk of a sample, and
``generalization_gap`` measures it. The page docs/theory.md has examples.
"""

from podium.papers.hiranandani2020.theory.bound import GammaPlus, generalization_bound
from podium.papers.hiranandani2020.theory.gap import Fit, Gap, gap_plot, generalization_gap
from podium.papers.hiranandani2020.theory.margins import (
    MARGINS,
    SURROGATES,
    Margin,
    Margins,
    margins,
)
from podium.papers.hiranandani2020.theory.population import (
    PopulationRisk,
    Sampler,
    Scorer,
    population_risk,
)

__all__ = [
    "MARGINS",
    "SURROGATES",
    "Fit",
    "GammaPlus",
    "Gap",
    "Margin",
    "Margins",
    "PopulationRisk",
    "Sampler",
    "Scorer",
    "gap_plot",
    "generalization_bound",
    "generalization_gap",
    "margins",
    "population_risk",
]
