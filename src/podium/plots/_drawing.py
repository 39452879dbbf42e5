"""What plots need of matplotlib: axes, transforms, ticks and their labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, Locator, NullLocator
from matplotlib.transforms import (
    Affine2D,
    ScaledTranslation,
    Transform,
    blended_transform_factory,
)

from podium import _numbers
from podium.plots import _scales, colours
from podium.plots._marks import HALO, HINT

T = TypeVar("T")

_POINTS = 72.0
_DARK = 0.4  # backgrounds below this luminance get the dark scheme


class PlotAxes(Axes):
    """Axes that a notebook shows as the last value of a cell."""

    def _repr_svg_(self) -> str:
        from podium.plots.svg import to_svg

        return to_svg(self, background=colours.LIGHT["paper"])


def with_defaults(call: Callable[[], T]) -> T:
    """Call with matplotlib's default settings; the user's settings stay as they are."""
    settings: Any = mpl
    with settings.rc_context():
        settings.rcdefaults()
        settings.rcParams["font.family"] = ["DejaVu Sans"]  # comes with matplotlib
        return call()


def new_axes(width: float) -> Any:
    """Return axes in a new figure, which no window shows."""
    return with_defaults(lambda: _new_axes(width))


def _new_axes(width: float) -> Any:
    figure: Any = Figure(figsize=(width / _POINTS, 1.0))
    return figure.add_axes((0.0, 0.0, 1.0, 1.0), axes_class=PlotAxes, facecolor="none")


def resize(ax: Any, box: Sequence[float], size: tuple[float, float]) -> None:
    """Set the size of a figure and the box of its axes, in points from the top left corner."""
    left, top, width, height = box
    figure = ax.get_figure(root=True)
    if figure is not None:
        figure.set_size_inches(size[0] / _POINTS, size[1] / _POINTS)
    ax.patch.set_visible(False)
    bottom = 1 - (top + height) / size[1]
    ax.set_position((left / size[0], bottom, width / size[0], height / size[1]))


def from_corner(ax: Any) -> Transform:
    """Return a transform from inches, with y upwards, from the top left corner of a figure."""
    figure = ax.get_figure(root=True)
    return figure.dpi_scale_trans + ScaledTranslation(0.0, 1.0, figure.transFigure)


def beside(
    ax: Any, x: float, y: float, area: Sequence[float]
) -> tuple[tuple[float, float], Transform]:
    """Return a place in or beside axes as a share of their size, with a transform.

    Outside of the axes, the transform keeps the distance from the nearest side.

    Parameters
    ----------
    ax : Axes
    x, y : float
        The place in points, with y downwards.
    area : (left, top, right, bottom)
        The sides of the axes in the same units.
    """
    left, top, right, bottom = area
    inside = min(max(x, left), right), min(max(y, top), bottom)
    shares = (inside[0] - left) / (right - left), (bottom - inside[1]) / (bottom - top)
    figure = ax.get_figure(root=True)
    if figure is None:
        return shares, ax.transAxes
    offset = (x - inside[0]) / _POINTS, (inside[1] - y) / _POINTS
    return shares, ax.transAxes + ScaledTranslation(*offset, figure.dpi_scale_trans)


def movable() -> Affine2D:
    """Return a transform that does nothing yet."""
    return Affine2D()


def along(transform: Transform, ax: Any, size: float) -> Transform:
    """Return a transform whose y is a value of the axes; the text is centred there."""
    figure = ax.get_figure(root=True)
    blended = blended_transform_factory(transform, ax.transData)
    if figure is None:
        return blended
    return blended + ScaledTranslation(0.0, -0.35 * size / _POINTS, figure.dpi_scale_trans)


def paints(ax: Any) -> Mapping[str, str]:
    """Return the scheme for the background of axes, with this background as its paper."""
    figure = ax.get_figure(root=True)
    grounds = [ax.get_facecolor()] + ([figure.get_facecolor()] if figure is not None else [])
    ground = next((g for g in map(to_rgba, grounds) if g[3] > 0.5), to_rgba("white"))
    red, green, blue = to_rgb(ground)
    is_dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < _DARK
    return {**(colours.DARK if is_dark else colours.LIGHT), "paper": to_hex(ground)}


def text(
    ax: Any,
    place: tuple[float, float],
    content: str,
    *,
    transform: Transform,
    hint: str = "",
    halo: bool = False,
    **style: Any,
) -> None:
    """Write text outside or inside axes, without interpreting any sign in it."""
    written = ax.text(
        *place,
        content,
        transform=transform,
        parse_math=False,
        clip_on=False,
        va="baseline",
        zorder=4,
        **style,
    )
    mark(written, hint=hint, halo=halo)


def mark(artist: Any, *, hint: str = "", halo: bool = False) -> None:
    """Note for `to_svg` that an artist has a tooltip, or text a halo."""
    if hint or halo:
        artist.set_gid(f"{HALO if halo else HINT}{hint}")


def style(ax: Any, tones: Mapping[str, str], which: str) -> None:
    """Leave a thin line below the data and a light grid of one axis."""
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set(color=tones["axis"], linewidth=1)
    ax.set_axisbelow(True)
    ax.grid(visible=True, axis="x" if which == "x" else "y", color=tones["grid"], linewidth=1)
    pad = {"x": 7, "y": 8}[which]
    ax.tick_params(
        axis="x" if which == "x" else "y",
        which="both",
        length=0,
        pad=pad,
        labelsize=_scales.TICK_SIZE,
        labelcolor=tones["muted"],
    )


def no_y_axis(ax: Any, low: float, high: float) -> None:
    """Hide a vertical axis that only numbers rows, from `low` at the top to `high`."""
    ax.set_ylim(high, low)
    ax.yaxis.set_major_locator(NullLocator())


def axis(
    given: Any,
    low: float,
    high: float,
    *,
    log: bool = False,
    signed: bool = False,
    integers: bool = False,
) -> None:
    """Set the limits of an axis, and ticks that follow its length."""
    axes = given.axes
    is_across = given is axes.xaxis
    if log:
        (axes.set_xscale if is_across else axes.set_yscale)("log", nonpositive="mask")
    (axes.set_xlim if is_across else axes.set_ylim)(low, high)
    given.set_major_locator(_Ticks(is_across=is_across, signed=signed, integers=integers))
    given.set_minor_locator(NullLocator())
    given.set_major_formatter(_Labels(signed=signed))


class _Ticks(Locator):
    """Round values whose labels do not overlap."""

    def __init__(self, *, is_across: bool, signed: bool, integers: bool) -> None:
        self._is_across, self._signed, self._integers = is_across, signed, integers

    def __call__(self) -> Sequence[float]:
        tick_axis: Any = self.axis
        low, high = sorted(tick_axis.get_view_interval())
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        tick_axis: Any = self.axis
        axes = tick_axis.axes
        figure = axes.get_figure(root=True)
        extent = axes.get_window_extent()
        dots = extent.width if self._is_across else extent.height
        length = dots * _POINTS / figure.dpi
        is_log = tick_axis.get_scale() == "log"
        scale = (_scales.LogScale if is_log else _scales.Scale)(vmin, vmax, 0, length)
        if not self._is_across:
            return _scales.up_ticks(scale)
        return _scales.across_ticks(scale, signed=self._signed, integers=self._integers)


class _Labels(Formatter):
    """Labels of all ticks with the same decimals."""

    def __init__(self, *, signed: bool) -> None:
        self._signed = signed

    def __call__(self, x: float, pos: int | None = None) -> str:
        return _numbers.fixed(x, _numbers.decimals([x]), signed=self._signed)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        return _numbers.tick_labels(values, signed=self._signed) if len(values) else []
