"""What shows an Explanation: tables and paragraphs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from podium._fields import FIELDS
from podium._grammar import word
from podium.decide import Explanation
from podium.report._types import Table
from podium.report.cells import number, p_value
from podium.report.conventions import as_option
from podium.report.renderer import Renderer
from podium.report.tables import Columns, build
from podium.report.views import Numbers, Tables, Text, View

_MOST_MATCHES = 10
_MOST_EQUAL = 3
_MISSING = (
    "podium measure refuses this by default. Here, podium's value is that with --missing zero."
)
_REPEATED = "podium measure refuses this. Here, podium's value counts an item at its best rank."
_CHANCE = "The chance is that of a fit by accident, if the cause is not searched."
_PAGE = "docs/explain.md, section What is searched"


class ExplanationRenderer(Renderer[Explanation]):
    """The reasons of an Explanation.

    Parameters
    ----------
    result : Explanation
    files : sequence of str
        The truth and the run in the command that repeats a value.
    """

    def __init__(self, result: Explanation, files: Sequence[str] = ("TRUTH", "RUN")) -> None:
        super().__init__(result)
        self.files = files

    def parts(self) -> View:
        """Return the differences of tables, the conventions that fit, and values of packages."""
        parts = (*_of_tables(self.json), *self._of_search(), *_of_packages(self.json["packages"]))
        return View(parts)

    def _of_search(self) -> Iterator[Text | Tables]:
        result, search = self.json, self.json["search"]
        if (search is not None or result["packages"]) and result["n_missing"]:
            lacks = f"The run lacks {result['n_missing']:,} of {result['n_users']:,} users."
            yield Text((f"{lacks} {_MISSING}",))
        if result["n_repeated"] and not self.json["differences"]:
            rows = f"{result['n_repeated']:,} rows of the run repeat an item of their user."
            yield Text((f"{rows} {_REPEATED}",))
        if search is not None:
            yield Text((search_headline(search),))
            if search["matches"]:
                yield Tables((matches_table(search),))
                yield Text(tuple(words_of_first(search)))
            if search["examples"]:
                yield Tables((examples_table(search),))
            yield Text(tuple(search_notes(result, self.files)))
            first = search["matches"][:1]
            yield from (_lines_to_change(m["toml"][0]) for m in first if _has_command(m))

    def table(self) -> Table:
        """Return one row per match, step to a package, and count of two tables."""
        return {"columns": ["kind", "of", "conventions", "value"], "rows": [*_rows(self.json)]}

    def numbers(self) -> Numbers:
        """Yield the number of matches, and the value of each package with the changes to it."""
        result = self.json
        yield "n_users", {"": result["n_users"]}
        yield "n_missing", {"": result["n_missing"]}
        if search := result["search"]:
            yield from ((name, {"": value}) for name, value in search["defaults"].items())
            yield "is_determined", {"": int(search["is_determined"])}
            yield "n_matches", {"": len(search["matches"]) + search["n_others"]}
        for steps in result["packages"]:
            yield f"podium/{steps['measure']}", {"": steps["start"]}
            changes = {step["convention"]: step["change"] for step in steps["steps"]}
            yield f"{steps['like']}/{steps['measure']}", {"": steps["end"], **changes}
        for table, line in _lines(result):
            counts = {"yours": line["n_yours"], "theirs": line["n_theirs"]}
            yield f"{table}/{line['label']}", counts


def _of_tables(result: Mapping[str, Any]) -> Iterator[Text | Tables]:
    for compared in result["differences"]:
        yield Tables((differences_table(compared),))
        yield Text((differences_note(compared),))


def _of_packages(packages: Sequence[Mapping[str, Any]]) -> Iterator[Text | Tables]:
    if len(packages) == 1:
        yield Text((f"{packages[0]['measure']}, from podium to {packages[0]['like']}",))
        yield Tables((waterfall_table(packages[0]),))
        if same := {s["convention"]: s["value"] for s in packages[0]["steps"] if not s["n_users"]}:
            yield Text((f"Without effect on these data: {conventions(same)}.",))
        yield _lines_to_change(packages[0]["toml"])
    elif packages:
        yield Tables((packages_table(packages),))
    if names := [steps["like"] for steps in packages if steps["open_ties"] is not None]:
        leaves = "leaves" if len(names) == 1 else "leave"
        start = f"{', '.join(names)} {leaves} the order of equal scores open"
        yield Text((f"{start}: the value is in a range.",))


def _lines_to_change(lines: str) -> Text:
    """Return the lines of podium.toml to change; there are none if only --pooled differs."""
    return Text(tuple(lines.splitlines()) or ("none",), "Lines to change in podium.toml")


def _rows(result: Mapping[str, Any]) -> Iterator[list[Any]]:
    for match in result["search"]["matches"] if result["search"] else ():
        packages, first = ", ".join(match["packages"]), conventions(match["changes"][0])
        yield ["match", packages, first, match["value"]]
    for steps in result["packages"]:
        like = steps["like"]
        yield ["default", like, "", steps["start"]]
        for step in steps["steps"]:
            change = conventions({step["convention"]: step["value"]})
            yield ["change", like, change, step["change"]]
        yield ["value", like, "", steps["end"]]
    for table, line in _lines(result):
        yield ["yours", table, line["label"], line["n_yours"]]
        yield ["theirs", table, line["label"], line["n_theirs"]]


def _lines(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the counts of two tables, with what both are."""
    for compared in result["differences"]:
        yield from ((f"two {compared['kind']}s", line) for line in compared["lines"])


