"""The colours of all plots and pages, in a light and a dark scheme."""

from __future__ import annotations

from collections.abc import Mapping

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


def variables(scheme: Mapping[str, str]) -> str:
    """Return a colour scheme as CSS variables."""
    return " ".join(f"--{tone}: {colour};" for tone, colour in scheme.items())
