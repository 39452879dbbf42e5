"""From the cells of the study of top-k consistency to the paper's claims, tables and plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, mean, parts
from podium.report import Figure, Table

NAMES = {
    "listmle": "ListMLE",
    "listnet": "ListNet",
    "rankcosine": "RankCosine",
    "permutation-cross-entropy": "full cross entropy",
    "listnet-luce": "Luce cross entropy of the top k",
    "softmax": "softmax of grades",
    "squared": "squared",
    "logistic": "logistic: in the top k or not",
    "pairwise-logistic": "pairwise logistic",
    "pairwise-exponential": "pairwise exponential",
    "pairwise-hinge": "pairwise hinge",
    "gentle": "counter-example",
}
"""What the losses are called on the page."""

_LISTWISE = ("listmle", "listnet", "rankcosine", "permutation-cross-entropy")
_KINKED = "pairwise-hinge"
_Z = 1.96  # an interval of 95 %

Rows = list[tuple[Mapping[str, str], Result]]


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return what the paper's claims are about."""
    rows = list(_of(cells, "loss"))
    return {
        **_of_losses(rows),
        **_of_minimisers(rows),
        **_of_spaces(list(_of(cells, "spaces"))),
        **{
            f"{_name(asked)}: object 1 first from p1 =": Measured(found["first from"])
            for asked, found in _of(cells, "proposition 10")
        },
        **_of_curves(list(_of(cells, "proposition 10"))),
    }


def _of(cells: Cells, part: str) -> Iterator[tuple[Mapping[str, str], Result]]:
    for cell, result in cells.items():
        asked = parts(cell)
        if asked["part"] == part:
            yield asked, result


def _of_losses(rows: Rows) -> dict[str, Measured]:
    """Count violations of definition 3, by what the paper says of which losses."""
    top = [(a, r) for a, r in rows if a["form"] == "top-k"]
    found = {
        f"conditions that {NAMES[name]} at the top k violates": _count(
            len(r["violated"]) for a, r in top if a["loss"] == name
        )
        for name in _LISTWISE
    }
    inside = [r for a, r in rows if _original(a, _LISTWISE) and _is_short(a)]
    found["original listwise losses, k < n - 1: share that violates definition 3"] = mean(
        float(bool(r["violated"])) for r in inside
    )
    luce = [(a, r) for a, r in rows if a["loss"] == "listnet-luce"]
    for said, short in (("k < n - 1", True), ("k = n - 1", False)):
        found[f"Luce cross entropy, {said}: share that violates definition 3"] = mean(
            float(bool(r["violated"])) for a, r in luce if _is_short(a) == short
        )
    others = [(a, r) for a, r in top if a["loss"] not in (*_LISTWISE, _KINKED)]
    found["conditions that smooth pointwise and pairwise losses at the top k violate"] = _count(
        len(r["violated"]) for _, r in others
    )
    return found


def _of_minimisers(rows: Rows) -> dict[str, Measured]:
    """Measure how often the head is the Bayes rankers' where theorem 6 speaks."""
    kept = [r for a, r in rows if a["form"] == "top-k" and a["loss"] != _KINKED]
    kinked = [r for a, r in rows if a["form"] == "top-k" and a["loss"] == _KINKED]
    whole = [r for a, r in rows if _original(a, _LISTWISE) and not _is_short(a)]
    return {
        "theorem 6: share of spaces, smooth losses at the top k": _shares(kept),
        "theorem 7: pairs that smooth losses at the top k have wrong": _count(
            r["wrong pairs"] for r in kept
        ),
        "theorem 7: pairs tried": _count(r["pairs"] for r in kept),
        "theorem 7: pairs that the hinge at the top k has wrong": _count(
            r["wrong pairs"] for r in kinked
        ),
        "original listwise losses, k < n - 1: share of spaces": _shares(
            [r for a, r in rows if _original(a, _LISTWISE) and _is_short(a)]
        ),
        "original listwise losses, k = n - 1: share of spaces missed": Measured(
            1.0 - _shares(whole).value
        ),
    }


def _of_spaces(rows: Rows) -> dict[str, Measured]:
    found = {
        f"arbitrary spaces that meet theorem 6, n = {a['n']}, k = {a['k']}": mean(r["meets"])
        for a, r in rows
    }
    short = [r for a, r in rows if _is_short(a)]
    found["proposition 8: pairs lost from the top k + 1 to the top k"] = _count(
        r["proposition 8, broken"] for _, r in rows
    )
    n_pairs, n_held = (sum(r[f"converse, {what}"] for r in short) for what in ("pairs", "holds"))
    found["proposition 8: pairs lost from the top k to the top k + 1, k < n - 1"] = Measured(
        float(n_pairs - n_held), n=n_pairs
    )
    return found


def _of_curves(rows: Rows) -> dict[str, Measured]:
    found: dict[str, Measured] = {}
    for asked, curve in rows:
        behind = [lead <= 0.0 for lead in curve["lead"]]
        found[f"{_name(asked)}: share of p1 > p2 with another object first"] = Measured(
            sum(behind) / len(behind), n=len(behind)
        )
    return found


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Return proposition 10's curves, and how often each loss finds the best object."""
    return [
        _curves(list(_of(cells, "proposition 10"))),
        _shown(cells, "preserving"),
        _shown(cells, "arbitrary"),
    ]


