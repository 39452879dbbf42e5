"""The known faults: doors that repeat a rule of another one, and where they may differ.

The table only shrinks. A test finds each fault again, so that an entry whose fault is mended fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from podium.testing.pairs.cases import Case


@dataclass(frozen=True)
class Known:
    """A known fault.

    Attributes
    ----------
    name : str
    doors : tuple of str
        The doors that differ.
    when : mapping of str to tuple
        The values of options with which they may differ; "measure" has the beginnings of texts.
    facts : tuple of str
        The facts that may differ; empty for all.
    data : mapping of str to value
        The data with which the fault is found again.
    """

    name: str
    doors: tuple[str, ...]
    when: Mapping[str, tuple[Any, ...]]
    facts: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def allows(self, case: Case, door: str, fact: tuple[str, ...]) -> bool:
        """Return whether a fact of a case may differ."""
        is_fact = not self.facts or fact[0] in (*self.facts, "holm_p_value")
        of_measures = (fact[1],) if len(fact) > 1 and fact[0] != "holm_p_value" else case.measures
        return (
            door in self.doors
            and is_fact
            and all(
                any(text.startswith(values) for text in of_measures)
                if name == "measure"
                else case[name] in values
                for name, values in self.when.items()
            )
        )

    def row(self, number: int) -> dict[str, Any]:
        """Return a combination in which the fault may be found."""
        options = {name: values[number % len(values)] for name, values in self.when.items()}
        return {**{n: v for n, v in options.items() if v is not None}, **self.data}


KNOWN: tuple[Known, ...] = (
    Known(
        "a report orders equal scores by relevance for measures of the items shown",
        ("report",),
        {"measure": ("novelty", "popularity", "diversity")},
        ("listed", "missed"),
        {"measure": "popularity@2", "scores": "tied", "grades": "binary"},
    ),
)
"""The known faults. The same facts in other cases are new faults."""
