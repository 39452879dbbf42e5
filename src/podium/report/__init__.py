"""What shows results, and reports: dictionaries as one offline HTML file with figures.

`Result.to_report` returns a dictionary. ``render`` and ``write`` convert any such dictionary
to a page.
``figures`` draws dictionaries by `podium.plots`. ``tables`` writes Markdown, LaTeX, CSV and text.
"""

from __future__ import annotations

from podium.registry import Elsewhere
from podium.report import figures, tables
from podium.report._page import check_installed, provenance, render, write
from podium.report._types import Figure, File, Provenance, Report, Section, Table
from podium.results import RENDERERS

__all__ = [
    "Figure",
    "File",
    "Provenance",
    "Report",
    "Section",
    "Table",
    "check_installed",
    "figures",
    "provenance",
    "render",
    "tables",
    "write",
]

_SHOWN = {
    "audit": ("Audit",),
    "estimates": ("SampledComparison", "SampledEvaluation"),
    "evaluations": ("Comparison", "Evaluation"),
    "explanation": ("Explanation",),
    "gate": ("Gate",),
    "plan": ("Plan",),
    "search": ("Search",),
}
"""The results that each module shows."""

for _module, _names in _SHOWN.items():
    for _name in _names:
        RENDERERS.enter(_name, Elsewhere(f"podium.report.{_module}", f"{_name}Renderer"))
