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


_TEST = ("wins", "losses", "equal", "t_p_value", "effect", "randomisation_p_value")
_DIVIDED = {"by": (("engagement",), ("n_pos",))}
_DROPPING = ("sklearn", "torchmetrics")

KNOWN: tuple[Known, ...] = (
    Known(
        "tests of means over ties compare rounded sums",
        ("compare",),
        {"ties": ("average",)},
        _TEST,
        {"measure": "recall", "scores": "tied", "candidate": "reordered"},
    ),
    Known(
        "tests of diversity compare rounded sums",
        ("compare",),
        {"measure": ("diversity",)},
        _TEST,
        {"measure": "diversity@3", "candidate": "reordered"},
    ),
    Known(
        "the gate takes bounds with unretrieved=drop",
        ("gate",),
        {"unjudged": ("bounds",), "unretrieved": ("drop",)},
        ("refusal",),
        {"measure": "recall@2"},
    ),
    Known(
        "the gate takes bounds with score_above",
        ("gate",),
        {"unjudged": ("bounds",), "score_above": (0.0, 0.5)},
        ("refusal",),
        {"measure": "recall@2"},
    ),
    Known(
        "segments by the positives of the first run's lists",
        ("compare", "gate"),
        {**_DIVIDED, "unretrieved": ("drop",)},
        data={"measure": "recall@2"},
    ),
    Known(
        "segments by the positives of the first run's lists, of packages",
        ("compare", "gate"),
        {**_DIVIDED, "like": _DROPPING},
        data={"measure": "ndcg@3"},
    ),
    Known(
        "auc@1 refuses an emptied list although it has no value",
        ("measure", "compare", "gate", "report", "files", "parts", "explain"),
        {"measure": ("auc@1",)},
        ("refusal",),
        {"measure": "auc@1", "score_above": 0.5, "scores": "signed"},
    ),
    Known(
        "lists of a report in an order of their own",
        ("report",),
        {},
        ("listed", "missed"),
        {"measure": "rr", "scores": "tied"},
    ),
    Known(
        "curves of a report without the options of the package",
        ("report",),
        {"like": ("recbole", "rectools", "torchmetrics", "trec_eval", "ir_measures", "ranx")},
        ("curve",),
        {"measure": "ndcg@3"},
    ),
    Known(
        "topk_loss of users without positives counted as 1",
        ("audit",),
        {"measure": ("topk_loss",)},
        ("without",),
        {"measure": "topk_loss@1", "grades": "binary"},
    ),
)
"""The known faults. The same facts in other cases are new faults."""
