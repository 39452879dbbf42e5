"""Comparison: runs over one truth, each against the first, group by group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from podium.errors import ArgumentError
from podium.evaluation import stats
from podium.evaluation.evaluation import Evaluation, fill
from podium.evaluation.from_runs import measure
from podium.evaluation.json_form import as_json, number
from podium.evaluation.stats import IntervalMethod, PairedTest
from podium.metrics import ByMeasure, Measure, parse, parse_all
from podium.types import Labels, Undefined

if TYPE_CHECKING:
    from podium.data import RankingOptions


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs over the same truth, each against the baseline, group by group.

    Attributes
    ----------
    evaluations : dict of str to Evaluation
        By run, over the groups that all runs share; the first is the baseline.
    tests : dict of str to dict of str to PairedTest
        By measure, then by run; differences are run - baseline.
    holm : dict of str to dict of str to float
        The randomisation p values, corrected for all the tests of this comparison.
    """

    evaluations: dict[str, Evaluation]
    tests: dict[str, dict[str, PairedTest]]
    holm: dict[str, dict[str, float]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", ByMeasure(self.tests))
        object.__setattr__(self, "holm", ByMeasure(self.holm))

    @property
    def baseline(self) -> str:
        return next(iter(self.evaluations))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/comparison.json); nan becomes None."""
        return {
            "runs": list(self.evaluations),
            "baseline": self.baseline,
            "measures": {
                measure: {
                    "higher_is_better": parse(measure).metric.higher_is_better,
                    "means": {
                        run: as_json(e.summary(measure)) for run, e in self.evaluations.items()
                    },
                    "differences": [
                        {
                            "run": run,
                            "baseline": self.baseline,
                            **as_json(test),
                            "holm_p_value": number(self.holm[measure][run]),
                        }
                        for run, test in by_run.items()
                    ],
                }
                for measure, by_run in self.tests.items()
            },
            "conventions": dict(self.evaluations[self.baseline].conventions),
        }


def compare(
    truth: Any,
    runs: Mapping[str, Any],
    measures: str | Measure | Iterable[str | Measure],
    *,
    undefined: Undefined = "skip",
    level: float = 0.95,
    interval: IntervalMethod = "t",
    n_permutations: int = 10_000,
    **options: Unpack[RankingOptions],
) -> Comparison:
    """Compare runs over one truth, each with the first: paired by user, corrected for their number.

    Parameters
    ----------
    truth : as in `measure`
    runs : mapping of name to run
        At least two; the first is the baseline.
    measures : str, Measure, or several
    undefined, level, interval
        As in `evaluate`.
    n_permutations : int
        Draws of the randomisation test, where there are too many users to enumerate.
    **options
        Conventions and column names, as in `podium.data.ranking`.

    References
    ----------
    smucker2007; holm1979.
    """
    if not isinstance(runs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"runs must be a mapping of names to runs, got {runs!r}.")
    if len(runs) < 2:
        raise ArgumentError(f"runs must hold at least two runs, got {len(runs)}.")
    parsed = parse_all(measures)
    evaluations = {
        name: measure(
            truth, run, parsed, undefined=undefined, level=level, interval=interval, **options
        )
        for name, run in runs.items()
    }
    return compare_evaluations(evaluations, n_permutations=n_permutations)


def compare_evaluations(
    evaluations: Mapping[str, Evaluation], *, n_permutations: int = 10_000
) -> Comparison:
    """Compare evaluations of the same measures, over the groups that all of them hold."""
    aligned = _align(evaluations)
    baseline, *others = aligned
    tests = {
        name: {
            run: _paired(aligned[baseline], aligned[run], name, n_permutations) for run in others
        }
        for name in aligned[baseline].values
    }
    cells = [(name, run) for name in tests for run in others]
    corrected = stats.holm([tests[name][run].randomisation_p_value for name, run in cells])
    holm: dict[str, dict[str, float]] = {name: {} for name in tests}
    for (name, run), p in zip(cells, corrected, strict=True):
        holm[name][run] = float(p)
    return Comparison(aligned, tests, holm)


def _align(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Keep the groups that all evaluations hold."""
    if len(evaluations) < 2:
        raise ArgumentError(f"evaluations must hold at least two, got {len(evaluations)}.")
    (baseline, first), *others = evaluations.items()
    common = first.labels
    for name, other in others:
        if other.values.keys() != first.values.keys():
            raise ArgumentError(
                f"evaluations must be of the same measures, got {', '.join(first.values)} of "
                f"{baseline} and {', '.join(other.values)} of {name}."
            )
        common = np.intersect1d(common, other.labels, assume_unique=True)
    if not common.size:
        raise ArgumentError("runs share no user. Check that their ids are of the same kind.")
    return {name: _take(e, common) for name, e in evaluations.items()}


def _take(evaluation: Evaluation, labels: Labels) -> Evaluation:
    if np.array_equal(evaluation.labels, labels):
        return evaluation
    rows = np.searchsorted(evaluation.labels, labels)
    return replace(
        evaluation,
        labels=labels,
        n_pos=evaluation.n_pos[rows],
        values={name: v[rows] for name, v in evaluation.values.items()},
        weights={name: w[rows] for name, w in evaluation.weights.items()},
        segments=tuple(replace(s, mask=s.mask[rows]) for s in evaluation.segments),
    )


def _paired(a: Evaluation, b: Evaluation, name: str, n_permutations: int) -> PairedTest:
    """Test b - a; a win of b is a better value, which for a loss is a lower one."""
    metric = parse(name).metric
    test = stats.paired(
        fill(a.values[name], a.undefined),
        fill(b.values[name], b.undefined),
        level=a.level,
        n_permutations=n_permutations,
        seed=a.seed,
        bounds=metric.bounds,
    )
    if metric.higher_is_better:
        return test
    return replace(test, wins=test.losses, losses=test.wins)
