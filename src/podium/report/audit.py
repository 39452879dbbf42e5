"""What shows an Audit: tables, paragraphs, its page and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podium._text import counted, printable
from podium.decide import Audit
from podium.decide.audit.audit import PER_USER
from podium.decide.audit.pricing import POPULARITY
from podium.evaluation.finding import SEVERITIES
from podium.report import pages, tables
from podium.report._types import Figure, Report, Section, Table
from podium.report.cells import change, changes, number
from podium.report.figures import intervals, value_row
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
        parts: list[Text | Tables] = [Text((f"Audit of {result['measure']}: {headline(result)}",))]
        if result["findings"]:
            parts.append(Tables((findings_table(result),)))
        parts += [
            Text(tuple(paragraphs(finding, result["measure"])), title(finding))
            for finding in result["findings"]
        ]
        return View((*parts, Tables((context_table(result),))))

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
        """Return the values of runs, and the effects of findings if any is known."""
        chosen_measure([self.result.measure], measure)
        effects = _effects(self.json)
        pictures = {"values": _values(self.json)}
        return pictures if effects is None else {**pictures, "effects": effects}

    def page(self, titles: Any) -> Report:
        """Return the page: the most serious finding, then all of them."""
        result = self.json
        findings, measure = result["findings"], result["measure"]
        context: Section = {
            "title": "Context",
            "figures": [_values(result)],
            "tables": [context_table(result)],
        }
        summary, status = f"{headline(result)} Nothing was found.", "good"
        if findings:
            first = findings[0]
            start = f"{headline(result)} The most serious one is {first['check']}"
            summary = f"{start}: {first['text']}"
            status = "bad" if result["counts"]["error"] else "open"
        sections: list[Section] = [
            {"title": title(finding), "text": [*paragraphs(finding, measure)]}
            for finding in findings
        ]
        if findings:
            sections.insert(0, {"title": "Findings", "tables": [findings_table(result)]})
        return {
            "title": f"Audit of {measure}",
            "status": status,
            "summary": [summary],
            "sections": [*sections, context],
            "conventions": pages.conventions(result),
        }

    def to_markdown(self) -> str:
        """Return the findings and the context in GitHub's Markdown."""
        result, measure = self.json, self.result.measure
        parts = [f"### Audit of {printable(measure)}: {headline(result)}"]
        if result["findings"]:
            parts.append(tables.to_markdown(findings_table(result)))
        for finding in result["findings"]:
            lines = [f"- {printable(line)}" for line in paragraphs(finding, measure)]
            parts.append("\n".join([f"**{printable(title(finding))}**", "", *lines]))
        return "\n\n".join([*parts, tables.to_markdown(context_table(result))]) + "\n"


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
    rows = [value_row(name.removeprefix(_OF_RUN), value) for name, value in values.items()]
    title = f"{result['measure']} of runs and of lists without a model"
    return intervals(title, rows, axis_label=f"mean {result['measure']}")


def _effects(result: Mapping[str, Any]) -> Figure | None:
    """Return how much each finding changes the measure; None if no change is known."""
    rows = [
        value_row(f"{finding['check']} ({_lists(effect)})", effect["with"] - effect["without"])
        for finding in result["findings"]
        for effect in finding["effects"]
        if None not in (effect["with"], effect["without"])
    ]
    if not rows:
        return None
    title = f"{result['measure']} with each fault − without it"
    return intervals(title, rows, reference={"value": 0.0, "label": "no effect"})


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
        if effect["baseline"]:
            with_fault, without = (_change(effect, n) for n in ("", "_without"))
            text = f"{with_fault} with the fault, {without} without."
        else:
            error = effect["std_error"]
            of_error = "" if error is None else f" (standard error {number(error)})"
            text = f"{number(effect['with'])} with the fault, {number(effect['without'])} without"
            text += f"{of_error}."
        yield f"{measure} of {_lists(effect)}: {text}"
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


def _lists(effect: Mapping[str, Any]) -> str:
    """Return the name of lists, or of the difference of two runs."""
    return " - ".join(filter(None, (effect["run"], effect["baseline"])))


def _change(effect: Mapping[str, Any], which: str) -> str:
    """Return a mean difference with its interval."""
    value, ends = effect["without" if which else "with"], effect[f"interval{which}"]
    return f"{change(value)} {changes(ends)}"


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
