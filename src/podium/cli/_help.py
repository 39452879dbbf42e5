"""The help of commands: --help shows the options of most uses, --help-all shows every option."""

from __future__ import annotations

import inspect
import re
from typing import Any

_PARAMETERS = "\nParameters\n----------\n"

SHOWN = {
    "split": "out by test valid at seed least where drop-missing unique task columns format column",
    "measure": "measure by users catalogue items min-relevance ties undefined missing unjudged "
    "like protocol format report per-user",
    "compare": "measure by users catalogue items pairs min-relevance ties protocol missing "
    "unjudged like format report per-user",
    "protocol": "measure by min-relevance low-grades ties undefined missing unjudged like level "
    "interval seed set protocol column",
    "gate": "measure margin guard at-least train by users protocol state min-relevance "
    "unjudged like fail-on out report",
    "train": "out model loss k min-relevance set valid split eval-metric tune budget seed "
    "features resume",
    "estimate": "measure method shared level seed format report items negatives "
    "no-replacement seen column",
    "plan": "users error measure method pilot seed format items negatives no-replacement "
    "seen column",
}
"""The options that --help shows, for each command with more than 16."""


def shorten(name: str, command: Any) -> None:
    """Hide the options of a command that most uses do not need, and name --help-all instead."""
    if name not in SHOWN:
        return
    visible = {"help", *SHOWN[name].split()}
    for parameter in command.params:
        if parameter.param_type_name == "option":
            parameter.hidden = not visible & {text.lstrip("-") for text in parameter.opts}
    command.epilog = f"More options: podium {name} --help-all"


def summary(command: Any) -> str:
    """Return what a docstring says above its parameters, with a line per paragraph.

    The help fits the lines to the terminal.
    """
    return _paragraphs((inspect.getdoc(command) or "").partition(_PARAMETERS)[0])


def described(owner: Any) -> dict[str, tuple[str | None, str]]:
    """Return the metavar and the help of each parameter that a docstring describes.

    They are the type and the text of an entry in section "Parameters", which ends the docstring.
    """
    section = inspect.cleandoc(owner.__doc__ or "").partition(_PARAMETERS)[2]
    texts: dict[str, tuple[str | None, str]] = {}
    for entry in re.split(r"\n(?=\w)", section):
        head, _, text = entry.partition("\n")
        name, _, metavar = head.partition(" : ")
        texts[name] = metavar or None, _paragraphs(text)
    return texts


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
