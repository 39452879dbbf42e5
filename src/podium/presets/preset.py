"""The preset of a package: its conventions, and how it computes each metric."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, get_args

from podium import _check
from podium.errors import ArgumentError, arg
from podium.metrics import Measure
from podium.metrics import get as get_measure
from podium.metrics.measures import stated_options
from podium.types import Package

PACKAGES: tuple[Package, ...] = get_args(Package)
"""The packages that ``like`` accepts, each with a TOML file in `podium.presets`."""


@dataclass(frozen=True)
class Form:
    """How a package computes one metric.

    Attributes
    ----------
    name : str
        The name in the package, such as "RetrievalMAP(top_k=10)", with 10 as the cutoff.
    options : mapping
        The options of podium's metric that the package fixes.
    fields : mapping
        The fields of the package that are different for this metric.
    open : tuple of str
        The fields of the package that it does not define for this metric.
    note : str
        A further difference that users should know; empty if there is none.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    open: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Preset:
    """The conventions of one package.

    Attributes
    ----------
    name : str
        The value of ``like``, if it is one of `PACKAGES`.
    package : str
        The name of the package, with the version that the tests compare with, or that was read.
    fields : mapping of str to object
        The conventions that the package defines, as keyword arguments of `podium.measure`. Without
        "ties", the package does not define the order of equal scores.
    metrics : mapping of str to Form
        How the package computes each of podium's metrics: "ndcg" over whole lists, and "ndcg@k"
        with a cutoff.
    refused : mapping of str to str
        The metrics that the package has under a known name, but that podium does not reproduce,
        with the reason: "recall" with and without a cutoff, or only "recall@k".
    note : str
        What users should know of its lists; empty if there is nothing but the order of equal
        scores.
    source : str
        The files of the package whose formulas these are; empty if the tests compare values.
    page : str
        The page in docs/coming-from, which packages can share.
    """

    name: str
    package: str
    fields: Mapping[str, Any]
    metrics: Mapping[str, Form]
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    note: str = ""
    source: str = ""
    page: str = ""

    def form(self, measure: Measure) -> Form:
        """Return how the package computes a measure.

        Raises
        ------
        ArgumentError
            If the package lacks the measure, or podium does not reproduce it.
        """
        name = measure.name if measure.k is None else f"{measure.name}@k"
        if name in self.metrics:
            return self.metrics[name]
        if reason := self.refused.get(name) or self.refused.get(measure.name):
            raise ArgumentError(f"{arg.like(self.name)} refuses {measure}: {reason}")
        raise ArgumentError(
            f"{arg.like(self.name)} refuses {measure}: {self.package} has no {name}. It has "
            f"{', '.join(self.metrics)}."
        )

    def known(self, texts: Iterable[str]) -> list[str]:
        """Return the measures that the package has, or its first one if it has none of them.

        Examples
        --------
        >>> get("recbole").known(["pap@10", "ndcg@10"]), get("deepeval").known(["ndcg@10"])
        (['ndcg@10'], ['ap'])
        """
        names = {text: text.partition("@")[0] + "@k" * ("@" in text) for text in texts}
        having = [text for text, name in names.items() if name in self.metrics]
        return having or [next(iter(self.metrics)).replace("@k", "@10")]

    def measure(self, measure: Measure) -> Measure:
        """Return a measure with the options of the package; its text remains.

        Raises
        ------
        ArgumentError
            If the package lacks the measure, or fixes an option that the measure sets otherwise.
        """
        form, options = self.form(measure), dict(measure.options)
        stated = stated_options(measure)
        for option, value in form.options.items():
            if stated.get(option, value) != value:
                raise ArgumentError(
                    f"{measure} sets {option}={stated[option]}, but {arg.like(self.name)} sets "
                    f"{option}={value}. Leave one of them out."
                )
        adapted = get_measure(measure.name, k=measure.k, **{**options, **form.options})
        return replace(adapted, text=str(measure))

    def rules(self, measure: Measure) -> dict[str, Any]:
        """Return the fields that the package defines for a measure.

        Raises
        ------
        ArgumentError
            If the package lacks the measure.
        """
        form = self.form(measure)
        rules = {**self.fields, **form.fields}
        return {name: rule for name, rule in rules.items() if name not in form.open}


@cache
def read(name: str) -> Preset:
    """Return the preset in the TOML file of a package, also of one that ``like`` refuses.

    Raises
    ------
    FileNotFoundError
        If there is no file for the package.

    Examples
    --------
    >>> read("lightgbm").metrics["ap@k"].name
    'map@10'
    """
    file = resources.files("podium.presets") / f"{name}.toml"
    fields = tomllib.loads(file.read_text(encoding="utf-8"))
    defaults = {"package": "", "note": "", "source": "", "page": name}
    texts = {key: fields.pop(key, default) for key, default in defaults.items()}
    measures, refused = (fields.pop(key, {}) for key in ("measures", "refused"))
    metrics = {
        measure: replace(Form(**form), open=tuple(form.get("open", ())))
        for measure, form in measures.items()
    }
    return Preset(name, fields=fields, metrics=metrics, refused=refused, **texts)


def get(name: str) -> Preset:
    """Return the preset of a package.

    Raises
    ------
    ArgumentError
        If the package is unknown.

    Examples
    --------
    >>> from podium.metrics import parse
    >>> get("recbole").measure(parse("map@10")).canonical
    'ap(norm=min)@10'
    """
    _check.choice(name, "like", PACKAGES)
    return read(name)
