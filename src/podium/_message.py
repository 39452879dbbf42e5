"""Messages as data: sentences in which the names of parameters are marked.

Python shows ``missing='zero'``, the command line ``--missing zero``. Therefore, a message marks
each parameter that it names, and a surface spells it::

    raise ArgumentError(f"{arg.users} is empty. Leave it out, or pass {arg.missing('skip')}.")

A mark is a name and its values between control characters, which `Message` reads again; other text
keeps these characters, whatever it quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

_START, _NEXT, _END = "\x02", "\x1f", "\x03"
_HINT, _HINT_END = "\x0e", "\x0f"


@dataclass(frozen=True)
class Parameter:
    """A parameter in a message: named alone (None), with values, or () to be passed with any value.

    In Python, texts are quoted.
    """

    name: str
    values: tuple[str, ...] | None = None

    def __call__(self, *values: object) -> Parameter:
        """Return the parameter with these values; with none, as one that the caller can pass."""
        return Parameter(self.name, tuple(map(_literal, values)))

    def __str__(self) -> str:
        """Return the mark."""
        return f"{_START}{_NEXT.join((self.name, *self._listed()))}{_END}"

    def _listed(self) -> tuple[str, ...]:
        return () if self.values is None else (self.values or ("",))

    @classmethod
    def marked(cls, mark: str) -> Parameter:
        """Return the parameter of a mark without its first and last character."""
        name, *values = mark.split(_NEXT)
        return cls(name, tuple(filter(None, values)) if values else None)

    def plain_values(self) -> list[str]:
        """Return the values without quotes."""
        return [text.strip("'\"") for text in self.values or ()]


def _literal(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


class _Parameters:
    """The parameters by name, as attributes, or as items if the name is in a variable.

    ``arg["grid", name]`` is an entry of a parameter.
    """

    def __getattr__(self, name: str) -> Parameter:
        return Parameter(name)

    def __getitem__(self, name: str | tuple[str, object]) -> Parameter:
        return Parameter(name if isinstance(name, str) else f"{name[0]}[{name[1]!r}]")


arg = _Parameters()
"""The parameters of the library for messages: ``{arg.missing}``, ``{arg.missing('zero')}``."""

Spelling: TypeAlias = Callable[[Parameter], str | None]
"""How a surface shows a parameter; None if it has no name for it."""


def hint(text: str) -> str:
    """Mark a part that is left out where a surface lacks a parameter in it.

    A part that names no parameter is for Python alone.
    """
    return f"{_HINT}{text}{_HINT_END}"


def in_python(parameter: Parameter) -> str:
    """Return a parameter as Python shows it.

    Examples
    --------
    >>> in_python(arg.missing("zero", "skip")), in_python(arg.format()), in_python(arg.k)
    ("missing='zero' or 'skip'", 'format=', 'k')
    """
    if parameter.values is None:
        return parameter.name
    return f"{parameter.name}={alternatives(parameter.values)}"


def alternatives(texts: tuple[str, ...] | list[str]) -> str:
    """Return "a, b or c"."""
    return " or ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


@dataclass(frozen=True)
class Message:
    """A sentence that names parameters.

    Examples
    --------
    >>> message = Message(f"2 users are missing. Pass {arg.missing('zero')}.")
    >>> message.render()
    "2 users are missing. Pass missing='zero'."
    >>> message.parameters, message.template
    (('missing',), '2 users are missing. Pass {missing}.')
    """

    text: str
    """The text with its marks."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, each once."""
        parameters = [part for part in _parts(self.text) if isinstance(part, Parameter)]
        return tuple(dict.fromkeys(parameter.name for parameter in parameters))

    @property
    def template(self) -> str:
        """The text with the names of parameters in braces."""
        return self.render(lambda parameter: f"{{{parameter.name}}}")

    def render(self, spelling: Spelling = in_python) -> str:
        """Return the text with the names of a surface; a name that it lacks is Python's."""
        shown: list[str] = []
        for place, piece in enumerate(self.text.split(_HINT)):
            inner, end, rest = piece.partition(_HINT_END) if place else ("", "", piece)
            if end and _is_shown(inner, spelling):
                shown.append(inner)
            shown.append(rest if end or not place else piece)
        return "".join(
            part if isinstance(part, str) else spelling(part) or in_python(part)
            for part in _parts("".join(shown))
        )


def _is_shown(text: str, spelling: Spelling) -> bool:
    parameters = [part for part in _parts(text) if isinstance(part, Parameter)]
    if not parameters:
        return spelling is in_python
    return all(spelling(parameter) is not None for parameter in parameters)


def _parts(text: str) -> Iterator[str | Parameter]:
    """Yield the pieces of a text; a mark that does not end is text."""
    first, *others = text.split(_START)
    yield first
    for piece in others:
        mark, end, rest = piece.partition(_END)
        yield Parameter.marked(mark) if end else mark
        yield rest
