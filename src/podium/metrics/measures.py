"""Measures: a metric with its cutoff and options, as a value with a text form."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from podium import _check
from podium._grammar import read, write
from podium.errors import ArgumentError, arg
from podium.metrics._registry import REGISTRY, Metric, error_of_shown, lookup
from podium.metrics.names import in_grammar
from podium.ranking import Ranking
from podium.types import PerGroup

V = TypeVar("V")


@dataclass(frozen=True)
class Measure:
    """A metric with its cutoff and its options.

    Attributes
    ----------
    name : str
        The metric's name, with aliases resolved.
    k : int or None
        The cutoff in items; None means the whole list.
    options : tuple of (name, value)
        The options that differ from the metric's defaults, sorted by name.
    text : str
        The text from which the measure was parsed; empty if there is none. It is what ``str``
        returns, and is not compared.

    Examples
    --------
    >>> measure = parse("map(norm=min)@10")
    >>> str(measure), measure.canonical
    ('map(norm=min)@10', 'ap(norm=min)@10')
    """

    name: str
    k: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    text: str = field(default="", compare=False, repr=False)

    @property
    def canonical(self) -> str:
        """The text that all equivalent texts have in common, such as "ap@10" for "map_cut_10"."""
        return write(self.name, dict(self.options), self.k)

    @property
    def graded(self) -> bool:
        """Whether the measure uses grades, and not only which items are positive."""
        return self.metric.holds("graded", dict(self.options))

    @property
    def metric(self) -> Metric:
        """The metric of this name."""
        return lookup(self.name, has_cutoff=self.k is not None)

    def __call__(self, ranking: Ranking) -> PerGroup:
        """Return the value of each group, float64, (n_groups,), nan where it is undefined.

        Raises
        ------
        ArgumentError
            If the measure reads the items shown, such as coverage@10.
        """
        return self.metric.function(ranking, **self.arguments())

    def weights(self, ranking: Ranking) -> PerGroup | None:
        """Return the divisor of each value, for the pooled form, or None if there is none."""
        weigh = self.metric.weights
        return None if weigh is None else weigh(ranking, **self.arguments())

    def __str__(self) -> str:
        return self.text or self.canonical

    def arguments(self) -> dict[str, Any]:
        cutoff = {} if self.metric.cutoff == "none" else {"k": self.k}
        return {**cutoff, **dict(self.options)}


def parse(text: str | Measure) -> Measure:
    """Parse a measure from its text, ``name(option=value, …)@k``.

    Names of other packages are read too, see `podium.metrics.names`. Upper and lower case of the
    name are the same.

    Raises
    ------
    ArgumentError
        If the name or an option is unknown (the message suggests the nearest one), a value is
        not valid, k is missing, or k is not an integer >= 1.

    Examples
    --------
    >>> parse("ndcg(gain=exp2)@10")
    Measure(name='ndcg', k=10, options=(('gain', 'exp2'),))
    >>> parse("ndcg_cut_10") == parse("nDCG@10") == parse("ndcg@10")
    True
    """
    if isinstance(text, Measure):
        return text
    rewritten = in_grammar(text) if isinstance(text, str) else text  # pyright: ignore[reportUnnecessaryIsInstance]
    name, option_texts, k = read(rewritten, REGISTRY.noun, REGISTRY.form)
    metric = lookup(name, has_cutoff=k is not None)
    if k is None and metric.cutoff == "required":
        raise ArgumentError(f"{name} needs a cutoff: write {name}@10, for example.")
    if k is not None and metric.cutoff == "none":
        raise ArgumentError(f"{name} takes no cutoff, got {text!r}. Write {name}.")
    defaults = metric.options
    _check.known_parameters(metric.name, list(defaults), option_texts)
    values = {option: _value(metric, option, value) for option, value in option_texts.items()}
    options = tuple(sorted((n, v) for n, v in values.items() if v != defaults[n]))
    return Measure(metric.name.removesuffix(REGISTRY.suffix), k, options, text.strip())


def stated_options(measure: Measure) -> dict[str, Any]:
    """Return the options that the text of a measure states, also those with a default value.

    Examples
    --------
    >>> stated_options(parse("ndcg(gain=linear)@10")), stated_options(parse("ndcg@10"))
    ({'gain': 'linear'}, {})
    """
    texts = read(in_grammar(str(measure)), REGISTRY.noun, REGISTRY.form).params
    return {option: _value(measure.metric, option, value) for option, value in texts.items()}


def parse_relevance(text: str | Measure) -> Measure:
    """Parse a measure that is computed from relevance.

    Raises
    ------
    ArgumentError
        If the text cannot be parsed (see `parse`), or is a measure of the items shown.

    Examples
    --------
    >>> parse_relevance("coverage@10")
    Traceback (most recent call last):
    podium.errors.ArgumentError: coverage@10 measures the items shown, not their relevance. Use it \
