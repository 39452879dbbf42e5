"""The theory of pAp@k on population risk and generalization.

``population_risk`` is the limit of a group's risk as the group grows. ``generalization_bound``
bounds the difference between the population risk and the risk of a sample, and
``generalization_gap`` measures it. The README of the paper has examples.
"""

from podium_studies.hiranandani2020.theory.gap import Fit, Gap, gap_plot, generalization_gap
from podium_studies.hiranandani2020.theory.population import (
    GammaPlus,
    PopulationRisk,
    Sampler,
    Scorer,
    generalization_bound,
    population_risk,
)

__all__ = [
    "Fit",
    "GammaPlus",
    "Gap",
    "PopulationRisk",
    "Sampler",
    "Scorer",
    "gap_plot",
    "generalization_bound",
    "generalization_gap",
    "population_risk",
]
