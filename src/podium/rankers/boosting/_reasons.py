"""The reasons that the libraries give in their errors, as plain sentences."""

from __future__ import annotations

import re

_TIME = r"\[\d\d:\d\d:\d\d\] "
_PLACE = r"\S*/\S+:\d+: "  # a file of the library and a line
_CONDITION = r"Check failed: (?:\S+ ?: )?"
_FOREIGN = re.compile(rf"{_TIME}|{_PLACE}|{_CONDITION}| at /.*")


def plain_reason(text: str) -> str:
    r"""Return the text of an error without the time, the place in the library and the stack.

    Examples
    --------
    >>> plain_reason("[00:09:11] /src/ranking.h:372: Check failed: valid: Use\nless.\nStack trace")
    'Use less'
    """
    own_text = text.partition("Stack trace")[0].partition("\n\n")[0]
    return _FOREIGN.sub("", " ".join(own_text.split("\n"))).strip(" ,.")
