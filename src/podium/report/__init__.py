"""Reports: dictionaries are rendered as one offline HTML file with figures.

``evaluation_report`` and ``comparison_report`` convert the JSON of ``podium measure`` and
``podium compare`` to a report's dictionary. ``render`` and ``write`` convert any such dictionary
to a page. ``gate`` and ``audit`` write the results of ``podium gate`` and ``podium audit`` as
tables, Markdown or JUnit XML.
``figures`` draws dictionaries by `podium.plots`. ``tables`` writes Markdown, LaTeX, CSV and text.
"""

from __future__ import annotations

from podium.report import audit, figures, gate, tables
from podium.report._measured import comparison_report, evaluation_report
from podium.report._page import check_installed, render, write
from podium.report._types import Figure, File, Lists, Provenance, Report, Section, Table
from podium.report.provenance import provenance

__all__ = [
    "Figure",
    "File",
    "Lists",
    "Provenance",
    "Report",
    "Section",
    "Table",
    "audit",
    "check_installed",
    "comparison_report",
    "evaluation_report",
    "figures",
    "gate",
    "provenance",
    "render",
    "tables",
    "write",
]
