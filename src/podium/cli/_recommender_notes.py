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
    """Return what the pairs of a fitted model weigh, and which of them count, as texts."""
    own_gain = model.get_params(deep=False).get("gain", gain)
    zeros = zero_note(positives, gain)
    if zeros:
        zeros += " neither learned nor recommended; --gain one gives every pair the weight 1"
    notes = (
        _weight_note(positives, events.n_rows, model, own_gain, min_relevance),
        _repeat_note(positives, model, own_gain),
        zeros,
    )
    return [note for note in notes if note]


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


def zero_note(events: Events, gain: str) -> str:
    """Return the number of rows of weight 0 with a verb, or "" if there are none."""
    if gain == "one" or events.value is None:
        return ""
    n_zeros = int((events.value == 0).sum())
    if not n_zeros:
        return ""
    has, be = ("has", "is") if n_zeros == 1 else ("have", "are")
    return f"{n_zeros:,} of {events.n_rows:,} rows {has} {events.value_name} 0 and {be}"


def _repeat_note(events: Events, model: Any, gain: str) -> str:
    """Return the share of pairs with several rows and what they weigh, or "" if there are none."""
    if events.n_rows == _n_pairs(model):
        return ""
    share = events.repeated_share
    if not share:
        return ""
    value = "its number of rows" if events.value is None else f"the sum of its {events.value_name}"
    effect = f"the weight of a pair is {_weight(gain, value)}"
    if not model.reads_weights:
        effect = "this model counts each pair once"
    elif gain != "one":
        effect += ". --gain one gives each pair the weight 1"
    return f"{100 * share:.2g} % of the pairs occur more than once; {effect}"


def _weight(gain: str, value: str) -> str:
    """Return the weight of a pair in words, from the words for its value."""
    return {"value": value, "log": f"log2(1 + {value})"}.get(gain, "1")


def _weight_note(
    events: Events, n_rows: int, model: Any, gain: str, min_relevance: float | None
) -> str:
    """Return the weight of a pair in a table with values, and the number of rows that are pairs.

    Without --min-relevance, the text is empty if there are no values or if all are equal.
    """
    name, low = events.value_name, min_relevance
    weight_text = f"the weight of a pair is {_weight(gain, f'its {name}')}"
    if not model.reads_weights:
        weight_text = f"{name} does not weight the pairs of this model"
    if low is not None:
        rows_text = f"{events.n_rows:,} of {n_rows:,} rows have {name} >= {low:g} and are positive"
        return f"{rows_text}; {weight_text}"
    if events.value is None or events.value.min() == events.value.max():
        return ""
    if model.reads_weights:
        weight_text += f", with {name} from {events.value.min():g} to {events.value.max():g}"
    return f"{weight_text}; --min-relevance X trains on the rows >= X only"


def _counts(model: Any) -> str:
    n_users, n_items = model.n_users_, model.n_items_
    counts = ((n_users, "users"), (n_items, "items"), (_n_pairs(model), "pairs"))
    return ", ".join(counted(n, names) for n, names in counts)


def _n_pairs(model: Any) -> int:
    """Return the number of pairs that the model has learned from."""
    return int((model.seen_weights_ > 0).sum())


def _fit_summary(model: Any, seconds: float, n_passes: int) -> str:
    """Return the number of passes, their speed, and the reason for stopping, as text."""
    speed = n_passes * model.n_negatives * _n_pairs(model) / max(seconds, 1e-9) / 1e6
    parts = [name for name in ("validation", "prior") if name in model.history_]
    validation = f", {' and '.join(parts)} included" if parts else ""
    passes = f"{n_passes} pass{'' if n_passes == 1 else 'es'}"
    progress_text = f"{passes} in {seconds:.1f} s ({speed:.3g} million updates/s{validation})"
    reasons = {"patience": ", stopped by patience", "diverged": ", then it diverged"}
    return f"{progress_text}{reasons.get(model.stop_reason_, '')}{kept_pass(model)}"


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


def about_fit(
    model: Any, valid: Path | None, out: Path, seconds: float, n_passes: int
) -> list[str]:
    """Return the size of the data, the course of the fit and its result, as texts."""
    if not model.makes_passes:
        return [f"{_counts(model)}; fitted in {seconds:.1f} s; wrote {out}"]
    blocks = counted(model.n_blocks_, "blocks")
    return [
        f"{_counts(model)} in {blocks}; {_fit_summary(model, seconds, n_passes)}",
        f"{cost_summary(model, valid)}; wrote {out}",
    ]
