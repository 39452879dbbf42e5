"""What the numbers say, in words and tables: every sentence is computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from podium.evaluation import Comparison, Evaluation, Segment, compare_evaluations, stats
from podium.evaluation.stats import PairedTest

ALPHA = 0.05


@dataclass(frozen=True)
class Duel:
    """One pair of methods: the test of better - worse, and its p value corrected for all pairs."""

    better: str
    worse: str
    test: PairedTest
    p_value: float

    @property
    def decided(self) -> bool:
        return self.p_value < ALPHA


@dataclass(frozen=True)
class Verdict:
    """Who wins by one measure.

    Attributes
    ----------
    order : tuple of str
        Methods by their mean, the highest first.
    winners : tuple of str
        The first of them, and all that no test tells from it.
    duels : tuple of Duel
        Every pair, corrected together.
    sentences : tuple of str
    """

    order: tuple[str, ...]
    winners: tuple[str, ...]
    duels: tuple[Duel, ...]
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences as one paragraph."""
        return " ".join(self.sentences)


def judge(evaluations: Mapping[str, Evaluation], measure: str) -> Verdict:
    """Compare every two methods by one measure, and say who wins.

    All pairs are tested, and corrected for their number, because who is compared with whom is
    decided by looking at the results.
    """
    means = {name: e.means[measure] for name, e in evaluations.items()}
    order = tuple(sorted(means, key=lambda name: -means[name]))
    duels = _duels(evaluations, order, measure)
    level = tuple(d.worse for d in duels if d.better == order[0] and not d.decided)
    winners = (order[0], *level)
    sentences = [_first(order, winners, means, duels, measure), *_rest(order, winners, duels)]
    sentences.append(_worth(order, evaluations, measure))
    return Verdict(order, winners, duels, tuple(s for s in sentences if s))


def table(comparison: Comparison, verdict: Verdict, measures: Sequence[str]) -> dict[str, Any]:
    """Return a row per method: means, the first measure by engagement, and its paired test.

    The first measure is the verdict's. It has half its 95 % interval beside it, and its p values
    are the verdict's too: corrected for all pairs.
    """
    head, baseline = measures[0], comparison.baseline
    segments = [s.name for s in _engagement(comparison.evaluations[baseline])]
    columns = ["method", *measures, *(f"{head}, {name}" for name in segments)]
    columns += [f"{head} - {baseline}", "p (Holm)"]
    rows = [
        [
            name,
            mean_text(e.summary(head)),
            *(f"{e.means[m]:.4f}" for m in measures[1:]),
            *(f"{e.summary(head, s.mask).mean:.4f}" for s in _engagement(e)),
            *_against(comparison, verdict, name, head),
        ]
        for name, e in comparison.evaluations.items()
    ]
    return {"columns": columns, "rows": rows}


def _engagement(evaluation: Evaluation) -> list[Segment]:
    return [s for s in evaluation.segments if s.by == "engagement"]


def _duels(
    evaluations: Mapping[str, Evaluation], order: Sequence[str], measure: str
) -> tuple[Duel, ...]:
    pairs = list(combinations(order, 2))
    tests = [
        compare_evaluations({worse: evaluations[worse], better: evaluations[better]}).tests[
            measure
        ][better]
        for better, worse in pairs
    ]
    corrected = stats.holm([test.randomisation_p_value for test in tests])
    return tuple(
        Duel(better, worse, test, float(p))
        for (better, worse), test, p in zip(pairs, tests, corrected, strict=True)
    )


def _first(
    order: Sequence[str],
    winners: Sequence[str],
    means: Mapping[str, float],
    duels: Sequence[Duel],
    measure: str,
) -> str:
    best = order[0]
    if len(winners) == 1:
        return f"{_capital(best)} wins: its mean {measure} of {means[best]:.4f} is the highest."
    close = next(d for d in duels if (d.better, d.worse) == (best, winners[1]))
    return (
        f"No method wins alone: {best} has the highest mean {measure} ({means[best]:.4f}), but "
        f"{listed(winners[1:])} {'is' if len(winners) == 2 else 'are'} not told from it by a "
        "paired test. "
        f"{_capital(best)} - {close.worse} is {_difference(close)}; {close.test.n_groups} "
        f"customers would have shown a difference of {close.test.detectable:.4f}, "
        "four times out of five."
    )


def _rest(order: Sequence[str], winners: Sequence[str], duels: Sequence[Duel]) -> list[str]:
    """Say by how much the first beats whom it beats."""
    beaten = [d for d in duels if d.better == order[0] and d.worse not in winners]
    if not beaten:
        return []
    each = [f"{beaten[0].worse} by {_difference(beaten[0])}"]
    each += [f"{d.worse} by {d.test.difference:.4f} ({_p(d.p_value)})" for d in beaten[1:]]
    return [f"{_capital(order[0])} beats {listed(each)}."]


def _worth(order: Sequence[str], evaluations: Mapping[str, Evaluation], measure: str) -> str:
    """Say it in products, where precision at the same cutoff was measured."""
    cutoff = int(measure.partition("@")[2])
    name = f"precision@{cutoff}"
    if name not in evaluations[order[0]].values:
        return ""
    hits = [f"{evaluations[m].means[name] * cutoff:.2f} ({m})" for m in order]
    return f"Of {cutoff} products shown, a customer then buys {listed(hits)}."


def _difference(duel: Duel) -> str:
    low, high = duel.test.interval
    return (
        f"{duel.test.difference:.4f} (95 % interval {low:.4f} to {high:.4f}, "
        f"{_p(duel.p_value)}, corrected for all pairs)"
    )


def p_text(p_value: float) -> str:
    """Return a p value with two digits, as far as 10,000 drawn permutations can tell."""
    return "<0.001" if p_value < 0.001 else f"{p_value:.2g}"


def _p(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def _against(comparison: Comparison, verdict: Verdict, name: str, measure: str) -> list[str]:
    if name == comparison.baseline:
        return ["", ""]
    difference = comparison.tests[measure][name].difference
    pair = {name, comparison.baseline}
    duel = next(d for d in verdict.duels if {d.better, d.worse} == pair)
    return [f"{difference:+.4f}", p_text(duel.p_value)]


def mean_text(summary: stats.Summary) -> str:
    """Return a mean with half its confidence interval: 0.0846 ± 0.0068."""
    half = (summary.interval.high - summary.interval.low) / 2
    return f"{summary.mean:.4f} ± {half:.4f}"


def listed(names: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _capital(name: str) -> str:
    """Upper-case the first letter, unless the name has its own way (pAp)."""
    return name if name[1:2].isupper() else name[:1].upper() + name[1:]
