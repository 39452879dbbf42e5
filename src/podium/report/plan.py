"""What shows a Plan: a table, its conclusions in sentences, and its named numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podium._text import counted
from podium.report._types import Figure, Table
from podium.report.figures import lines
from podium.report.renderer import Pictures, Renderer, chosen_measure
from podium.report.tables import Columns, build, flat
from podium.report.views import Numbers, Tables, Text, View
from podium.sampled import Plan

_FLAT = (
    *("kind", "n_negatives", "n_scored", "n_scored_in_all", "share"),
    *("std_error", "bias", "error", "reaches"),
)
_NUMBERS = ("n_scored", "share", "std_error", "bias", "error")


class PlanRenderer(Renderer[Plan]):
    """The designs of a Plan, its conclusions and its assumptions."""

    def parts(self) -> View:
        """Return the designs, the conclusions and the assumptions."""
        plan = self.result
        note = "\n".join([" ".join(_conclusions(plan)), " ".join(_assumptions(plan))])
        legend = () if plan.best is None else ("Bold: the cheapest design that reaches the goal.",)
        return View((Tables((_design_table(plan),)), Text((note,))), legend)

    def table(self) -> Table:
        """Return one row per design with all digits."""
        errors = {name: f"error_{name}" for name in self.result.everything.errors}
        records = (
            {**design, **{name: design["errors"][error] for error, name in errors.items()}}
            for design in self.json["designs"]
        )
        return flat([*_FLAT, *errors.values()], records)

    def numbers(self) -> Numbers:
        """Yield the goal, the value, and the cost and error of the designs that reach the goal."""
        plan = self.result
        yield "goal", {"": plan.goal}
        yield plan.measure, {"": plan.value}
        yield "n_users_needed", {"": plan.n_users_needed}
        for name, design in {"best": plan.best, "all items": plan.everything}.items():
            if design is not None:
                yield name, {field: vars(design)[field] for field in ("n_negatives", *_NUMBERS)}

    def pictures(self, measure: Any) -> Pictures:
        """Return the errors of designs against their cost."""
        chosen_measure([self.result.measure], measure)
        return {"errors": _errors(self.json)}


def _errors(plan: Mapping[str, Any]) -> Figure:
    """Return the error of each design of a Plan's JSON form against its cost."""
    *samples, all_items = plan["designs"]
    series = [
        {
            "label": label,
            "x": [design["n_scored"] for design in designs],
            "y": [design["error"] for design in designs],
        }
        for label, designs in (("samples", samples), ("all items", [all_items]))
        if designs
    ]
    return lines(
        f"Error of {plan['measure']} with {counted(plan['n_users'], 'users')}",
        ("items scored per user", f"error in {plan['measure']}"),
        series,
        log_x=True,
        log_y=min(design["error"] for design in plan["designs"]) > 0,
        reference={"value": plan["goal"], "label": f"goal: {plan['goal']:.3g}"},
    )


def _design_table(plan: Plan) -> Table:
    has_several = len(plan.everything.errors) > 1
    columns: Columns = {
        "sampled": ("text", str),
        "scored": ("n_scored", "{:,}".format),
        "share": ("share", _percent),
        "std error": ("std_error", _number),
        "bias": ("bias", "{:.2g}".format),
        "error": ("error", _number),
        **({"at best": ("least", "{:.2g}".format)} if has_several else {}),
        "ok": ("reaches", lambda reaches: "yes" if reaches else ""),
    }
    records = ({**vars(d), "text": d.text, "least": min(d.errors.values())} for d in plan.designs)
    best = [] if plan.best is None else [(plan.designs.index(plan.best), 0)]
    return {**build(columns, records), "highlight": best}


def _conclusions(plan: Plan) -> Iterator[str]:
    goal, best = f"{plan.measure} within {_number(plan.goal)}", plan.best
    if best is None:
        yield (
            f"{plan.n_users} users are too few for {goal}: ranking all items has an error of "
            f"{_number(plan.everything.error)}, because the users are a sample. Ranking all items "
            f"reaches the goal with {plan.n_users_needed} users."
        )
    elif best is plan.everything:
        yield f"No sample of these sizes gives {goal}. Rank all items."
    else:
        share = f"{_percent(best.share)} of the cost of ranking all"
        yield f"For {goal}: sample {best.n_negatives} items ({share})."
    yield (
        "Compared with the goal: the root mean square error of standard error and bias together."
    )


def _assumptions(plan: Plan) -> Iterator[str]:
    n_pilot_users, bias_is = plan.conventions["n_pilot_users"], plan.conventions["bias_is"]
    if n_pilot_users is None:
        yield (
            "Expected ranks, without a pilot: one of three shapes "
            f"({', '.join(plan.everything.errors)}), with {plan.measure} = {_number(plan.value)} "
            "(so that recall@k is the square root of k / N). The errors are those of the worst "
            "shape; 'at best' is that of the best one."
        )
    else:
        yield (
            f"Expected ranks: the smooth fit to the pilot of {n_pilot_users} users, with its "
            f"uncertainty; {plan.measure} is about {_number(plan.value)}. Bias: the {bias_is} over "
            "this uncertainty, not the true bias."
        )
    yield (
        "Scored: the number of items per user, including the target. Share: of the cost of "
        f"ranking all. Method: {plan.conventions['method']}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.0f}%"


def _number(value: float) -> str:
    return f"{value:.3g}"
