"""What shows a Gate: its claims, its page, and JUnit XML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from podium._numbers import MINUS
from podium._text import counted, printable
from podium.decide import Gate
from podium.report import tables
from podium.report._types import Figure, Report, Table
from podium.report.audit import remarks
from podium.report.cells import change, changes, judgements, number
from podium.report.conventions import conventions_line
from podium.report.figures import differences
from podium.report.measured_figures import UNJUDGED
from podium.report.renderer import Pictures, Renderer, chosen_measure
from podium.report.views import Numbers, Tables, Text, View

_NUMBERS = ("std_error", "limit", "base", "candidate", "n_users", "n_undefined")
_FLAT = ("by", "place", "role", "measure", "verdict", "difference", "level", *_NUMBERS)
_STATUS = {"pass": "good", "fail": "bad", "cannot tell": "open"}
_WIDER = (
    "Gate interval: the t interval of podium compare, but wider for measures with bounds, because "
    "a sample can lack the rare large differences."
)
_WIDER_OF_LOOKS = (
    "Gate interval: wider than the t interval of podium compare, because those of all looks hold "
    "together."
)
EQUAL = (
    "Equal: for all users, both runs list the same items in the same order, with the same ties, as "
    "far as the measures read them. Nothing was tested."
)
_HEADINGS = {"pass": "Pass", "fail": "Fail", "cannot tell": "Can't tell"}


class GateRenderer(Renderer[Gate]):
    """The decision of a Gate, its reasons and its claims."""

    def parts(self) -> View:
        """Return the decision, the claims and the conventions."""
        result = self.json
        head = (headline(result), *result["reasons"], *remarks(result), *notes(result))
        parts: list[Tables | Text] = [Tables((gate_table(result),), "Claims")]
        if result["verdict"] != "equal":
            parts.append(Text((_WIDER_OF_LOOKS if result["look"] else _WIDER,)))
        return View(tuple(parts), head=head, options=conventions_line(result["conventions"]))

    def table(self) -> Table:
        """Return one row per claim with all digits."""
        return tables.flat([*_FLAT, "low", "high"], self.json["claims"])

    def numbers(self) -> Numbers:
        """Yield pass and fail as 0 or 1, and the numbers of each claim, such as ``recall@50``."""
        for decision in ("pass", "fail"):
            yield decision, {"": int(self.result.decision == decision)}
        for claim in self.json["claims"]:
            place = f"{claim['place']}/" if claim["by"] else ""
            numbers = tables.named(claim, "difference", ("low", "high", *_NUMBERS))
            yield f"{place}{claim['measure']}{' floor' if claim['floor'] else ''}", numbers

    def pictures(self, measure: Any) -> Pictures:
        """Return the claims of one measure."""
        name = chosen_measure([claim["measure"] for claim in _differences(self.json)], measure)
        return {"claims": claims_figure(self.json, name)}

    def figures(self) -> list[Figure]:
        """Return the claims of each measure."""
        measures = dict.fromkeys(claim["measure"] for claim in _differences(self.json))
        return [claims_figure(self.json, measure) for measure in measures]

    def page(self, titles: Any) -> Report:
        """Return the page: the decision, its reasons, and all claims."""
        result = self.json
        title = f"{result['candidate']} instead of {result['base']}?"
        status = "cannot tell" if _is_beaten(result) else result["decision"]
        return {**super().page(titles), "title": title, "status": _STATUS[status]}

    def to_junit(self, *, fail_on: str) -> str:
        """Return JUnit XML with one test case for each claim.

        Parameters
        ----------
        fail_on : {"inferior", "cannot-tell", "non-inferior"}
            The least severe verdict that is a failure. With "inferior", a claim that can't be told
            is skipped. With "non-inferior", the primary measure must be superior. Segments that
            can't be told always pass, because a gate requires only that none is inferior.
        """
        result, suite = self.json, ET.Element("testsuite", name="podium gate")
        for claim in result["claims"]:
            place = f" in {claim['place']}" if claim["by"] else ""
            name = f"{claim['measure']} {claim['floor']}".strip()
            kind = f"podium.gate.{claim['role']}"
            case = _add(suite, "testcase", classname=kind, name=f"{name}{place}")
            is_open = claim["verdict"] == "cannot tell" and claim["role"] != "segment"
            verdict = result["verdict"] if claim["role"] == "primary" else claim["verdict"]
            output = [] if is_open else [claim["sentence"]]
            if {verdict, claim["verdict"]} & _failures(claim["role"], fail_on):
                output = []
                _add(case, "failure", message=claim["sentence"], type=claim["verdict"])
            elif is_open:
                _add(case, "skipped", message=claim["sentence"])
            if claim["role"] == "primary" and result["unjudged"]:
                output.append(result["unjudged"]["sentence"])
            if output:
                _add(case, "system-out").text = "\n".join(map(printable, output))
        open_cases = [("audit", f["check"], f["text"], "error") for f in errors(result)]
        if depends_on_ties(result):
            text = " ".join(result["reasons"])
            open_cases.append(("ties", "equal scores", text, "cannot tell"))
        for kind, name, text, severity in open_cases:
            case = _add(suite, "testcase", classname=f"podium.gate.{kind}", name=name)
            if fail_on == "inferior":
                _add(case, "skipped", message=text)
            else:
                _add(case, "failure", message=text, type=severity)
        paths = {"tests": "testcase", "failures": "testcase/failure", "skipped": "testcase/skipped"}
        suite.attrib |= {name: f"{len(suite.findall(path))}" for name, path in paths.items()}
        ET.indent(suite)
        return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def headline(result: Mapping[str, Any]) -> str:
    """Return the decision in one line."""
    start, measure = _HEADINGS[result["decision"]], result["claims"][0]["measure"]
    base, candidate, verdict = result["base"], result["candidate"], result["verdict"]
    checks = dict.fromkeys(finding["check"] for finding in errors(result))
    if checks and result["decision"] == "cannot tell":
        return f"{start}: the evaluation has {counted(len(checks), 'errors')}: {', '.join(checks)}."
    if depends_on_ties(result):
        return f"{start}: the decision depends on the order of equal scores."
    if verdict == "cannot tell":
        text = f"{measure} does not show whether {candidate} may replace {base}"
    elif verdict == "equal":
        text = f"the runs are equal: {candidate} has the same lists as {base}"
    else:
        text = f"{candidate} is {verdict} to {base} in {measure}"
    if _is_beaten(result):
        text += ", but a list without a model is better than both"
    reason = {"fail": "inferior"}.get(result["decision"], result["decision"])
    if reason not in ("pass", verdict):
        others = [claim for claim in result["claims"][1:] if claim["verdict"] == reason]
        faults = [_fault(c) for c in others if reason == "inferior" or c["role"] != "segment"]
        text += f", but {', '.join(faults)}"
    return f"{start}: {text}."


def _is_beaten(result: Mapping[str, Any]) -> bool:
    """Return whether the candidate passes, although a list without a model is better."""
    better = ("not-compared", "warning")
    checks = [(finding["check"], finding["severity"]) for finding in result["findings"]]
    return result["decision"] == "pass" and better in checks


def errors(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the errors of the evaluation."""
    return [finding for finding in result["findings"] if finding["severity"] == "error"]


