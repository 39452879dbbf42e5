"""Decisions on rankings: replacing a model, faults of evaluations, and differences of numbers."""

from podium.decide.audit.audit import Audit, audit
from podium.decide.claims import Claim
from podium.decide.explain.explanation import Explanation, explain
from podium.decide.gate import gate
from podium.decide.result import Gate
from podium.decide.several_runs import compare
from podium.evaluation.finding import Effect, Finding

__all__ = [
    "Audit",
    "Claim",
    "Effect",
    "Explanation",
    "Finding",
    "Gate",
    "audit",
    "compare",
    "explain",
    "gate",
]
