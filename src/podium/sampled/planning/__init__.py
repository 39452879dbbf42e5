"""How many items to sample for an error: designs, what each costs, and how far off it is."""

from podium.sampled.planning.designs import PlannedDesign
from podium.sampled.planning.plans import Plan, plan

__all__ = ["Plan", "PlannedDesign", "plan"]
