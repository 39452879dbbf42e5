"""The area of a plot: a new figure, whose height follows from its content, or axes of the caller.

Nothing here imports matplotlib before a canvas is opened. matplotlib's constrained layout makes
room for text. It measures text by a font that is as wide as those of readers.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from podium import _check, _text
from podium.errors import ArgumentError
from podium.plots import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

T = TypeVar("T")

SIZE = 13
SMALL = 12
MOST_DRAWN = 80  # rows or lines
DASHED: dict[str, Any] = {"linewidth": 1.5, "linestyle": (0, (3.3, 2.7))}
"""The style of lines that mark a mean or a reference."""
_TITLE_SIZE = 15
_POINTS = 72.0  # in an inch
_TICK = 110  # points of a plot's width for each tick of its horizontal axis
_DARK = 0.4  # backgrounds below this luminance get the dark scheme


class Style(TypedDict, total=False):
    """The arguments of all plots, see `podium.plots`."""

    title: str
    width: float
    colours: Mapping[str, int] | None
    ax: Axes | None


def check_installed() -> None:
    """Raise MissingExtraError if matplotlib, the extra ``plots``, is missing."""
    _check.extra("matplotlib", "plots", "A plot")


@contextmanager
def canvas(
    *,
    title: str = "",
    width: float = 720,
    colours: Mapping[str, int] | None = None,
    ax: Axes | None = None,
) -> Generator[Canvas]:
    """Open a canvas, and at the end write its title and notes and set its height."""
    check_installed()
    from podium.plots import _axes, svg

    with svg.default_settings() if ax is None else nullcontext():
        opened = Canvas(_axes.new_axes() if ax is None else ax, width, title, is_own=ax is None)
        opened.numbers = colours
        yield opened
        opened.finish()


class Canvas:
    """The area of a plot.

    Attributes
    ----------
    is_own : bool
        Whether the figure is new.
    width, height : float
        The width of the figure or of the caller's axes, and the height of the data, in points.
    paints : dict
        The colours by tone, for light or dark axes.
    numbers : dict of str to int, or None
        The number of each method's colour.
    notes : list of str
        The notes below the plot.
    description : str
        All values as text, for readers who do not see the plot.
    """

    def __init__(self, ax: Any, width: float, title: str, *, is_own: bool) -> None:
        self.is_own = is_own
        self.width = _check.number(width, "width", low=240) if is_own else _width(ax)
        self.ax: Any = ax
        self.height = 24.0
        self.description = ""
        self.numbers: Mapping[str, int] | None = None
        self.paints: Mapping[str, str] = colours.LIGHT if is_own else _paints(ax)
        self._title = _text.printable(title)
        self.notes: list[str] = []
        self._lines_above = 0

    def first(self, things: Sequence[T], noun: str) -> Sequence[T]:
        """Return the things that are drawn, and note how many are not."""
        if len(things) > MOST_DRAWN:
            self.notes.append(f"{len(things) - MOST_DRAWN:,} more {noun} are not drawn.")
        return things[:MOST_DRAWN]

    def empty(self, text: str = "No values.") -> Axes:
        """Write a sentence in place of a plot without values."""
        self.ax.set_axis_off()
        self.write(text, (0, 0.5), tone="muted")
        self.description = text
        return self.ax

    def write(
        self,
        content: str,
        place: tuple[float, float],
        *,
        coords: tuple[str, str] = ("axes fraction", "axes fraction"),
        offset: tuple[float, float] = (0, 0),
        room: float = math.inf,
        tone: str = "ink",
        size: float = SIZE,
        **style: Any,
    ) -> None:
        """Write a line beside a place, shortened to the room for it."""
        self.ax.annotate(
            _text.shorten(_text.printable(content), size, room),
            place,
            offset,
            coords,
            "offset points",
            annotation_clip=False,
            color=self.paints[tone],
            fontsize=size,
            parse_math=False,
            **style,
        )

    def above(self, content: str, x: float, *, at_value: bool = False, **style: Any) -> None:
        """Write a muted line above the plot, higher than the lines before it."""
        coords = "data" if at_value else "axes fraction", "axes fraction"
        offset = (0, 6 + 17 * self._lines_above)
        style = {"tone": "muted", "size": SMALL, "room": self.width - 16, **style}
        self.write(content, (x, 1), coords=coords, offset=offset, **style)
        self._lines_above += 1

    def style_axis(self, axis: Any, label: str = "") -> None:
        """Leave a thin line below the data and a light grid; label the axis and its ticks."""
        ax = axis.axes
        ax.patch.set_visible(False)
        ax.spines[["left", "right", "top"]].set_visible(False)
        ax.spines["bottom"].set(color=self.paints["axis"], linewidth=1)
        ax.set_axisbelow(True)
        which, is_across = axis.axis_name, axis is ax.xaxis
        ax.grid(visible=True, axis=which, color=self.paints["grid"], linewidth=1)
        ax.tick_params(which, which="both", length=0, pad=7, labelsize=SMALL)
        ax.tick_params(which, which="both", labelcolor=self.paints["muted"])
        axis.set_major_formatter("{x:,.10g}")
        if is_across and axis.get_scale() == "linear":  # labels must not touch
            axis.get_major_locator().set_params(nbins=int(min(8, max(2, self.width / _TICK))))
        if label and self.is_own and not is_across:
            self.above(label, 0)
        elif label:
            style = {"color": self.paints["muted"], "fontsize": SMALL, "parse_math": False}
            lines = _text.wrap(_text.printable(label), SMALL, self.width - 16)
            axis.set_label_text("\n".join(lines), **style)

    def style_axes(self, x_label: str, y_label: str) -> None:
        """Label both axes, each with a thin line and a light grid."""
        self.style_axis(self.ax.xaxis, x_label)
        self.style_axis(self.ax.yaxis, y_label)

    def log_axis(self, name: str, ends: tuple[float, float], length: float) -> None:
        """Make an axis logarithmic, with ticks at multiples of powers of ten if several fit."""
        from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

        self.ax.set(**{f"{name}scale": "log"})
        axis = self.ax.xaxis if name == "x" else self.ax.yaxis
        n_ticks, n_decades = length / 50, math.log10(ends[1] / ends[0])
        steps = (1, 2, 5) if 3 * n_decades <= n_ticks else (1,)
        short = MaxNLocator(max(2, min(6, int(n_ticks / 1.5))), steps=[1, 2, 5, 10])
        axis.set_major_locator(LogLocator(subs=steps) if n_decades > 0.5 else short)
        axis.set_minor_locator(NullLocator())

    def legend(self) -> None:
        """List the labels beside the plot, or inside the axes of the caller."""
        style: dict[str, Any] = {"frameon": False, "labelcolor": self.paints["ink"]}
        if self.is_own:
            style |= {"loc": "center left", "bbox_to_anchor": (1, 0.5), "fontsize": SMALL}
        for text in self.ax.legend(**style).get_texts():
            text.set_parse_math(False)
            text.set_text(_text.shorten(text.get_text(), SMALL, 0.3 * self.width))

    def finish(self) -> None:
        """Write title and notes, and set the size of a new figure."""
        room = self.width - 16
        texts = map(_text.printable, dict.fromkeys(self.notes))
        notes = [line for text in texts for line in _text.wrap(text, SMALL, room)]
        figure = self.ax.get_figure(root=True)
        style: dict[str, Any] = {"parse_math": False}
        muted: dict[str, Any] = {"fontsize": SMALL, "color": self.paints["muted"]}
        if not self.is_own:
            if self._title:
                self.ax.set_title(self._title, pad=6 + 17 * self._lines_above, **style)
            if notes:
                label = filter(None, [self.ax.get_xlabel(), *notes])
                self.ax.set_xlabel("\n".join(label), **muted, **style)
            return
        style |= {"x": 4 / self.width, "ha": "left"}
        bold: dict[str, Any] = {"fontweight": "bold", "color": self.paints["ink"]}
        lines = _text.wrap(self._title, _TITLE_SIZE * _text.BOLD, room)
        if lines:
            figure.suptitle("\n".join(lines), fontsize=_TITLE_SIZE, **bold, **style)
        if notes:
            figure.supxlabel("\n".join(notes), **muted, **style)
        label_lines = self.ax.get_xlabel().count("\n") + bool(self.ax.get_xlabel())
        height = self.height + 20 * len(lines) + 17 * (len(notes) + self._lines_above)
        height += 42 + 16 * label_lines
        figure.set_size_inches(self.width / _POINTS, height / _POINTS)
        figure.set_gid(self._title)  # to_svg reads the title and the description there
        figure.set_label(_text.printable(self.description))


def _paints(ax: Any) -> Mapping[str, str]:
    """Return the scheme for the background of axes, with this background as its paper."""
    from matplotlib.colors import to_hex, to_rgba

    figure = ax.get_figure(root=True)
    grounds = ax.get_facecolor(), figure.get_facecolor()
    ground = next((g for g in map(to_rgba, grounds) if g[3] > 0.5), to_rgba("white"))
    red, green, blue, _ = ground
    is_dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < _DARK
    return {**(colours.DARK if is_dark else colours.LIGHT), "paper": to_hex(ground)}


def _width(ax: Any) -> float:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise ArgumentError(f"ax must be matplotlib Axes or None, got {type(ax).__name__}.")
    figure: Any = ax.get_figure(root=True)
    return ax.get_window_extent().width / figure.dpi * _POINTS
