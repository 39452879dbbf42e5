"""Decisions on rankings: replacing a model, faults of evaluations, and differences of numbers."""

from podium.decide.audit.audit import audit
from podium.decide.audit.finding import Audit, Effect, Finding
from podium.decide.claims import Claim
from podium.decide.explain.explanation import Explanation, explain
from podium.decide.gate import gate
from podium.decide.result import Gate

__all__ = [
    "Audit",
    "Claim",
    "Effect",
    "Explanation",
    "Finding",
    "Gate",
    "audit",
    "explain",
    "gate",
]
