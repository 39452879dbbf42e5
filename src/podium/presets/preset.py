"""The preset of a package: its conventions, and how it computes each metric."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from podium import _check
from podium.errors import ArgumentError, arg
from podium.metrics import Measure
from podium.metrics import get as get_measure
from podium.metrics.measures import stated_options
from podium.types import LowGrades, Ties, Undefined

PACKAGES = ("trec_eval", "ir_measures", "sklearn", "ranx", "rectools", "recbole", "torchmetrics")
"""The packages that have a preset, each a module of `podium.presets`."""


@dataclass(frozen=True)
class UsersAndLists:
    """The conventions of a package that apply before and after a metric.

    Attributes
    ----------
    ties : {"worst", "best", "average", "threshold", "id", "random"} or None
        The order of equal scores; None if the package does not define it.
    undefined : {"skip", "zero", "one", "error"}
        The treatment of users without a value in the mean.
    missing : {"error", "zero", "skip"}
        The treatment of users of the truth who are not in the run.
    unjudged : {"negative", "skip"}
        The treatment of items of the run without a relevance.
    unretrieved : {"count", "drop"}
        Whether relevant items that the list lacks count.
    single_precision : bool
        Whether scores are compared as float32.
    score_above : float, optional
        Only items with a higher score are retrieved.
    low_grades : {"keep", "zero"}
        Whether relevances below the threshold of positives have gains in graded measures.
    """

    ties: Ties | None = None
    undefined: Undefined = "zero"
    missing: Literal["error", "zero", "skip"] = "skip"
    unjudged: Literal["negative", "skip"] = "negative"
    unretrieved: Literal["count", "drop"] = "count"
    single_precision: bool = False
    score_above: float | None = None
    low_grades: LowGrades = "keep"


@dataclass(frozen=True)
class Form:
    """How a package computes one metric.

    Attributes
    ----------
    name : str
        The name in the package, such as "RetrievalMAP(top_k=10)", with 10 as the cutoff.
    options : mapping
        The options of podium's metric that the package fixes.
    conventions : mapping
        The fields of `UsersAndLists` that are different for this metric.
    note : str
        A further difference that users should know; empty if there is none.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    conventions: Mapping[str, Any] = field(default_factory=dict[str, Any])
    note: str = ""


@dataclass(frozen=True)
class Preset:
    """The conventions of one package.

    Attributes
    ----------
    name : str
        The value of ``like``, if it is one of `PACKAGES`.
    package : str
        The name of the package on PyPI, with the version that the tests compare with.
    conventions : UsersAndLists
    metrics : mapping of str to Form
        How the package computes each of podium's metrics: "ndcg" over whole lists, and "ndcg@k"
        with a cutoff.
    refused : mapping of str to str
        The metrics that the package has under a known name, but that podium does not reproduce,
        with the reason.
    """

    name: str
    package: str
    conventions: UsersAndLists
    metrics: Mapping[str, Form]
    refused: Mapping[str, str] = field(default_factory=dict[str, str])

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
        if name in self.refused:
            raise ArgumentError(f"{arg.like(self.name)} refuses {measure}: {self.refused[name]}")
        others = [n for n in self.metrics if n.removesuffix("@k") == measure.name]
        has = (
            f"only {measure.name} {'with' if others[0] != measure.name else 'without'} a cutoff"
            if others
            else f"no {measure.name}"
        )
        raise ArgumentError(
            f"{arg.like(self.name)} refuses {measure}: {self.package} has {has}. It has "
            f"{', '.join(self.metrics)}."
        )

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

    def users_and_lists(self) -> dict[str, Any]:
        """Return the conventions of users and lists that the package defines."""
        return {name: rule for name, rule in asdict(self.conventions).items() if rule is not None}

    def rules(self, measure: Measure) -> dict[str, Any]:
        """Return the conventions of users and lists that the package defines for a measure.

        Raises
        ------
        ArgumentError
            If the package lacks the measure.
        """
        rules = {**self.users_and_lists(), **self.form(measure).conventions}
        return {name: rule for name, rule in rules.items() if rule is not None}


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
    return importlib.import_module(f"podium.presets.{name}").PRESET
