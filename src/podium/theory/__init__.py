"""What the theory of pAp@k says of scores, scorers and samples.

``margins`` measures the four margins of scores and says which surrogates they make zero;
``population_risk`` is the value that a group's risk tends to as the group grows;
``generalization_bound`` and ``generalization_gap`` set how far a sample's risk may be from it
beside how far it is. The page docs/theory.md shows them at work.
"""

from podium.theory._shares import GammaPlus
from podium.theory.bound import generalization_bound
from podium.theory.gap import Fit, Gap, generalization_gap
from podium.theory.margins import MARGINS, SURROGATES, Margin, Margins, margins
from podium.theory.plots import gap_plot
from podium.theory.population import PopulationRisk, Sampler, Scorer, population_risk

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
