"""Why two numbers differ: conventions of measures, and differences of tables."""

from podium.decide.explain.explanation import Differences, Line, Step, Waterfall
from podium.decide.explain.search import Match, Search

__all__ = ["Differences", "Line", "Match", "Search", "Step", "Waterfall"]
