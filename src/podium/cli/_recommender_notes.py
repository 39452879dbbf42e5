"""What podium train prints about the events that a recommender learns from, and about its fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium._text import counted

if TYPE_CHECKING:
    from podium.data import Interactions as Events


def about_weights(
    model: Any, events: Events, positives: Events, gain: str, min_relevance: float | None
) -> list[str]:
    """Return which rows are pairs of a fitted model, and what a pair weighs, as texts.

    Without --min-relevance, there is no text if each pair has one row and all values are equal.
    """
    own_gain = model.get_params(deep=False).get("gain", gain)
    name, values = positives.value_name, positives.value
    share = positives.repeated_share if positives.n_rows > _n_pairs(model) else 0.0
    varied = values is not None and values.min() < values.max()
    parts = list[str]()
    if min_relevance is not None:
        rows = f"{positives.n_rows:,} of {events.n_rows:,} rows"
        parts.append(f"{rows} have {name} >= {min_relevance:g} and are positive")
    if share:
        parts.append(f"{100 * share:.2g} % of the pairs occur more than once")
    if (parts or varied) and not model.reads_weights:
        parts.append("this model counts each pair once")
    elif parts or varied:
        count = (
            "its number of rows" if values is None else f"{'the sum of ' * bool(share)}its {name}"
        )
        weights = {"value": count, "log": f"log2(1 + {count})"}
        parts.append(f"the weight of a pair is {weights.get(own_gain, '1')}")
        if own_gain != "one":
            parts.append("--gain one gives each pair the weight 1")
    if varied and min_relevance is None:
        parts.append("--min-relevance X trains on the rows >= X only")
    n_zeros = n_weightless(positives, gain)
    zeros = (
        f"{n_zeros:,} of {positives.n_rows:,} rows have {name} 0: neither learned nor recommended"
    )
    return [*(["; ".join(parts)] if parts else []), *([zeros] if n_zeros else [])]


def n_weightless(events: Events, gain: str) -> int:
    """Return the number of rows of value 0, which weigh nothing."""
    return 0 if gain == "one" or events.value is None else int((events.value == 0).sum())


def about_days(model: Any, events: Events) -> list[str]:
    """Return which parameters about time "auto" has chosen, as texts."""
    params = model.get_params(deep=False)
    names = [name for name in model.auto_values if params[name] == "auto"]
    if not names:
        return []
    if events.timestamp is None:
        text = "all events count alike, because DATA has no times"
        return [f"{text}; --column timestamp=NAME names it"]
    days: dict[str, Any] = {name: vars(model)[f"{name}_"] for name in names}
    chosen = ", ".join(f"{n}={'none' if d is None else f'{d:g}'}" for n, d in days.items())
    return [f"{chosen}: chosen on the last tenth of the events, in days"]


def _n_pairs(model: Any) -> int:
    """Return the number of pairs that the model has learned from."""
    return int((model.seen_weights_ > 0).sum())


def passes_of(model: Any) -> int:
    """Return the number of passes of a fit."""
    return len(model.history_["cost"])


def kept_pass(model: Any) -> str:
    """Return which pass was kept, if it is not the last one, as text."""
    return f", kept pass {model.n_epochs_}" if model.n_epochs_ < passes_of(model) else ""


def cost_summary(model: Any, valid: Path | None) -> str:
    """Return the cost of the pass that was kept, and its measure on validation pairs, as text."""
    from podium.metrics import parse

    best_pass = model.n_epochs_ - 1
    value = f"cost {model.history_['cost'][best_pass]:.4f}"
    if model.prior_:
        value += f", prior {model.prior_:g}"
    if valid is None:
        return value
    measure = parse(model.eval_metric)
    best = abs(model.history_["validation"][best_pass])
    return f"{value}, {measure} on {valid.name} {best:.4f}"


def about_fit(model: Any, valid: Path | None, seconds: float) -> list[str]:
    """Return the size of the data, the course of the fit and its result, as texts."""
    counts = ((model.n_users_, "users"), (model.n_items_, "items"), (_n_pairs(model), "pairs"))
    text = ", ".join(counted(*count) for count in counts)
    course = f"fitted in {seconds:.1f} s"
    if not model.makes_passes:
        return [f"{text}; {course}"]
    reasons = {"patience": ", stopped by patience", "diverged": ", then it diverged"}
    passes = f"{counted(passes_of(model), 'passes')}{reasons.get(model.stop_reason_, '')}"
    blocks = counted(model.n_blocks_, "blocks")
    return [
        f"{text} in {blocks}; {passes}{kept_pass(model)}; {course}",
        cost_summary(model, valid),
    ]
