"""What shows an Audit: tables, paragraphs and its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podium._text import counted
from podium.decide import Audit
from podium.decide.audit.audit import PER_USER
from podium.decide.audit.pricing import POPULARITY
from podium.evaluation.finding import SEVERITIES
from podium.report import tables
from podium.report._types import Figure, Report, Table
from podium.report.cells import change, changes, number
from podium.report.conventions import conventions_line
from podium.report.figures import interval_row, intervals
from podium.report.renderer import Pictures, Renderer, chosen_measure
from podium.report.views import Numbers, Tables, Text, View

_FLAT = ("check", "run", "severity", "count", "total", "noun", "text", "remedy")
_OF_RUN = "value of "  # the start of names in the context
_EFFECT = ("with", "without", "std_error")


class AuditRenderer(Renderer[Audit]):
    """The findings of an Audit, what to do about them, and the context."""

    def parts(self) -> View:
        """Return the number of findings, all of them, and the context."""
        result = self.json
        findings = result["findings"]
        first = [Tables((findings_table(result),), "Findings")] if findings else []
        texts = (
            Text(tuple(paragraphs(finding, result["measure"])), title(finding))
            for finding in findings
        )
        head = f"Audit of {result['measure']}: {headline(result)}"
        context = Tables((context_table(result),), "Context")
        return View((*first, *texts, context), head=(head,))

    def table(self) -> Table:
        """Return one row per finding, with its largest effect and all digits."""
        records = ({**_largest(f["effects"]), **f} for f in self.json["findings"])
        return tables.flat([*_FLAT, *_EFFECT], records)

    def numbers(self) -> Numbers:
        """Yield the number of findings by severity, each finding's counts, and the context."""
        for severity, n in self.json["counts"].items():
            yield f"n_{severity}s", {"": n}
        for finding in self.json["findings"]:
            place = f"{finding['run']}/" if finding["run"] else ""
            effect = _largest(finding["effects"])
            values = {"": finding["count"], "of": finding["total"]}
            values |= {name: effect.get(name) for name in _EFFECT if effect}
            yield f"{place}{finding['check']}", values
        for name, value in self.json["context"].items():
            yield f"context/{name}", {"": value}

    def pictures(self, measure: Any) -> Pictures:
        """Return the values of runs and of lists without a model."""
        chosen_measure([self.result.measure], measure)
        return {"values": _values(self.json)}

    def page(self, titles: Any) -> Report:
        """Return the page: the findings and the context."""
        counts = self.json["counts"]
        status = "bad" if counts["error"] else "open" if any(counts.values()) else "good"
        base = super().page(titles)
        return {
            **base,
            "title": f"Audit of {self.json['measure']}",
            "status": status,
            "summary": [*base.get("summary", ()), *(f["text"] for f in self.json["findings"][:1])],
            "conventions": {"options": conventions_line(self.json["conventions"])},
        }


def headline(result: Mapping[str, Any]) -> str:
    """Return the numbers of findings in one line.

    Examples
    --------
    >>> headline({"counts": {"error": 1, "warning": 0, "note": 2}})
    '1 error, 0 warnings, 2 notes.'
    """
    counts = [f"{n} {severity}{'s' * (n != 1)}" for severity, n in result["counts"].items()]
    return f"{', '.join(counts)}."


def _values(result: Mapping[str, Any]) -> Figure:
    """Return the values of runs and of lists without a model in an Audit's JSON form."""
    values = {n: v for n, v in result["context"].items() if n.startswith(_OF_RUN)}
    rows = [
        interval_row(name.removeprefix(_OF_RUN), {"mean": value, "interval": (None, None)})
        for name, value in values.items()
    ]
    title = f"{result['measure']} of runs and of lists without a model"
    return intervals(title, rows, axis_label=f"mean {result['measure']}")


def findings_table(result: Mapping[str, Any]) -> Table:
    """Return one row for each finding, with its largest effect on the measure."""
    records = [{**_largest(f["effects"]), **f, "run": _run(f)} for f in result["findings"]]
    run = ["run"] if any(record["run"] for record in records) else []
    columns: tables.Columns = {
        **tables.texts("check", *run, "severity", "count"),
        "of": ("total", str),
        "with": ("with", number),
        "without": ("without", number),
    }
    return tables.build(columns, records)


def context_table(result: Mapping[str, Any]) -> Table:
    """Return the values that put the measure into context."""
    rows = [[name, _value(name, value)] for name, value in result["context"].items()]
    return {"columns": ["context", "value"], "rows": rows, "align": ["left", "right"]}


def paragraphs(finding: Mapping[str, Any], measure: str) -> Iterator[str]:
    """Yield what is wrong, what it does to the measure, examples, and the remedy."""
    yield finding["text"]
    for effect in finding["effects"]:
        run, values = effect["run"], [number(effect[name]) for name in ("with", "without")]
        error = effect["std_error"]
        end = "" if error is None else f" (standard error {number(error)})"
        if effect["baseline"]:
            run, end = f"{run} - {effect['baseline']}", ""
            values = [
                f"{change(effect[name])} {changes(effect[interval])}"
                for name, interval in (("with", "interval"), ("without", "interval_without"))
            ]
        yield f"{measure} of {run}: {values[0]} with the fault, {values[1]} without{end}."
    if finding["examples"]:
        yield f"For example, {'; '.join(finding['examples'])}."
    yield f"Remedy: {finding['remedy']}"


def remarks(result: Mapping[str, Any]) -> list[str]:
    """Return a line for each finding of a gate or comparison, without those among its reasons."""
    reasons = " ".join(result.get("reasons", ()))
    return [
        f"{finding['severity'].capitalize()}: {finding['text']} {finding['remedy']}"
        for finding in sorted(result["findings"], key=lambda f: SEVERITIES.index(f["severity"]))
        if finding["text"] not in reasons
    ]


def title(finding: Mapping[str, Any]) -> str:
    """Return the severity, the check and the count of a finding."""
    place = f" in {finding['run']}" if finding["run"] else ""
    count = f"{finding['count']:,} of {counted(finding['total'], finding['noun'])}"
    return f"{finding['severity']}: {finding['check']}{place}, {count}"


def _run(finding: Mapping[str, Any]) -> str:
    run = str(_largest(finding["effects"]).get("run", ""))
    return finding["run"] or ("" if run.startswith(POPULARITY) else run)


def _largest(effects: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the effect with the largest difference: of runs, or of the popularity list."""
    effects = [effect for effect in effects if not effect["baseline"]]
    known = [effect for effect in effects if None not in (effect["with"], effect["without"])]
    known = [effect for effect in known if not effect["run"].startswith(POPULARITY)] or known
    if known:
        return max(known, key=lambda effect: abs(effect["with"] - effect["without"]))
    return effects[0] if effects else {}


def _value(name: str, value: float | int | None) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1f}" if value is not None and name == PER_USER else number(value)
