"""New axes, which a notebook shows as SVG."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from podium.plots import colours
from podium.plots.svg import to_svg


class PlotAxes(Axes):
    """Axes that a notebook shows as the last value of a cell."""

    def _repr_svg_(self) -> str:
        return to_svg(self, background=colours.LIGHT["paper"])


def new_axes() -> Axes:
    """Return axes in a new figure, which no window shows."""
    figure: Any = Figure(layout="constrained")
    figure.get_layout_engine().set(w_pad=5 / 72)
    return figure.add_subplot(axes_class=PlotAxes, facecolor="none")
