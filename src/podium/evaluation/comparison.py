"""Comparison of runs on the same truth: each run against the first, group by group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

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
    """Runs on the same truth, each compared with the baseline group by group.

    Attributes
    ----------
    evaluations : dict of str to Evaluation
        The evaluations by run, on the groups that all runs share; the first is the baseline.
    tests : dict of str to dict of str to PairedTest
        The tests by measure, then by run. Differences are run - baseline. A win is a group in which
        the run has the better value, which is the lower one for a measure such as topk_loss.
    holm : dict of str to dict of str to float
        The p values of the randomisation tests, corrected by Holm's procedure for the number of all
        tests of this comparison.
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
                measure_name: {
                    "higher_is_better": parse(measure_name).metric.higher_is_better,
                    "means": {
                        run: as_json(evaluation.summary(measure_name))
                        for run, evaluation in self.evaluations.items()
                    },
                    "differences": [
                        {
                            "run": run,
                            "baseline": self.baseline,
                            **as_json(test),
                            "holm_p_value": number(self.holm[measure_name][run]),
                        }
                        for run, test in by_run.items()
                    ],
                }
                for measure_name, by_run in self.tests.items()
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
    """Compare several runs with the first one, by paired tests over users.

    All runs are measured on the same truth. The p values are corrected for the number of tests.

    Parameters
    ----------
    truth : path, frame, mapping of columns, or sparse matrix
        The truth; see `measure`.
    runs : mapping of name to run
        Two or more runs, by name. The first is the baseline.
    measures : str, Measure, or several
        The measures, such as ["pap@10", "ndcg@10"].
    undefined, level, interval
        The rule for undefined groups, and the level and the method of the intervals, as in
        `evaluate`.
    n_permutations : int
        The number of sign patterns that the randomisation test draws. With up to 16 nonzero
        differences, it uses all patterns instead.
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
    """Compare evaluations of the same measures, on the groups that all of them have."""
    aligned = align(evaluations)
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


def align(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Return evaluations of the same measures on the groups that all of them have.

    Raises
    ------
    ArgumentError
        If there are fewer than two, their measures differ, or they have no group in common.
    """
    if len(evaluations) < 2:
        raise ArgumentError(f"evaluations must hold at least two runs, got {len(evaluations)}.")
    evaluations = _with_labels_of_one_kind(evaluations)
    (baseline, first), *others = evaluations.items()
    common = first.labels
    for name, compared in others:
        if compared.values.keys() != first.values.keys():
            raise ArgumentError(
                f"evaluations must have the same measures, got {', '.join(first.values)} in "
                f"{baseline} and {', '.join(compared.values)} in {name}."
            )
        common = np.intersect1d(common, compared.labels, assume_unique=True)
    if not common.size:
        raise ArgumentError(
            "runs have no user in common. Check that their ids are of the same kind."
        )
    return {name: _select(evaluation, common) for name, evaluation in evaluations.items()}


def _with_labels_of_one_kind(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Return evaluations whose labels are text, if those of any are; 10 is before 9 then."""
    if len({evaluation.labels.dtype.kind for evaluation in evaluations.values()}) == 1:
        return dict(evaluations)
    as_text = {
        name: replace(evaluation, labels=evaluation.labels.astype(np.str_))
        for name, evaluation in evaluations.items()
    }
    return {
        name: _rows(evaluation, np.argsort(evaluation.labels))
        for name, evaluation in as_text.items()
    }


def _select(evaluation: Evaluation, labels: Labels) -> Evaluation:
    if np.array_equal(evaluation.labels, labels):
        return evaluation
    return _rows(evaluation, np.searchsorted(evaluation.labels, labels))


def _rows(evaluation: Evaluation, rows: NDArray[np.int64]) -> Evaluation:
    return replace(
        evaluation,
        labels=evaluation.labels[rows],
        n_pos=evaluation.n_pos[rows],
        values={name: values[rows] for name, values in evaluation.values.items()},
        weights={name: weights[rows] for name, weights in evaluation.weights.items()},
        segments=tuple(
            replace(segment, mask=segment.mask[rows]) for segment in evaluation.segments
        ),
    )


def _paired(a: Evaluation, b: Evaluation, name: str, n_permutations: int) -> PairedTest:
    """Test b - a; a win of b is a better value, which is a lower one if lower is better."""
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
