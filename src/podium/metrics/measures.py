"""A measure: a metric with its cutoff and options, as a value whose text parses back."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from podium import _check
from podium._grammar import read, write
from podium.errors import ArgumentError
from podium.metrics._registry import REGISTRY, Metric, lookup
from podium.ranking import Ranking
from podium.types import PerGroup

V = TypeVar("V")


@dataclass(frozen=True)
class Measure:
    """A metric with its cutoff and its options.

    Attributes
    ----------
    name : str
        The metric's own name, aliases resolved.
    k : int or None
        Cutoff in items; None is the whole list.
    options : tuple of (name, value)
        Those that differ from the metric's defaults, by name.

    Examples
    --------
    >>> str(parse("map(norm=min)@10"))
    'ap(norm=min)@10'
    """

    name: str
    k: int | None = None
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def metric(self) -> Metric:
        return lookup(self.name, has_cutoff=self.k is not None)

    def __call__(self, ranking: Ranking) -> PerGroup:
        """Return each group's value, float64, (n_groups,), nan where undefined."""
        return self.metric.function(ranking, **self.arguments())

    def weights(self, ranking: Ranking) -> PerGroup | None:
        """Return what each value is divided by, for the pooled form, or None without one."""
        weigh = self.metric.weights
        return None if weigh is None else weigh(ranking, **self.arguments())

    def __str__(self) -> str:
        return write(self.name, dict(self.options), self.k)

    def arguments(self) -> dict[str, Any]:
        cutoff = {} if self.metric.cutoff == "none" else {"k": self.k}
        return {**cutoff, **dict(self.options)}


def parse(text: str | Measure) -> Measure:
    """Read a measure from its text: ``name(option=value, …)@k``.

    Raises
    ------
    ArgumentError
        For an unknown name or option (with the nearest known one), a value that does not fit,
        a missing k, or a k that is not an integer >= 1.

    Examples
    --------
    >>> parse("ndcg(gain=exp2)@10")
    Measure(name='ndcg', k=10, options=(('gain', 'exp2'),))
    """
    if isinstance(text, Measure):
        return text
    name, words, k = read(text, REGISTRY.noun, REGISTRY.form)
    metric = lookup(name, has_cutoff=k is not None)
    if k is None and metric.cutoff == "required":
        raise ArgumentError(f"{name} needs a cutoff: write {name}@10, for example.")
    if k is not None and metric.cutoff == "none":
        raise ArgumentError(f"{name} takes no cutoff, got {text!r}. Write {name}.")
    usual = metric.options
    _check.known_parameters(metric.name, list(usual), words)
    values = {option: _value(metric, option, value) for option, value in words.items()}
    given = tuple(sorted((n, v) for n, v in values.items() if v != usual[n]))
    return Measure(metric.name.removesuffix(REGISTRY.suffix), k, given)


def get(name: str, *, k: int | None = None, **options: Any) -> Measure:
    """Make a measure from the name of a metric, its cutoff and its options.

    Parameters
    ----------
    name : str
    k : int, optional
    **options
        As of the metric's function.

    Examples
    --------
    >>> get("ndcg", k=10, gain="exp2") == parse("ndcg(gain=exp2)@10")
    True
    """
    return parse(write(name, options, None if k is None else _check.cutoff(k)))


def parse_all(measures: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Read one or more measures; the same one twice is an error.

    A set, which has no order of its own, is read in the order of its texts.

    Raises
    ------
    ArgumentError
        If measures is neither a measure nor a list of them, or one does not parse.
    """
    parsed = [parse(m) for m in listed_measures(measures)]
    if not parsed:
        raise ArgumentError("measures must name at least one measure, as ['pap@10'].")
    for i, one in enumerate(parsed):
        if one in parsed[:i]:
            raise ArgumentError(f"measures names {one} twice. Keep one.")
    return parsed


def listed_measures(
    measures: str | Measure | Iterable[str | Measure],
) -> list[str | Measure]:
    """Return measures as a list, before they are parsed."""
    if isinstance(measures, str | Measure):
        return [measures]
    has_none = not isinstance(measures, Iterable) or getattr(measures, "shape", None) == ()  # pyright: ignore[reportUnnecessaryIsInstance]
    if isinstance(measures, Mapping) or has_none:
        raise ArgumentError(
            f"measures must be a text or a list of texts, as ['ndcg@10'], got {measures!r}."
            f"{_as_texts(measures)}"
        )
    return sorted(measures, key=str) if isinstance(measures, Set) else list(measures)


def _as_texts(measures: Any) -> str:
    """Say how a mapping of names to cutoffs is written."""
    if not isinstance(measures, Mapping):
        return ""
    pairs = cast("Mapping[Any, Any]", measures).items()
    if any(isinstance(k, bool) or not isinstance(k, int) for _, k in pairs):
        return " A cutoff is part of the text."
    return f" Write {[f'{name}@{k}' for name, k in pairs]}."


def _value(metric: Metric, name: str, text: str) -> Any:
    """Read an option's value as what its default is: a flag, a number, or one of the choices."""
    default = metric.options[name]
    if isinstance(default, bool):
        return _check.choice(text.lower(), name, ("true", "false")) == "true"
    if isinstance(default, int):
        return _check.count(_check.plain_value(text), name)
    if isinstance(default, float):
        return _check.number(text, name, low=0.0)
    return _check.choice(text, name, choices(metric, name))


def choices(metric: Metric, option: str) -> tuple[str, ...]:
    """Return the values that a text option can take, from its annotation."""
    return typing.get_args(typing.get_type_hints(metric.function)[option])


class ByMeasure(dict[str, V]):
    """Values by the text of a measure; a look-up takes any text that reads as the same one.

    Examples
    --------
    >>> ByMeasure({"ap@5": 0.25})["map@5"]
    0.25
    """

    def __missing__(self, key: object) -> V:
        name = _own_text(key)
        if name is None or not super().__contains__(name):
            raise KeyError(key)
        return super().__getitem__(name)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or super().__contains__(_own_text(key))

    def get(self, key: Any, default: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the value of a measure, or the default where there is none."""
        try:
            return self[key]
        except KeyError:
            return default


def _own_text(key: object) -> str | None:
    """Return the text that a measure is entered under, or None for what is none."""
    try:
        return str(parse(cast("str", key)))
    except ArgumentError:
        return None
