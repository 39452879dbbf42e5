"""What shows an Explanation: tables and paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from podium._grammar import word
from podium.decide import Explanation
from podium.report._types import Table
from podium.report.cells import number, p_value
from podium.report.conventions import listed
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
    """The reasons of an Explanation."""

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
            if notes := tuple(search_notes(search)):
                yield Text(notes)
            first = search["matches"][:1]
            yield from (_lines_to_change(m["toml"][0]) for m in first if _has_lines(m))

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
            yield Text((f"Without effect on these data: {_changes(same)}.",))
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
        packages, first = ", ".join(match["packages"]), _changes(match["changes"][0])
        yield ["match", packages, first, match["value"]]
    for steps in result["packages"]:
        like = steps["like"]
        yield ["default", like, "", steps["start"]]
        for step in steps["steps"]:
            change = _changes({step["convention"]: step["value"]})
            yield ["change", like, change, step["change"]]
        yield ["value", like, "", steps["end"]]
    for table, line in _lines(result):
        yield ["yours", table, line["label"], line["n_yours"]]
        yield ["theirs", table, line["label"], line["n_theirs"]]


def _lines(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the counts of two tables, with what both are."""
    for compared in result["differences"]:
        yield from ((f"two {compared['kind']}s", line) for line in compared["lines"])


def _changes(changes: Mapping[str, Any]) -> str:
    """Return changed conventions in one line."""
    return listed(changes) or "your conventions"


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
            f"{number(nearest['value'])}, with {_changes(nearest['changes'][0])}. Perhaps the "
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
        rows.append([_changes(first), *values, p_value(match["chance"]), packages])
        rows += [[f"or {_changes(other)}", *[""] * (len(values) + 2)] for other in others]
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
        cause = _changes(matches[0].changes[0]) if matches else "none of those searched"
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


def _has_lines(match: Mapping[str, Any]) -> bool:
    """Return whether podium can measure the first cause: it consists of conventions."""
    return not {"deviation", "reading"} & {name.partition(" ")[0] for name in match["changes"][0]}


def search_notes(search: Mapping[str, Any]) -> Iterator[str]:
    """Yield what would decide."""
    for name, values in search["deciding"].items():
        shown = ", ".join(map(number, values))
        yield f"Print {name} too: it is {shown} under the first causes."
    if search["matches"] and not search["is_determined"] and not search["deciding"]:
        yield "More digits, a further measure or the values of some users would decide."
    hidden = search["n_others"] + max(0, len(search["matches"]) - _MOST_MATCHES)
    if hidden:
        yield f"{hidden:,} further causes also fit. More digits exclude most of them."


def waterfall_table(steps: Mapping[str, Any]) -> Table:
    """Return one row per step from podium's value to the package's."""
    rows = [["your conventions", number(steps["start"]), "", ""]]
    for step in steps["steps"]:
        if step["n_users"]:
            name = f"{step['convention']}: {word(step['default'])} → {word(step['value'])}"
            rows.append([name, "", number(step["change"], "+"), str(step["n_users"])])
    rows.append([steps["like"], number(steps["end"]), "", ""])
    return {"columns": ["convention", "value", "change", "users"], "rows": rows}


def packages_table(packages: Sequence[Mapping[str, Any]]) -> Table:
    """Return one row per package: its value, and the conventions that change it."""
    rows = [["podium", number(packages[0]["start"]), ""]]
    for steps in packages:
        changed = {s["convention"]: s["value"] for s in steps["steps"] if s["n_users"]}
        value = "–".join(map(number, steps["open_ties"] or [steps["end"]]))
        rows.append([steps["like"], value, _changes(changed) if changed else ""])
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
