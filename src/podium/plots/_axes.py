"""New axes by matplotlib's default settings, whatever the user's settings are."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter

from podium import _numbers
from podium.plots import colours


class PlotAxes(Axes):
    """Axes that a notebook shows as the last value of a cell."""

    def _repr_svg_(self) -> str:
        from podium.plots.svg import to_svg

        return to_svg(self, background=colours.LIGHT["paper"])


class TickLabels(Formatter):
    """Labels of all ticks of an axis with the same decimals."""

    def __init__(self, *, signed: bool) -> None:
        self._signed = signed

    def __call__(self, x: float, pos: int | None = None) -> str:
        return _numbers.fixed(x, _numbers.decimals([x]), signed=self._signed)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        ticks = [tick for tick in values if low <= tick <= high]
        labels = _numbers.tick_labels(ticks, signed=self._signed) if ticks else []
        by_tick = dict(zip(ticks, labels, strict=True))
        return [by_tick.get(tick, "") for tick in values]


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
