"""Figures as SVG that a page can contain: text as text, two colour schemes, no ids.

matplotlib writes style attributes, groups with ids and definitions. Here they become plain
attributes, and each colour also a class (`ink-fill`, `c2-stroke`), with which a page changes the
colour in the dark scheme. The attributes have the light scheme, so that a figure is complete by
itself.
"""

from __future__ import annotations

import io
import re
import warnings
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from podium.plots import _marks, colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_NAMESPACE = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_TONES = {colour: tone for tone, colour in colours.LIGHT.items()}
_NUMBER = re.compile(r"-?\d+\.\d+")
_NOT_STYLED = ("font-family", "stroke-miterlimit", "stroke-dashoffset")
_DEFAULTS = {
    "stroke-linejoin": "round",
    "fill-opacity": "1",
    "font-weight": "400",
    "text-anchor": "start",
}


def to_svg(ax: Axes, *, background: str | None = None) -> str:
    """Return the figure of a plot as one SVG element, for a page or a file.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes that a plot without the argument `ax` returned.
    background : str, optional
        A colour, such as ``"white"``, for a file that is shown elsewhere; by default transparent.

    Returns
    -------
    str
        One SVG element, without ids, scripts and styles. `podium.plots.colours.stylesheet` has
        the rules with which a page changes its colours in a dark scheme.

    Examples
    --------
    >>> from podium.plots import histogram
    >>> svg = to_svg(histogram([0, 0.5, 1], [3, 1], title="pap@10 per user"))
    >>> "0.00 to 0.50: 3" in svg
    True
    """
    from podium.plots import _drawing

    figure = ax.get_figure(root=True)
    if figure is None:
        return ""
    figure.patch.set_visible(False)
    root = ET.fromstring(_drawing.with_defaults(lambda: _written(figure)))
    width, height = (float(part) for part in root.attrib["viewBox"].split()[2:])
    title, description = figure.get_gid() or "", str(figure.get_label())
    symbols = {node.get("id", ""): node for node in root.iter(f"{_NAMESPACE}path")}
    marks = "".join(_markup(child, symbols) for child in root)
    ground = f'<rect width="100%" height="100%" fill="{escape(background)}"/>' if background else ""
    size = f'width="{width:g}" height="{_rounded(str(height))}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="podium-figure" role="img" '
        f'aria-label="{escape(title)}" viewBox="0 0 {width:g} {_rounded(str(height))}" {size} '
        f'font-family="{FONT}" stroke-linejoin="round">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{ground}{marks}</svg>"
    )


def _written(figure: Any) -> bytes:
    """Return what matplotlib writes; its own fonts only place the text, and may lack glyphs."""
    import matplotlib as mpl

    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["svg.hashsalt"] = "podium"
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure.savefig(stream, format="svg", metadata=_NO_METADATA)
    return stream.getvalue()


def _markup(node: ET.Element, symbols: dict[str, ET.Element]) -> str:
    """Return an element and those in it, without definitions and groups that do nothing."""
    tag = node.tag.removeprefix(_NAMESPACE)
    if tag in ("defs", "metadata"):
        return ""
    if tag == "use":
        return _dot(node, symbols[node.get(_LINK, "").removeprefix("#")])
    inside = "".join(_markup(child, symbols) for child in node)
    if tag == "g":
        return _group(node.get("id", ""), inside)
    if node.get("style") == "fill: none":  # the background of axes
        return ""
    return _element(tag, _attributes(node), escape(node.text or "", quote=False) + inside)


def _group(name: str, inside: str) -> str:
    for start in (_marks.HINT, _marks.HALO):
        if name.startswith(start):
            hint = name.removeprefix(start)
            tooltip = f"<title>{escape(hint)}</title>" if hint else ""
            halo = start == _marks.HALO
            return f"<g{_HALO if halo else ''}>{tooltip}{inside}</g>" if hint or halo else inside
    return inside


_HALO = (
    f' stroke="{colours.LIGHT["paper"]}" class="paper-stroke" stroke-width="4" paint-order="stroke"'
)


def _dot(node: ET.Element, symbol: ET.Element) -> str:
    """Return a marker as a circle; plots have no other markers."""
    radius = abs(float(symbol.get("d", "").split()[2]))
    place = {"cx": _rounded(node.get("x", "")), "cy": _rounded(node.get("y", ""))}
    return _element("circle", {**place, "r": _rounded(str(radius)), **_attributes(node, "x", "y")})


def _attributes(node: ET.Element, *without: str) -> dict[str, str]:
    result = {
        name: _rounded(value)
        for name, value in node.attrib.items()
        if name not in ("style", "id", "clip-path", _LINK, *without)
    }
    if result.get("transform", "").startswith(("rotate(-0 ", "rotate(0 ")):
        del result["transform"]
    styles = (part.partition(":") for part in node.get("style", "").split(";") if part.strip())
    for name, _, value in styles:
        name, value = name.strip(), value.strip().removesuffix("px")
        if name not in _NOT_STYLED and _DEFAULTS.get(name) != value:
            result[name] = _rounded(value)
    classes = [f"{_TONES[result[k]]}-{k}" for k in ("fill", "stroke") if result.get(k) in _TONES]
    return result | ({"class": " ".join(classes)} if classes else {})


def _element(tag: str, attributes: dict[str, str], inside: str = "") -> str:
    listed = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{listed}>{inside}</{tag}>" if inside else f"<{tag}{listed}/>"


def _rounded(text: str) -> str:
    """Return text whose numbers have at most two decimals."""
    short = _NUMBER.sub(lambda m: f"{float(m.group()):.2f}".rstrip("0").rstrip("."), text)
    return re.sub(r"\s+", " ", short).replace(" L ", "L").replace("M ", "M").strip()
