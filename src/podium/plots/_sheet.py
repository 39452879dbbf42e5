"""The area of a plot: a new figure, whose size follows from its content, or axes of the caller.

Places on a sheet are in points from its top left corner, with y downwards. A point is a pixel of
an SVG. On axes of the caller, places inside them are shares of their size, and places outside keep
their distance from the nearest side, so that a plot stays whole if a layout moves the axes. Nothing
here imports matplotlib before a sheet is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from podium import _check, _text
from podium.errors import ArgumentError
from podium.plots import _scales, colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

T = TypeVar("T")

PHONE = 480  # in narrower figures, labels are above the marks and not beside them
SIZE = 13
LABEL_SIZE = 12.5
NOTE_SIZE = 12
TITLE_SIZE = 15
X_AXIS = 24  # height of the tick labels below a plot
X_LABEL = 20  # height of the axis label below the tick labels
MOST_ROWS = 40
MOST_LINES = 24
DASHED: dict[str, Any] = {"linewidth": 1.5, "linestyle": (0, (5 / 1.5, 4 / 1.5))}
"""The style of lines that mark a mean or a reference."""
_TITLE_LINE = 20
_NOTE_LINE = 17
_POINTS = 72.0  # in an inch


def check_installed() -> None:
    """Raise MissingExtraError if matplotlib, the extra ``plots``, is missing."""
    _check.extra("matplotlib", "plots", "A plot")


class Sheet:
    """The area of a plot.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, optional
        Axes of the caller, which become the data area. By default, a new figure is made.
    width : int
        The width of a new figure in points, at least 240.
    title : str
        The title, wrapped to the width of a new figure.

    Attributes
    ----------
    is_own : bool
        Whether the figure is new.
    top : float
        The place below the title.
    paints : dict
        The colours by tone, for light or dark axes.
    """

    def __init__(self, ax: Axes | None, width: int, title: str) -> None:
        check_installed()
        from podium.plots import _drawing

        self.is_own = ax is None
        self.width = float(_check.number(width, "width", low=240)) if ax is None else _width(ax)
        self.title = _text.printable(title)
        room = self.width - 8
        bold = TITLE_SIZE * _text.BOLD
        self._title_lines = _text.wrap(self.title, bold, room) if self.is_own else []
        self.top = 8.0 + len(self._title_lines) * _TITLE_LINE + 8 * bool(self._title_lines)
        self._notes: list[str] = []
        self.ax: Any = _drawing.new_axes(self.width) if ax is None else ax
        self.paints: Mapping[str, str] = colours.LIGHT if ax is None else _drawing.paints(ax)
        self._transform = _drawing.from_corner(self.ax) if ax is None else self.ax.transAxes
        self._panels: Any = None  # the transform from places to the axes of the caller
        self._area = (0.0, 0.0, self.width, 1.0)  # left, top, right, bottom of the data

    def place(self, left: float, right: float, height: float) -> tuple[float, float]:
        """Give the axes these margins and this height; return their first and last x.

        Axes of the caller stay where they are, and the margins lie outside of them.
        """
        if self.is_own:
            self._box = (left, self.top, self.width - left - right, height)
        else:
            self.width += left + right
        self.bottom = self.top + height
        self._area = (left, self.top, self.width - right, self.bottom)
        return left, self.width - right

    def host(self, height: float) -> None:
        """Give the axes, which only hold panels, this height."""
        self.ax.set_axis_off()
        if self.is_own:
            self._box = (0.0, 0.0, self.width, height)
        else:
            self._panels.scale(1 / self.width, 1 / height).translate(0, 1)
            self._area, self._panels = (0.0, 0.0, self.width, height), None
        self.bottom = height

    def hold_panels(self) -> None:
        """Let places on axes of the caller be those of panels, which `host` fits into the axes."""
        from podium.plots import _drawing

        if not self.is_own:
            self._panels = _drawing.movable()
            self._transform = self._panels + self.ax.transAxes

    def panel(self, left: float, top: float, width: float, height: float) -> Any:
        """Return new axes inside the host's."""
        transform = self._transform
        unit = _POINTS if self.is_own else 1.0
        bounds = (left / unit, -(top + height) / unit, width / unit, height / unit)
        return self.ax.inset_axes(bounds, transform=transform, facecolor="none")

    def text(
        self,
        x: float,
        y: float,
        content: str,
        *,
        size: float = SIZE,
        anchor: str = "left",
        tone: str = "ink",
        bold: bool = False,
        halo: bool = False,
        room: float = math.inf,
        along: Any = None,
    ) -> None:
        """Write one line; text that does not fit is shortened, with a tooltip of the full text.

        A halo in the background colour keeps text readable above lines. With `along`, y is a
        value on the vertical axis of these axes, and text is centred on it.
        """
        from podium.plots import _drawing

        content = _text.printable(content)
        written = _text.shorten(content, size * (_text.BOLD if bold else 1), room)
        place, transform = self._place(x, 0.0 if along else y)
        _drawing.text(
            along or self.ax,
            (place[0], y) if along else place,
            written,
            transform=_drawing.along(transform, along, size) if along else transform,
            hint=content if written != content else "",
            halo=halo,
            color=self.paints[tone],
            fontsize=size,
            ha=anchor,
            fontweight="bold" if bold else "normal",
        )

    def _place(self, x: float, y: float) -> tuple[tuple[float, float], Any]:
        """Return a place in units of a transform, and the transform."""
        from podium.plots import _drawing

        if self.is_own:
            return (x / _POINTS, -y / _POINTS), self._transform
        if self._panels is not None:
            return (x, -y), self._transform
        return _drawing.beside(self.ax, x, y, self._area)

    def line(self, xs: Sequence[float], ys: Sequence[float], tone: str, **style: Any) -> None:
        """Draw a line between places of a new figure."""
        self.ax.plot(
            [x / _POINTS for x in xs],
            [-y / _POINTS for y in ys],
            transform=self._transform,
            color=self.paints[tone],
            clip_on=False,
            scalex=False,
            scaley=False,
            **style,
        )

    def legend(self, keys: Sequence[tuple[str, str, dict[str, Any]]]) -> None:
        """Write labels with short lines in their tone and style, in rows above the plot."""
        x, y = 4.0, self.top + 10
        for label, tone, style in keys:
            label_width = min(_text.width(label, LABEL_SIZE), self.width - 40)
            if x > 4 and x + 22 + label_width > self.width - 4:
                x, y = 4.0, y + 20
            self.line([x + 1, x + 8, x + 15], [y - 4] * 3, tone, **style)
            self.text(x + 21, y, label, size=LABEL_SIZE, room=label_width)
            x += 22 + label_width + 14
        self.top = y + 16

    def native_legend(self) -> None:
        """Let matplotlib place the labels of artists on axes of the caller."""
        legend = self.ax.legend(frameon=False, labelcolor=self.paints["ink"])
        for text in legend.get_texts():
            text.set_parse_math(False)

    def note(self, text: str) -> None:
        """Add a note below the plot."""
        self._notes.append(text)

    def first(self, things: Sequence[T], noun: str, most: int = MOST_ROWS) -> Sequence[T]:
        """Return the things that are drawn, and note how many are not."""
        if len(things) > most:
            self.note(f"{len(things) - most:,} more {noun} are not drawn.")
        return things[:most]

    def empty(self, text: str = "No values.") -> Axes:
        """Finish a plot without values by a sentence."""
        self.place(4, 4, 24)
        self.ax.set_axis_off()
        self.text(4, self.top + 14, text, tone="muted")
        return self.finish(text)

    def finish(self, description: str) -> Axes:
        """Write title and notes, set the size of a new figure, and return the axes."""
        from podium.plots import _drawing

        for note in dict.fromkeys(self._notes):
            lines = _text.wrap(_text.printable(note), NOTE_SIZE, self.width - 8)
            for line in lines:
                self.text(4, self.bottom + NOTE_SIZE, line, size=NOTE_SIZE, tone="muted")
                self.bottom += _NOTE_LINE
        if self.is_own:
            for i, line in enumerate(self._title_lines):
                y = 18 + i * _TITLE_LINE
                self.text(4, y, line, size=TITLE_SIZE, bold=True)
            _drawing.resize(self.ax, self._box, (self.width, self.bottom + 4))
            figure = self.ax.get_figure()
            if figure is not None:  # to_svg reads the title and the description there
                figure.set_gid(self.title)
                figure.set_label(_text.printable(description))
        elif self.title:
            self.ax.set_title(self.title, pad=self.top, parse_math=False)
        return self.ax

    def x_axis(
        self,
        ax: Any,
        scale: _scales.Scale,
        *,
        label: str = "",
        signed: bool = False,
        integers: bool = False,
    ) -> None:
        """Set limits, grid, ticks and label of a horizontal axis; move the bottom below them."""
        from podium.plots import _drawing

        is_log = isinstance(scale, _scales.LogScale)
        _drawing.style(ax, self.paints, "x")
        _drawing.axis(ax.xaxis, scale.low, scale.high, log=is_log, signed=signed, integers=integers)
        if ax is self.ax:
            self.bottom += X_AXIS
        if label:
            self._x_label(ax, scale, _text.printable(label))
            self.bottom += X_LABEL

    def y_axis(self, ax: Any, scale: _scales.Scale) -> None:
        """Set limits, grid and ticks of a vertical axis."""
        from podium.plots import _drawing

        is_log = isinstance(scale, _scales.LogScale)
        _drawing.style(ax, self.paints, "y")
        _drawing.axis(ax.yaxis, scale.low, scale.high, log=is_log)

    def name_y(self, label: str) -> None:
        """Write a label above the vertical axis of a new figure, or beside that of given axes."""
        label = _text.printable(label)
        if label and self.is_own:
            room = self.width - 8
            self.text(4, self.top - 12, label, size=LABEL_SIZE, tone="muted", room=room)
        elif label:
            text = self.ax.set_ylabel(label, color=self.paints["muted"], fontsize=LABEL_SIZE)
            text.set_parse_math(False)

    def _x_label(self, ax: Any, scale: _scales.Scale, label: str) -> None:
        """Write the label in the middle of the axis, or shifted to stay inside the figure."""
        written = _text.shorten(label, LABEL_SIZE, self.width - 8)
        half = _text.width(written, LABEL_SIZE) / 2
        middle = (scale.start + scale.end) / 2
        middle = max(half + 4, min(middle, self.width - half - 4))
        text = ax.set_xlabel(written, labelpad=7, fontsize=LABEL_SIZE, color=self.paints["muted"])
        text.set_parse_math(False)
        text.set_x((middle - scale.start) / (scale.end - scale.start))
        if written != label:
            from podium.plots import _drawing

            _drawing.mark(text, hint=label)


def spread(positions: Sequence[float], top: float, bottom: float) -> list[float]:
    """Move rising positions at least one line of text apart, and keep them above the bottom."""
    placed: list[float] = []
    for y in positions:
        placed.append(max(y, placed[-1] + _NOTE_LINE) if placed else max(y, top))
    limit = bottom
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - _NOTE_LINE
    return placed


def _width(ax: Any) -> float:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise ArgumentError(f"ax must be matplotlib Axes or None, got {type(ax).__name__}.")
    figure = ax.get_figure(root=True)
    inches = ax.get_window_extent().width / figure.dpi if figure is not None else 5.0
    return inches * _POINTS
