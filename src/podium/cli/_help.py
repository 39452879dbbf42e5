"""The help of commands: --help shows the options of most uses, --help-all shows every option."""

from __future__ import annotations

from typing import Any

SHOWN = {
    "split": "out by test valid at seed least columns format column",
    "measure": "measure by users catalogue items min-relevance ties undefined missing unjudged "
    "like protocol format report per-user",
    "compare": "measure by users catalogue items pairs min-relevance ties protocol missing "
    "unjudged like format report per-user",
    "protocol": "measure by min-relevance low-grades ties undefined missing unjudged like level "
    "interval seed set protocol column",
    "gate": "measure margin guard by users protocol catalogue sequential state min-relevance "
    "unjudged like fail-on out report",
    "train": "out model loss k min-relevance l2 set valid split eval-metric tune budget seed "
    "features resume",
    "estimate": "measure method scores shared level seed format report items negatives "
    "no-replacement negatives-file seen column",
    "plan": "users error measure method pilot seed format items negatives no-replacement "
    "negatives-file seen column",
}
"""The options that --help shows, for each command with more than 16."""


def shorten(name: str, command: Any) -> None:
    """Hide the options of a command that most uses do not need, and name --help-all instead."""
    if name not in SHOWN:
        return
    shown = {"help", *SHOWN[name].split()}
    for parameter in command.params:
        if parameter.param_type_name == "option":
            parameter.hidden = not shown & {text.lstrip("-") for text in parameter.opts}
    command.epilog = f"More options: podium {name} --help-all"
