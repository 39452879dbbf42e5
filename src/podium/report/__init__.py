"""Reports: dictionaries are rendered as one offline HTML file with figures.

`Result.to_report` returns a dictionary. ``render`` and ``write`` convert any such dictionary
to a page.
``figures`` draws dictionaries by `podium.plots`. ``tables`` writes Markdown, LaTeX, CSV and text.
"""

from __future__ import annotations

from podium.report import figures, tables
from podium.report._page import check_installed, render, write
from podium.report._types import Figure, File, Provenance, Report, Section, Table
from podium.report.provenance import provenance

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
