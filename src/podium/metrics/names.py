"""Names of measures in other packages, rewritten in podium's grammar.

A name selects only a metric and the options that its text states. Conventions that the text does
not state, such as the order of equal scores, remain those of podium. Single words such as
``recip_rank`` are aliases in the registry, which also ignores case.
"""

from __future__ import annotations

import re

from podium import _check
from podium._grammar import divided
from podium.errors import ArgumentError, arg

_FORMS = tuple(
    (re.compile(rf"\s*{pattern}\s*", re.IGNORECASE), form)
    for pattern, form in (
        (r"(ndcg|map)_cut[_.](\d+)", r"\1@\2"),  # trec_eval, also as its -m is written: map_cut.5
        (r"(P|recall|success)[_.](\d+)", r"\1@\2"),
        (r"relative_P[_.](\d+)", r"recall(norm=min)@\1"),
        (r"set_recall", r"recall"),
        (r"rbp\.(\d+)", r"rbp(p=0.\1)"),  # ranx
        (r"(n?dcg)_burges(@.*)?", r"\1(gain=exp2)\2"),
    )
)
"""Patterns of whole texts, and what each stands for."""

_LEVEL = re.compile(r"\s*(\S+)-l(\d+)\s*")  # ranx
_WITH_OPTIONS = re.compile(r"\s*([\w-]+)\s*\((.*)\)\s*(@.*)?", re.DOTALL)

_IR_MEASURES = frozenset(
    [
        *("ap", "map", "bpref", "err", "judged", "ndcg", "p", "precision", "r", "recall", "rbp"),
        *("rprec", "rr", "mrr", "success"),
    ]
)
"""Measures of ir_measures that podium has; only these take the options of `_in_options`."""


def in_grammar(text: str) -> str:
    """Rewrite the name of a measure in another package as ``name(option=value, …)@k``.

    Other texts are returned as they are. `parse` reads the result, and raises for unknown names.

    Parameters
    ----------
    text : str
        A measure as it is written in trec_eval, ranx, ir_measures, RecBole, RecTools or
        scikit-learn.

    Raises
    ------
    ArgumentError
        If the text states a convention that is not part of a measure in podium, such as the lowest
        relevance of a positive. The message names the argument to pass instead.

    Examples
    --------
    >>> in_grammar("ndcg_cut_10"), in_grammar("rbp.95"), in_grammar("nDCG(dcg='exp-log2')@5")
    ('ndcg@10', 'rbp(p=0.95)', 'nDCG(gain=exp2)@5')
    """
    for pattern, form in _FORMS:
        if match := pattern.fullmatch(text):
            return match.expand(form)
    if match := _LEVEL.fullmatch(text):
        raise ArgumentError(
            f"measure {text!r} names the lowest relevance of a positive, which is not part of a "
            f"measure. Write {match[1]}, and pass "
            f"{arg.min_relevance(_check.plain_value(match[2]))}."
        )
    match = _WITH_OPTIONS.fullmatch(text)
    return text if match is None else _in_options(text, match[1], match[2], match[3] or "")


def _in_options(text: str, name: str, inside: str, cutoff: str) -> str:
    """Rewrite the options of a text, and the cutoff if it is one of them."""
    _refuse_gains(text, name, inside)
    parts = divided(inside)
    if parts is None:
        return text
    words: list[str] = []
    for part in parts:
        option, equals, value = (word.strip() for word in part.partition("="))
        value = _unquoted(value)
        if option in ("k", "cutoff") and not cutoff:
            cutoff = f"@{value}"
        elif name.lower() in _IR_MEASURES and option in ("rel", "judged_only", "dcg"):
            words.extend(_in_option(text, name, cutoff, option, value))
        else:
            words.append(f"{option}{equals}{value}")
    options = ",".join(words)
    return f"{name}({options}){cutoff}" if options else f"{name}{cutoff}"


def _in_option(text: str, name: str, cutoff: str, option: str, value: str) -> list[str]:
    """Return the options of podium for one of ir_measures, or raise with the argument to pass."""
    if option == "dcg" and value in ("log2", "exp-log2"):
        return [] if value == "log2" else ["gain=exp2"]
    if option == "judged_only" and value.lower() == "false":
        return []
    remedies = {
        "rel": arg.min_relevance(_check.plain_value(value)),
        "judged_only": arg.unjudged("skip"),
    }
    if option not in remedies:
        return [f"{option}={value}"]
    raise ArgumentError(
        f"measure {text!r} has the option {option}, which is not part of a measure. Write "
        f"{name}{cutoff}, and pass {remedies[option]}."
    )


def _refuse_gains(text: str, name: str, inside: str) -> None:
    """Raise for a mapping of grades to gains."""
    if name.lower() == "ndcg" and re.search(r"\bgains\s*=", inside):
        raise ArgumentError(
            f"measure {text!r} has the option gains, which is not part of a measure. Write the "
            "gains as the relevances of the truth. If only the lowest grades have no gain, write "
            f"ndcg(gain=binary)@10, and pass {arg.min_relevance(2)}, for example."
        )


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value
