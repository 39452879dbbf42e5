"""The colours of all plots and pages, in a light and a dark scheme."""

from __future__ import annotations

from collections.abc import Mapping

# Eight hues that differ with each usual form of colour blindness, with a contrast of at least 3:1.
_SCHEMES = {  # the light and the dark colour of each tone
    "ink": ("#1b1f24", "#e8ebee"),
    "muted": ("#57606a", "#a4adb7"),
    "axis": ("#8c959f", "#6e7781"),
    "grid": ("#e4e8ec", "#2b3138"),
    "paper": ("#ffffff", "#15181c"),
    "c0": ("#1159a3", "#57c2ff"),
    "c1": ("#df700d", "#d56c29"),
    "c2": ("#1ba771", "#099968"),
    "c3": ("#91195c", "#c164b0"),
    "c4": ("#6f4900", "#efc62c"),
    "c5": ("#8c92b0", "#c3d7e7"),
    "c6": ("#7857db", "#7b88f3"),
    "c7": ("#5f543c", "#d1c2b8"),
}
LIGHT = {tone: light for tone, (light, _) in _SCHEMES.items()}
DARK = {tone: dark for tone, (_, dark) in _SCHEMES.items()}
N_COLOURS = 8


def series(number: int) -> str:
    """Return the tone of a series. Tones repeat after 8 series; repeated lines are dashed."""
    return f"c{number % N_COLOURS}"


def variables(scheme: Mapping[str, str]) -> str:
    """Return a colour scheme as CSS variables."""
    return " ".join(f"--{tone}: {colour};" for tone, colour in scheme.items())