def depends_on_ties(result: Mapping[str, Any]) -> bool:
    """Return whether the two orders of equal scores lead to different decisions."""
    ties = result["ties"]
    return ties is not None and len({*ties["decisions"].values()}) > 1


def claims_figure(result: Mapping[str, Any], measure: str) -> Figure:
    """Return the differences in a measure of a Gate's JSON form, for all users and segments."""
    drawn = [claim for claim in _differences(result) if claim["measure"] == measure]
    sides = (result["base"], result["candidate"])
    limit = drawn[0]["limit"]
    figure = differences(
        f"{measure}: {result['candidate']} − {result['base']}",
        sides if drawn[0]["higher_is_better"] else sides[::-1],
        [(claim["place"], claim, "") for claim in drawn],
        UNJUDGED.replace("means", "differences"),
    )
    if limit:
        figure["reference"] = {"value": limit, "label": f"limit {limit:+.4g}".replace("-", MINUS)}
    return figure


def _differences(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the claims on differences of the runs: all but the floors."""
    return [claim for claim in result["claims"] if claim["role"] != "floor"]


def gate_table(result: Mapping[str, Any]) -> Table:
    """Return one row for each claim."""
    claims = result["claims"]
    levels = {claim["level"] for claim in claims}
    level = f"{levels.pop():.4g} " if len(levels) == 1 else ""
    columns: tables.Columns = {
        **({"segment": ("place", str)} if any(c["place"] != "all" for c in claims) else {}),
        "measure": ("name", str),
        "diff.": ("difference", change),
        f"{level}gate interval": ("interval", changes),
        "limit": ("limit", lambda limit: f"{limit:+.4g}" if limit else "0"),
        "verdict": ("verdict", str),
        **({"unjudged": ("unjudged", judgements)} if result["unjudged"] else {}),
        "base": ("base", number),
        "candidate": ("candidate", number),
        "users": ("n_users", str),
        **({"undefined": ("n_undefined", str)} if any(c["n_undefined"] for c in claims) else {}),
    }
    return tables.build(columns, ({**claim, "name": _name(claim)} for claim in claims))


def _name(claim: Mapping[str, Any]) -> str:
    kind = claim["floor"] or ("guard" if claim["role"] == "guard" else "")
    return f"{claim['measure']} ({kind})" if kind else claim["measure"]


def _add(parent: ET.Element, tag: str, **attributes: str) -> ET.Element:
    """Add an element; control characters in its attributes are replaced."""
    return ET.SubElement(parent, tag, {k: printable(v) for k, v in attributes.items()})


def _failures(role: str, fail_on: str) -> set[str]:
    """Return the verdicts that are failures of a claim."""
    failures = {"inferior"}
    if role != "segment" and fail_on != "inferior":
        failures.add("cannot tell")
    if role == "primary" and fail_on == "non-inferior":
        failures |= {"equal", "non-inferior"}
    return failures


def _fault(claim: Mapping[str, Any]) -> str:
    if claim["role"] == "segment":
        return f"{claim['verdict']} in {claim['measure']} of {claim['place']}"
    is_broken = claim["verdict"] == "inferior"
    if claim["role"] == "floor":
        return f"{claim['measure']} {'is not' if is_broken else 'may not be'} {claim['floor']}"
    return f"guard {claim['measure']} " + ("is broken" if is_broken else "can't be told")


def notes(result: Mapping[str, Any]) -> list[str]:
    """Return the lines on the level of segments, the look and unjudged items, if any."""
    levels = {claim["level"] for claim in result["claims"]}
    first = result["claims"][0]["level"]
    lines = [EQUAL] if result["verdict"] == "equal" else []
    lines += [
        f"The intervals of segments have the level {level:.4g}, so that all of them hold together."
        for level in levels - {first}
    ]
    if look := result["look"]:
        horizon = f", horizon {look['horizon']:,}" if look["horizon"] else ""
        users = f"{look['n_users']:,} users, {look['n_new']:,} of them new"
        lines.append(f"Look {look['number']}: {users}{horizon}.")
        if look.get("mean_over") == "clusters":
            lines.append("Means are over clusters: each cluster counts once.")
    if (ties := result["ties"]) and not depends_on_ties(result):
        lines.append(ties["sentence"])
    if unjudged := result["unjudged"]:
        file = " --labels FILE writes the items to judge." if unjudged["n_labels"] else ""
        lines.append(f"{unjudged['sentence']}{file}")
    return lines