in measure, compare or gate, with catalogue=.
    """
    measure = parse(text)
    if measure.metric.reads != "relevance":
        raise error_of_shown(str(measure), measure.metric.reads)
    return measure


def get(name: str, *, k: int | None = None, **options: Any) -> Measure:
    """Return a measure, given the name of a metric, its cutoff and its options.

    Parameters
    ----------
    name : str
        The name of a metric, or an alias.
    k : int, optional
        The cutoff in items.
    **options
        The options of the metric's function.

    Examples
    --------
    >>> get("ndcg", k=10, gain="exp2") == parse("ndcg(gain=exp2)@10")
    True
    """
    return parse(write(name, options, None if k is None else _check.cutoff(k)))


def parse_all(measures: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Parse one or more distinct measures.

    A set has no order, so its measures are sorted by their texts.

    Raises
    ------
    ArgumentError
        If measures is neither a measure nor a list of them, is empty, or names a measure twice,
        or if one of the measures cannot be parsed.
    """
    parsed = [parse(m) for m in listed_measures(measures)]
    if not parsed:
        raise ArgumentError(f"{arg.measures} must name at least one measure, such as ['pap@10'].")
    for i, measure in enumerate(parsed):
        if measure in parsed[:i]:
            raise ArgumentError(f"{arg.measures} names {measure} twice. Keep one.")
    return parsed


def listed_measures(
    measures: str | Measure | Iterable[str | Measure],
) -> list[str | Measure]:
    """Return measures as a list, not yet parsed."""
    if isinstance(measures, str | Measure):
        return [measures]
    is_not_iterable = not isinstance(measures, Iterable) or getattr(measures, "shape", None) == ()  # pyright: ignore[reportUnnecessaryIsInstance]
    if isinstance(measures, Mapping) or is_not_iterable:
        raise ArgumentError(
            f"{arg.measures} must be a text or a list of texts, such as ['ndcg@10'], got "
            f"{measures!r}.{_advice_on_mapping(measures)}"
        )
    return sorted(measures, key=str) if isinstance(measures, Set) else list(measures)


def _advice_on_mapping(measures: Any) -> str:
    """Return advice on how to write a mapping of names to cutoffs, empty for other values."""
    if not isinstance(measures, Mapping):
        return ""
    pairs = cast("Mapping[Any, Any]", measures).items()
    if any(isinstance(k, bool) or not isinstance(k, int) for _, k in pairs):
        return " Write the cutoff into the text."
    return f" Write {[f'{name}@{k}' for name, k in pairs]}."


def _value(metric: Metric, name: str, text: str) -> Any:
    """Return an option's value, parsed as the type of its default: bool, number, choice or text."""
    default = metric.options[name]
    if isinstance(default, bool):
        return _check.choice(text.lower(), name, ("true", "false")) == "true"
    if isinstance(default, int):
        return _check.count(_check.plain_value(text), name)
    if isinstance(default, float):
        return _check.number(text, name, low=0.0)
    allowed = choices(metric, name)
    return _check.choice(text, name, allowed) if allowed else text


def choices(metric: Metric, option: str) -> tuple[str, ...]:
    """Return the allowed values of an option of type text, from its annotation; () for any."""
    return typing.get_args(_annotations(metric.function)[option])


@functools.cache
def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(function)


class ByMeasure(dict[str, V]):
    """A dictionary with the texts of measures as keys; a lookup accepts every equivalent text.

    Examples
    --------
    >>> ByMeasure({"ap@5": 0.25})["map@5"]
    0.25
    """

    def __missing__(self, key: object) -> V:
        name = self._equivalent(key)
        if name is None:
            raise KeyError(key)
        return super().__getitem__(name)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self._equivalent(key) is not None

    def _equivalent(self, key: object) -> str | None:
        """Return the key of the same measure, or None."""
        measure = _parsed(key)
        if measure is None:
            return None
        return next((name for name in self if _parsed(name) == measure), None)

    def get(self, key: Any, default: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the value of a measure, or the default if it is missing."""
        try:
            return self[key]
        except KeyError:
            return default


def _parsed(key: object) -> Measure | None:
    """Return the measure of a text, or None if it cannot be parsed."""
    try:
        return parse(cast("str", key))
    except ArgumentError:
        return None
