"""Why two numbers differ: conventions of measures, and differences of tables."""

from podium.decide.explain.answers import Match, Search
from podium.decide.explain.tables import Differences, Line
from podium.decide.explain.waterfall import Step, Waterfall

__all__ = ["Differences", "Line", "Match", "Search", "Step", "Waterfall"]
