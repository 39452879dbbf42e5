"""Figures as SVG that a page can contain: text as text, two colour schemes, no ids."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from podium.plots import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_LINK = "{http://www.w3.org/1999/xlink}href"
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_TONES = {colour: tone for tone, colour in colours.LIGHT.items()}
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_FONT = re.compile(r"font: (?:(\w+) )?([\d.]+)px 'DejaVu Sans'")
_COLOUR = re.compile("#[0-9a-f]{6}")


def to_svg(ax: Axes, *, background: str | None = None) -> str:
    """Return the figure of a plot as one SVG element, for a page or a file.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes that a plot without the argument `ax` returned.
    background : str, optional
        A colour, such as ``"white"``, for a file that is shown elsewhere. By default, the figure
        is transparent, and its colours are variables of the page, such as ``--ink``; see
        `podium.plots.colours`. Without them, it has the light scheme.

    Returns
    -------
    str
        One SVG element, without ids, scripts and style sheets.

    Examples
    --------
    >>> from podium.plots import histogram
    >>> svg = to_svg(histogram([0, 0.5, 1], [3, 1], title="pap@10 per user"))
    >>> "4 groups in [0.000, 1.000]" in svg
    True
    """
    figure: Any = ax.get_figure(root=True)
    root = ET.fromstring(_written(figure))
    symbols = {node.get("id", ""): node.get("d", "") for node in root.iter() if node.get("d")}
    _clean(root, symbols, is_in_page=background is None)
    title, description = str(figure.get_gid() or ""), str(figure.get_label())
    width, height = (f"{float(part):g}" for part in root.attrib["viewBox"].split()[2:])
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": "podium-figure",
        "role": "img",
        "aria-label": title,
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "height": height,
        "font-family": FONT,
        "stroke-linejoin": "round",
    }
    if background:
        ground = {"width": "100%", "height": "100%", "fill": background}
        root.insert(0, ET.Element("rect", ground))
    for tag, text in (("desc", description), ("title", title)):
        root.insert(0, ET.Element(tag))
        root[0].text = text
    return ET.tostring(root, encoding="unicode")


@contextmanager
def default_settings() -> Generator[None]:
    """Let matplotlib have its default settings for a while, whatever the user's settings are."""
    import matplotlib as mpl

    settings: Any = mpl
    with settings.rc_context():
        settings.rcdefaults()
        settings.rcParams["font.family"] = ["DejaVu Sans"]  # comes with matplotlib
        settings.rcParams["svg.fonttype"] = "none"
        settings.rcParams["svg.hashsalt"] = "podium"
        yield


def _written(figure: Any) -> bytes:
    """Return what matplotlib writes; its own fonts only place the text, and may lack glyphs."""
    figure.patch.set_visible(False)
    stream, engine = io.BytesIO(), figure.get_layout_engine()
    with default_settings(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        if engine is not None:  # once, not also for the size of the page
            engine.execute(figure)
        figure.set_layout_engine(None)
        figure.savefig(stream, format="svg", metadata=_NO_METADATA)
        figure.set_layout_engine(engine)
    return stream.getvalue()


def _clean(node: ET.Element, symbols: dict[str, str], *, is_in_page: bool) -> None:
    """Remove definitions, ids and long decimals; put symbols and colours in place."""
    node.tag = node.tag.rpartition("}")[2]
    node.text, node.tail = (node.text or "").strip(), None
    for name in ("id", "clip-path"):
        node.attrib.pop(name, None)
    if node.tag == "use":
        symbol = symbols[node.attrib.pop(_LINK).removeprefix("#")]
        place = f"translate({node.attrib.pop('x')} {node.attrib.pop('y')})"
        node.tag, node.attrib = "path", {"d": symbol, "transform": place, **node.attrib}
    for key, value in node.attrib.items():
        short = _LONG_NUMBER.sub(lambda m: f"{float(m.group()):.2f}", " ".join(value.split()))
        short = _FONT.sub(r"font-weight: \1; font-size: \2px", short).replace("font-weight: ; ", "")
        node.attrib[key] = _COLOUR.sub(_variable, short) if is_in_page else short
    for child in list(node):
        if child.tag.endswith(("}defs", "}metadata")):
            node.remove(child)
        else:
            _clean(child, symbols, is_in_page=is_in_page)


def _variable(match: re.Match[str]) -> str:
    colour = match.group()
    return f"var(--{_TONES[colour]}, {colour})" if colour in _TONES else colour
