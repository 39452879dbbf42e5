"""What the theory of pAp@k says of scores, scorers and samples.

``margins`` measures the four margins of scores and says which surrogates they make zero;
``population_risk`` is the value that a group's risk tends to as the group grows;
``generalization_bound`` and ``generalization_gap`` set how far a sample's risk may be from it
beside how far it is. The page docs/theory.md shows them at work.
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