def conventions(changes: Mapping[str, Any]) -> str:
    """Return conventions in one line.

    Examples
    --------
    >>> conventions({"gain": "exp2", "single_precision": True})
    'gain=exp2, single_precision=true'
    """
    return (
        ", ".join(f"{name}={word(value)}" for name, value in changes.items()) or "your conventions"
    )


def search_headline(search: Mapping[str, Any]) -> str:
    """Return whether the cause of the numbers is determined, in one or two sentences."""
    usual = (f"{name} is {number(value)}" for name, value in search["defaults"].items())
    start = f"{', '.join(usual)} with your conventions. "
    given = " and ".join(search["numbers"].values())
    n, total = len(search["matches"]) + search["n_others"], f"{search['n_combinations']:,} causes"
    if not n:
        nearest = search["nearest"]
        return (
            f"{start}None of {total} gives {given}. The nearest value is "
            f"{number(nearest['value'])}, with {conventions(nearest['changes'][0])}. Perhaps the "
            "data differ: compare your tables with theirs by --other-truth and --other-run."
        )
    if search["is_determined"]:
        return f"{start}Of {total}, this is the one that gives {given}:"
    fits = f"{n:,} of {total} {'gives' if n == 1 else 'give'} {given}"
    return f"{start}Not determined: {fits}, which may be chance."


def matches_table(search: Mapping[str, Any]) -> Table:
    """Return one row per answer: its cause, values, chance and packages."""
    rows: list[list[str]] = []
    for match in search["matches"][:_MOST_MATCHES]:
        first, *others = match["changes"][:_MOST_EQUAL]
        values = [number(value) for value in match["values"].values()]
        packages = ", ".join(match["packages"])
        rows.append([conventions(first), *values, p_value(match["chance"]), packages])
        rows += [[f"or {conventions(other)}", *[""] * (len(values) + 2)] for other in others]
    return {"columns": ["cause", *search["numbers"], "chance", "packages"], "rows": rows}


