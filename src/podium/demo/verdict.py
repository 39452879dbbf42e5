"""Which method wins, in words and in a table: every sentence is computed from the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from podium.evaluation import Comparison, Evaluation, compare_evaluations, stats

ALPHA = 0.05


class Duel(NamedTuple):
    """A pair of methods: the test of better - worse, and its p value corrected for all pairs."""

    better: str
    worse: str
    test: stats.PairedTest
    p_value: float

    @property
    def p_text(self) -> str:
        """The p value with the two digits that 10,000 drawn permutations support."""
        return "<0.001" if self.p_value < 0.001 else f"{self.p_value:.2g}"

    @property
    def interval(self) -> str:
        return "{:+.4f} to {:+.4f}".format(*self.test.interval)

    def __str__(self) -> str:
        low, high = self.test.interval
        return (
            f"{self.test.difference:.4f} (95 % interval {low:.4f} to {high:.4f}, "
            f"{_p(self)}, corrected for all pairs)"
        )


class Verdict(NamedTuple):
    """The methods by their mean, the highest first.

    `winners` are the first and all that do not differ from it significantly. `duels` are all
    pairs, corrected together, because the results decide which of them are of interest.
    """

    order: list[str]
    winners: list[str]
    duels: list[Duel]
    sentences: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.sentences)


def judge(evaluations: Mapping[str, Evaluation], k: int) -> Verdict:
    """Compare every two methods by pap@k, and say which wins."""
    measure = f"pap@{k}"
    means = {name: e.means[measure] for name, e in evaluations.items()}
    order = sorted(means, key=lambda name: -means[name])
    best = order[0]
    duels = _duels({name: evaluations[name] for name in order}, measure)
    level = [d for d in duels if d.better == best and d.p_value >= ALPHA]
    beaten = [d for d in duels if d.better == best and d.p_value < ALPHA]
    sentences = [_first(best, f"mean {measure}", means[best], level)]
    if beaten:
        gains = [f"{d.worse} by {d.test.difference:.4f} ({_p(d)})" for d in beaten]
        gains[0] = f"{beaten[0].worse} by {beaten[0]}"
        sentences.append(f"{capitalized(best)} beats {listed(gains)}.")
    hits = [f"{evaluations[n].means[f'precision@{k}'] * k:.2f} ({n})" for n in order]
    sentences.append(f"Of {k} products shown, a customer then buys {listed(hits)}.")
    return Verdict(order, [best, *(d.worse for d in level)], duels, sentences)


def _duels(evaluations: Mapping[str, Evaluation], measure: str) -> list[Duel]:
    """Test all pairs; the evaluations come best first."""
    tests = [
        (better, worse, compare_evaluations({worse: b, better: a}).tests[measure][better])
        for (better, a), (worse, b) in combinations(evaluations.items(), 2)
    ]
    p_values = stats.holm([test.randomisation_p_value for *_, test in tests])
    return [Duel(*pair, p) for pair, p in zip(tests, p_values.tolist(), strict=True)]


def _first(best: str, measure: str, mean: float, level: Sequence[Duel]) -> str:
    name = capitalized(best)
    if not level:
        return f"{name} wins: its {measure} of {mean:.4f} is the highest."
    close = level[0]
    return (
        f"No method wins alone: {best} has the highest {measure} ({mean:.4f}), but "
        f"{listed([d.worse for d in level])} {'is' if len(level) == 1 else 'are'} not told from "
        f"it by a paired test. {name} - {close.worse} is {close}; {close.test.n_groups} customers "
        f"would have shown a difference of {close.test.detectable:.4f}, four times out of five."
    )


def table(comparison: Comparison, verdict: Verdict) -> dict[str, Any]:
    """Return a row per method: means, the first measure by engagement, and its paired test.

    The first measure, the verdict's, has half its 95 % interval beside it. p values are the
    verdict's too: corrected for all pairs.
    """
    baseline, first = next(iter(comparison.evaluations.items()))
    head, *others = first.measures
    segments = [s for s in first.segments if s.by == "engagement"]
    p_texts = {frozenset((d.better, d.worse)): d.p_text for d in verdict.duels}
    rows: list[list[str]] = []
    for name, e in comparison.evaluations.items():
        low, high = e.summary(head).interval
        rows.append([name, f"{e.means[head]:.4f} ± {(high - low) / 2:.4f}"])
        rows[-1] += [f"{e.means[m]:.4f}" for m in others]
        rows[-1] += [f"{e.summary(head, s.mask).mean:.4f}" for s in segments]
        if name != baseline:
            rows[-1].append(f"{comparison.tests[head][name].difference:+.4f}")
            rows[-1].append(p_texts[frozenset((name, baseline))])
    rows[0] += ["", ""]
    columns = ["method", head, *others, *(f"{head}, {s.name}" for s in segments)]
    return {"columns": [*columns, f"{head} - {baseline}", "p (Holm)"], "rows": rows}


def _p(duel: Duel) -> str:
    return "p < 0.001" if duel.p_value < 0.001 else f"p = {duel.p_text}"


def listed(names: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def capitalized(name: str) -> str:
    """Upper-case the first letter, unless the name has its own way (pAp)."""
    return name if name[1:2].isupper() else name[:1].upper() + name[1:]
