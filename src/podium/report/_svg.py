"""SVG elements: a canvas that collects them, escapes all text, and supports two colour schemes.

Colours are presentation attributes of the light scheme, so that a figure is complete by itself.
Each element also has a class (`ink-fill`, `c2-stroke`), with which a page changes its colour in
the dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from podium.report import _text

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

# Eight hues that differ with each usual form of colour blindness, with a contrast of at least 3:1.
LIGHT = {
    "ink": "#1b1f24",
    "muted": "#57606a",
    "axis": "#8c959f",
    "grid": "#e4e8ec",
    "paper": "#ffffff",
    "c0": "#1159a3",
    "c1": "#df700d",
    "c2": "#1ba771",
    "c3": "#91195c",
    "c4": "#6f4900",
    "c5": "#8c92b0",
    "c6": "#7857db",
    "c7": "#5f543c",
}
DARK = {
    "ink": "#e8ebee",
    "muted": "#a4adb7",
    "axis": "#6e7781",
    "grid": "#2b3138",
    "paper": "#15181c",
    "c0": "#57c2ff",
    "c1": "#d56c29",
    "c2": "#099968",
    "c3": "#c164b0",
    "c4": "#efc62c",
    "c5": "#c3d7e7",
    "c6": "#7b88f3",
    "c7": "#d1c2b8",
}
N_COLOURS = 8


def series(number: int) -> str:
    """Return the tone of a series. Tones repeat after 8 series; repeated lines are dashed."""
    return f"c{number % N_COLOURS}"


def number(value: float) -> str:
    """Return a coordinate as text with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


class Canvas:
    """The elements of a figure that is `width` pixels wide; its height is given at the end."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._elements: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        content: str,
        *,
        size: float = 13,
        anchor: str = "start",
        tone: str = "ink",
        bold: bool = False,
        halo: bool = False,
        room: float = math.inf,
    ) -> None:
        """Write one line; text that does not fit is shortened, with a tooltip of the full text.

        A halo in the background colour keeps text readable above lines.
        """
        content = _text.printable(content)
        short_text = _text.shorten(content, size * (_text.BOLD if bold else 1), room)
        tooltip = f"<title>{escape(content)}</title>" if short_text != content else ""
        style = ' font-weight="600"' if bold else ""
        style += ' stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if halo else ""
        paint = _paint(tone, "paper" if halo else "")
        self._elements.append(
            f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" '
            f'text-anchor="{anchor}"{style}{paint}>{tooltip}{escape(short_text)}</text>'
        )

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        *,
        tone: str,
        thickness: float = 1,
        dash: str = "",
    ) -> None:
        """Add a straight line."""
        self.path([(x1, y1), (x2, y2)], tone=tone, thickness=thickness, dash=dash)

    def path(
        self,
        points: Sequence[tuple[float, float]],
        *,
        tone: str,
        thickness: float = 2,
        dash: str = "",
    ) -> None:
        """Add straight segments through the points."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._elements.append(
            f'<path d="{_steps(points)}" stroke-width="{number(thickness)}" '
            f'stroke-linecap="round" stroke-linejoin="round"{dashes}{_paint("", tone)}/>'
        )

    def area(self, points: Sequence[tuple[float, float]], *, tone: str, opacity: float) -> None:
        """Add a filled polygon."""
        self._elements.append(
            f'<path d="{_steps(points)}Z" fill-opacity="{number(opacity)}"{_paint(tone)}/>'
        )

    def dot(
        self, x: float, y: float, *, tone: str, radius: float = 5, hollow: bool = False
    ) -> None:
        """Add a filled circle, or a ring filled with the page's colour."""
        paint = _paint("paper", tone) + ' stroke-width="2"' if hollow else _paint(tone)
        self._elements.append(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"{paint}/>'
        )

    def rect(
        self, x: float, y: float, width: float, height: float, *, tone: str, hint: str = ""
    ) -> None:
        """Add a filled rectangle, with a tooltip."""
        tip = f"<title>{escape(_text.printable(hint))}</title>" if hint else ""
        self._elements.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
            f'height="{number(height)}"{_paint(tone)}>{tip}</rect>'
        )

    def svg(self, height: float, *, title: str, description: str, background: str | None) -> str:
        """Return the whole figure, with its title and a description for screen readers."""
        ground = (
            f'<rect width="100%" height="100%" fill="{escape(background)}"/>' if background else ""
        )
        name = escape(_text.printable(title))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="podium-figure" role="img" '
            f'aria-label="{name}" viewBox="0 0 {self.width} {number(height)}" '
            f'width="{self.width}" height="{number(height)}" font-family="{FONT}">'
            f"<title>{name}</title><desc>{escape(_text.printable(description))}</desc>"
            f"{ground}{''.join(self._elements)}</svg>"
        )


def stylesheet() -> str:
    """Return CSS rules that set the colour of each class from the page's variables."""
    rules = [
        f".podium-figure .{tone}-{kind} {{ {kind}: var(--{tone}); }}"
        for tone in LIGHT
        for kind in ("fill", "stroke")
    ]
    return "\n".join(rules)


def variables(scheme: dict[str, str]) -> str:
    """Return a colour scheme as CSS variables."""
    return " ".join(f"--{tone}: {colour};" for tone, colour in scheme.items())


def _paint(fill: str, stroke: str = "") -> str:
    """Return colours as attributes, and the classes with which a page can change them."""
    paint = f' fill="{LIGHT[fill] if fill else "none"}"'
    paint += f' stroke="{LIGHT[stroke]}"' if stroke else ""
    classes = [f"{fill}-fill"] * bool(fill) + [f"{stroke}-stroke"] * bool(stroke)
    return f'{paint} class="{" ".join(classes)}"'


def _steps(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