def words_of_first(search: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of the first answer's deviation, the remedy and the page."""
    first = search["matches"][0]
    if first["sentence"]:
        maybe = "" if search["is_determined"] else "If it is the first: "
        yield f"{maybe}{first['sentence']}"
        yield f"Remedy: {first['remedy']}"
    if search["is_determined"] and not first["changes"][0]:
        yield "The number is podium's own."
    yield f"{_CHANCE} See {_PAGE}."


def checks_table(checks: Iterable[Any]) -> Table:
    """Return one row per measure and kind of small lists: the cause of its values."""
    rows: list[list[Any]] = []
    for check in checks:
        matches = check.search.matches
        cause = conventions(matches[0].changes[0]) if matches else "none of those searched"
        if matches and not check.search.is_determined:
            cause = f"not determined, perhaps {cause}"
        rows.append([check.measure, check.lists, check.n_lists, cause])
    return {"columns": ["measure", "lists", "number", "cause"], "rows": rows}


def examples_table(search: Mapping[str, Any]) -> Table:
    """Return users on whom the first answer differs from podium, or from the second answer."""
    names = ["podium", "theirs"]
    if not search["is_determined"] and len(search["matches"]) > 1:
        names = ["first cause", "second cause"]
    rows = [
        [example["user"], *map(number, example["values"]), ", ".join(example["items"])]
        for example in search["examples"]
    ]
    return {"columns": ["user", *names, "list (relevance)"], "rows": rows}


def _has_command(match: Mapping[str, Any]) -> bool:
    """Return whether podium has a command for the first cause: it consists of conventions."""
    return not {"deviation", "reading"} & {name.partition(" ")[0] for name in match["changes"][0]}


def search_notes(result: Mapping[str, Any], files: Sequence[str]) -> Iterator[str]:
    """Yield what would decide, and the command that repeats the value."""
    search = result["search"]
    for name, values in search["deciding"].items():
        shown = ", ".join(map(number, values))
        yield f"Print {name} too: it is {shown} under the first causes."
    if search["matches"] and not search["is_determined"] and not search["deciding"]:
        yield "More digits, a further measure or the values of some users would decide."
    hidden = search["n_others"] + max(0, len(search["matches"]) - _MOST_MATCHES)
    if hidden:
        yield f"{hidden:,} further causes also fit. More digits exclude most of them."
    first = search["matches"][0] if search["matches"] else None
    if first and _has_command(first):
        words = command(first["protocol"], files)
        yield f"Command: {words}{' --pooled' if first['changes'][0].get('pooled') else ''}"


def command(protocol: Mapping[str, Any], files: Sequence[str]) -> str:
    """Return the command that measures the first measure of a protocol, given its JSON form.

    Examples
    --------
    >>> protocol = {"measures": ["ndcg(gain=exp2)@10"], "undefined": "zero"}
    >>> command(protocol, ["a.csv", "b.csv"])
    "podium measure a.csv b.csv -m 'ndcg(gain=exp2)@10' --undefined zero"
    """
    words = ["podium", "measure", *files, "-m", protocol["measures"][0]]
    for name, value in protocol.items():
        if name == "rows_ranked":
            words += as_option(name, value)
        elif name in FIELDS and FIELDS[name].stage == "tables":
            words += ["--column", f"{name}={value}"]
        elif name == "ties_seed":
            words += ["--seed", str(value)]
        elif name in FIELDS and (FIELDS[name].stage == "lists" or name == "undefined"):
            words += as_option(name, value)
    return shlex.join(words)


def waterfall_table(steps: Mapping[str, Any]) -> Table:
    """Return one row per step from podium's value to the package's."""
    rows = [["your conventions", number(steps["start"]), "", ""]]
    values = zip(steps["steps"], step_values(steps), strict=True)
    for step, value in ((step, value) for step, value in values if step["n_users"]):
        name = f"{step['convention']}: {word(step['default'])} → {word(step['value'])}"
        rows.append([name, number(value), number(step["change"], "+"), str(step["n_users"])])
    return {"columns": ["convention", "value", "change", "users"], "rows": rows}


def step_values(steps: Mapping[str, Any]) -> list[float | None]:
    """Return the value after each step to a package; None if it is undefined.

    Examples
    --------
    >>> steps = [{"change": None}, {"change": None}, {"change": 0.5}]
    >>> step_values({"start": None, "end": 0.75, "steps": steps})
    [None, 0.25, 0.75]
    """
    changes = [step["change"] for step in steps["steps"]]
    negated = [None if change is None else -change for change in changes]
    from_end = _sums(steps["end"], negated[::-1])[::-1]
    pairs = zip(_sums(steps["start"], changes), from_end, strict=True)
    return [later if earlier is None else earlier for earlier, later in pairs][1:]


def _sums(start: float | None, changes: Sequence[float | None]) -> list[float | None]:
    """Return a number and its sums with the first changes; None from the first None on."""
    return [*accumulate([start, *changes], lambda a, b: None if a is None or b is None else a + b)]


def packages_table(packages: Sequence[Mapping[str, Any]]) -> Table:
    """Return one row per package: its value, and the conventions that change it."""
    rows = [["podium", number(packages[0]["start"]), ""]]
    for steps in packages:
        changed = {s["convention"]: s["value"] for s in steps["steps"] if s["n_users"]}
        value = "–".join(map(number, steps["open_ties"] or [steps["end"]]))
        rows.append([steps["like"], value, conventions(changed) if changed else ""])
    return {"columns": ["package", "value", "conventions that matter here"], "rows": rows}


def differences_table(compared: Mapping[str, Any]) -> Table:
    """Return one row per count of two truths or two runs."""
    columns: Columns = {
        f"two {compared['kind']}s": ("label", str),
        "yours": ("n_yours", str),
        "theirs": ("n_theirs", str),
        "such as": ("examples", ", ".join),
    }
    return build(columns, compared["lines"])


def differences_note(compared: Mapping[str, Any]) -> str:
    """Return the differences of the pairs that both tables have, in a sentence."""
    of_what = "relevance" if compared["kind"] == "truth" else "score"
    n_common, n_changed = compared["n_common_pairs"], compared["n_changed_pairs"]
    verb = "has" if n_changed == 1 else "have"
    text = f"Of {n_common:,} pairs in both, {n_changed:,} {verb} another {of_what}."
    if compared["kind"] == "run":
        n_users = compared["n_users_reordered"]
        whose = "1 user has its" if n_users == 1 else f"{n_users:,} users have their"
        text += f" {whose} common items in another order."
    return text
