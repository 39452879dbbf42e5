"""Why two numbers differ: conventions of measures, and faults of implementations."""

from podium.decide.explain.explanation import Step, Waterfall
from podium.decide.explain.search import Match, Search

__all__ = ["Match", "Search", "Step", "Waterfall"]