def _curves(rows: Rows) -> Figure:
    """Draw the original losses; all at the top 1 lead by the whole spread, so one is enough."""
    shown = [(a, r) for a, r in rows if a["form"] == "original" or a["loss"] == "listmle"]
    return {
        "kind": "line_plot",
        "title": "Proposition 10: the lead of object 1, the most probable first",
        "x_label": "p1 = p(123); p(213) = p(321) = (1 − p1) / 2",
        "y_label": "score of object 1 less the best other, by the spread of the scores",
        "series": [{"label": _name(a), "x": r["p1"], "y": r["lead"]} for a, r in shown],
        "caption": "Below 0 another object is shown first, though object 1 is the most probable "
        "first at every p1 above 1/3. RankCosine, squared and pairwise logistic all but coincide.",
    }


def _shown(cells: Cells, kind: str) -> Figure:
    n, k = "4", "1"
    rows = [(a, r) for a, r in _of(cells, "loss") if (a["n"], a["k"]) == (n, k)]
    what = "spaces as theorem 6 asks for" if kind == "preserving" else "arbitrary spaces"
    return {
        "kind": "grouped_intervals",
        "title": f"Top {k} of {n} objects: {what}",
        "axis_label": "share of spaces whose Bayes top k the minimiser shows",
        "panels": [
            {
                "title": NAMES[name],
                "rows": [_interval(a["form"], r[kind]) for a, r in rows if a["loss"] == name],
            }
            for name in dict.fromkeys(a["loss"] for a, _ in rows)
        ],
        "caption": "Intervals of 95 % (Wilson's).",
    }


def _interval(form: str, found: Mapping[str, Any]) -> Mapping[str, Any]:
    share, n = mean(found["consistent"]).value, len(found["consistent"])
    extra = _Z**2 / n
    middle = (share + extra / 2) / (1 + extra)
    half = (_Z / n**0.5) * (share * (1 - share) + extra / 4) ** 0.5 / (1 + extra)
    low, high = min(share, middle - half), max(share, middle + half)
    return {"label": form, "value": share, "low": low, "high": high, "series": form}


def tables(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Table]:
    """Return the study itself, size by size."""
    sizes = dict.fromkeys((a["n"], a["k"]) for a, _ in _of(cells, "loss"))
    return [_conditions(cells), *(_study(cells, n, k) for n, k in sizes)]


def _study(cells: Cells, n: str, k: str) -> Table:
    rows = [
        [
            NAMES[a["loss"]],
            a["form"],
            ", ".join(r["violated"]) or "none found",
            *(_percent(r[kind]["consistent"]) for kind in ("preserving", "arbitrary")),
            *(max(r[kind]["regret"]) for kind in ("preserving", "arbitrary")),
            r["preserving"]["tied"] + r["arbitrary"]["tied"],
        ]
        for a, r in _of(cells, "loss")
        if (a["n"], a["k"]) == (n, k)
    ]
    return {
        "columns": [
            "loss",
            "form",
            "violates of definition 3",
            "% Bayes, theorem 6",
            "% Bayes, arbitrary",
            "regret, theorem 6",
            "regret, arbitrary",
            "ties decide",
        ],
        "rows": rows,
        "caption": f"n = {n}, k = {k}. % Bayes: spaces whose most probable head of {k} every "
        "minimiser shows, ties against it; regret: the largest loss of probability; ties decide: "
        "spaces where some ways to break a minimiser's ties show it and others do not.",
        "digits": 3,
    }


def _conditions(cells: Cells) -> Table:
    return {
        "columns": ["n", "k", "% that meet theorem 6", "% of pairs order preserving", "at k + 1"],
        "rows": [
            [
                int(a["n"]),
                int(a["k"]),
                _percent(r["meets"]),
                100 * r["pairs"],
                100 * r["converse, holds"] / r["converse, pairs"],
            ]
            for a, r in _of(cells, "spaces")
        ],
        "caption": "Arbitrary spaces: how many have the n − 1 pairs of theorem 6, how many pairs "
        "are order preserving at the top k, and how many of these still are at the top k + 1.",
        "digits": 1,
    }


def _original(asked: Mapping[str, str], names: Sequence[str]) -> bool:
    return asked["form"] == "original" and asked["loss"] in names


def _is_short(asked: Mapping[str, str]) -> bool:
    return int(asked["k"]) < int(asked["n"]) - 1


def _shares(rows: Sequence[Result]) -> Measured:
    return mean(each for r in rows for each in r["preserving"]["consistent"])


def _count(values: Any) -> Measured:
    return Measured(float(sum(values)))


def _percent(flags: Sequence[float]) -> float:
    return 100.0 * sum(flags) / len(flags)


def _name(asked: Mapping[str, str]) -> str:
    name = NAMES[asked["loss"]]
    return f"{name}, top 1" if asked["form"] == "top-k" else name
