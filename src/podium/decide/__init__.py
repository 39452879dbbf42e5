"""Decisions on rankings: whether a candidate may replace the base, and faults of evaluations."""

from podium.decide.audit import Audit, Effect, Finding, audit
from podium.decide.claims import Claim
from podium.decide.gate import gate
from podium.decide.result import Gate
from podium.decide.rules import read_guards

__all__ = [
    "Audit",
    "Claim",
    "Effect",
    "Finding",
    "Gate",
    "audit",
    "gate",
    "read_guards",
]
