"""Decisions on rankings: whether a candidate may replace the base."""

from podium.decide.claims import Claim
from podium.decide.gate import gate
from podium.decide.result import Gate
from podium.decide.rules import read_guards

__all__ = ["Claim", "Gate", "gate", "read_guards"]
