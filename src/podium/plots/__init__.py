"""Plots from plain data by matplotlib: each function draws one picture and returns its axes.

All plots have the following arguments. `title` is the title. `width` is that of a new figure in
points, which are the pixels of an SVG; a figure whose labels and values need more is wider.
`colours` is the number of each method's colour, so that it is the same in several plots; by default
methods are numbered in order of appearance. `ax` is the axes to draw on; by default, a new figure
is made, which a notebook shows and ``ax.figure.savefig`` saves. None and nan are undefined values,
which are mentioned but not drawn.
"""

from __future__ import annotations

from podium.plots import colours
from podium.plots._canvas import check_installed
from podium.plots.charts import histogram, line_plot
from podium.plots.forest import interval_plot
from podium.plots.svg import to_svg

__all__ = [
    "check_installed",
    "colours",
    "histogram",
    "interval_plot",
    "line_plot",
    "to_svg",
]
