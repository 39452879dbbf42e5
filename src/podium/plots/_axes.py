"""New axes by matplotlib's default settings, whatever the user's settings are."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from podium.plots import colours


class PlotAxes(Axes):
    """Axes that a notebook shows as the last value of a cell."""

    def _repr_svg_(self) -> str:
        from podium.plots.svg import to_svg

        return to_svg(self, background=colours.LIGHT["paper"])


@contextmanager
def default_settings() -> Generator[None]:
    """Let matplotlib have its default settings for a while."""
    settings: Any = mpl
    with settings.rc_context():
        settings.rcdefaults()
        settings.rcParams["font.family"] = ["DejaVu Sans"]  # comes with matplotlib
        settings.rcParams["svg.fonttype"] = "none"
        settings.rcParams["svg.hashsalt"] = "podium"
        yield


def new_axes() -> Axes:
    """Return axes in a new figure, which no window shows."""
    figure: Any = Figure(layout="constrained")
    figure.get_layout_engine().set(w_pad=5 / 72)
    return figure.add_subplot(axes_class=PlotAxes, facecolor="none")
