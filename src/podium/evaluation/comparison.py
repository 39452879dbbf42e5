"""Comparison of runs on the same groups, in pairs: differences, tests and letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from podium import _check
from podium._json import plain
from podium.data.frames import Origin
from podium.errors import ArgumentError, arg
from podium.evaluation import stats
from podium.evaluation.alignment import align
from podium.evaluation.evaluation import Evaluation, user_frame
from podium.evaluation.finding import Finding
from podium.evaluation.segments import Segment
from podium.evaluation.stats import PairedTest
from podium.evaluation.unjudged import UnjudgedRange
from podium.metrics import Measure, parse
from podium.metrics.measures import ByMeasure
from podium.results import Result
from podium.types import Labels

PairsCompared: TypeAlias = Literal["first", "all"]
PAIRS: tuple[PairsCompared, ...] = ("first", "all")


@dataclass(frozen=True)
class Difference:
    """A run compared with a baseline, in one measure.

    Attributes
    ----------
    measure, run, baseline : str
    test : PairedTest
        The paired test of run - baseline. A win is a group in which the run has the better value,
        which is the lower one for a measure such as topk_loss. Coverage and gini have no wins.
    by, segment : str
        The segment of the groups, as in `Segment`; empty for all groups.
    holm_p_value : float
        The p value after Holm's correction for all tests of the comparison.
    unjudged : UnjudgedRange or None
        The range of the mean difference over all judgements of unjudged items; None unless
        unjudged="bounds".
    labels : dict of column to array, or None
        The columns user and item of pairs to judge, most effective first. If none of them is
        relevant, the sign cannot change. None in segments, or if the range does not contain both
        signs, or if the difference is 0.
    """

    measure: str
    run: str
    baseline: str
    test: PairedTest
    by: str = ""
    segment: str = ""
    holm_p_value: float = np.nan
    unjudged: UnjudgedRange | None = None
    labels: dict[str, Labels] | None = None

    @property
    def p_value(self) -> float:
        """The p value before correction: the randomisation test's, or the t test's if undefined."""
        p = self.test.randomisation_p_value
        return self.test.t_p_value if np.isnan(p) else p

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/comparison.json); nan becomes None."""
        result = {
            "run": self.run,
            "baseline": self.baseline,
            **plain(vars(self.test)),
            "holm_p_value": plain(self.holm_p_value),
        }
        if not parse(self.measure).metric.is_mean:
            result |= dict.fromkeys(("wins", "losses", "equal"))
        if self.unjudged is not None:
            n_labels = None if self.labels is None else int(self.labels["user"].size)
            result["unjudged"] = {**self.unjudged.as_json(), "n_labels": n_labels}
        return result


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Runs on the same groups, compared in pairs.

    Attributes
    ----------
    evaluations : dict of str to Evaluation
        The evaluations by run, on the groups that all runs share; the first is the baseline.
    differences : tuple of Difference
        The differences of all pairs, by measure, for all groups and then for each segment.
    pairs : {"first", "all"}
        The pairs: each run with the first one, or all pairs.
    findings : tuple of Finding
        The runs that no measure can separate, short lists, and lists without a model that were not
        compared.
    """

    evaluations: dict[str, Evaluation]
    differences: tuple[Difference, ...]
    pairs: PairsCompared = "first"
    findings: tuple[Finding, ...] = ()

    _test: ClassVar[str] = "the p values of comparison.difference(measure, run), or podium.gate"

    @property
    def baseline(self) -> str:
        """The name of the first run, with which the other runs are compared."""
        return next(iter(self.evaluations))

    def difference(
        self,
        measure: str | Measure,
        run: str,
        baseline: str | None = None,
        *,
        by: str = "",
        segment: str = "",
    ) -> Difference:
        """Return the difference of a run from a baseline, by default from the first run.

        Raises
        ------
        ArgumentError
            If the comparison does not contain this difference.
        """
        start = self.baseline if baseline is None else baseline
        key = (parse(measure), run, start, by, segment)
        for d in self.differences:
            if (parse(d.measure), d.run, d.baseline, d.by, d.segment) == key:
                return d
        where = f" in segment {segment!r} of {by!r}" if by else ""
        raise ArgumentError(
            f"{run} - {start} was not compared in {parse(measure)}{where}. The runs are "
            f"{', '.join(self.evaluations)}; {arg.pairs('all')} compares all pairs."
        )

    def labels(self) -> dict[str, Any]:
        """Return the columns measure, baseline, run, user and item of all pairs to judge.

        These are the `labels` of all differences over all groups.
        """
        labelled = [(d, d.labels) for d in self.differences if d.labels is not None]
        columns = {
            name: [np.full(labels["user"].size, vars(d)[name]) for d, labels in labelled]
            for name in ("measure", "baseline", "run")
        }
        columns |= {name: [labels[name] for _, labels in labelled] for name in ("user", "item")}
        empty = [np.empty(0, np.str_)]
        return {name: np.concatenate(parts or empty) for name, parts in columns.items()}

    @property
    def letters(self) -> dict[str, dict[str, str]]:
        """The letters of each run, by measure, over all groups; empty unless pairs="all".

        Two runs have a letter in common if and only if their difference is not significant: the p
        value after Holm's correction is above 1 - level.
        """
        if self.pairs != "all":
            return {}
        measures = self.evaluations[self.baseline].measures
        return ByMeasure({measure: self._letters(measure, None) for measure in measures})

    def _letters(self, measure: str, segment: Segment | None) -> dict[str, str]:
        runs = list(self.evaluations)
        level = self.evaluations[self.baseline].level
        mask = None if segment is None else segment.mask
        sign = parse(measure).metric.sign
        means = [sign * self.evaluations[run].summary(measure, mask).mean for run in runs]
        differs = np.zeros((len(runs), len(runs)), np.bool_)
        for d in self._of(measure, segment):
            i, j = runs.index(d.run), runs.index(d.baseline)
            differs[i, j] = differs[j, i] = d.holm_p_value <= 1 - level
        return dict(zip(runs, stats.letters(means, differs), strict=True))

    def _of(self, measure: str, segment: Segment | None) -> list[Difference]:
        """Return the differences in a measure over all groups, or over a segment."""
        key = (measure, *_names_of(segment))
        return [d for d in self.differences if (d.measure, d.by, d.segment) == key]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (docs/schemas/comparison.json); nan becomes None."""
        first = self.evaluations[self.baseline]
        return {
            "runs": list(self.evaluations),
            "baseline": self.baseline,
            "pairs": self.pairs,
            "splits": 1 if first.splits is None else int(np.unique(first.splits).size),
            "measures": self._measures(None),
            "segments": [s.as_json(self._measures(s)) for s in first.segments],
            "findings": [finding.as_json() for finding in self.findings],
            "conventions": first.conventions,
            "protocol": first.protocol.as_json(),
        }

    def per_user(self) -> Any:
        """Return a frame with one row per run and group; see `Evaluation.per_user`."""
        return user_frame(self.evaluations)

    @property
    def origin(self) -> Origin:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The kind of frames that came in, and the name of the column of users."""
        return self.evaluations[self.baseline].origin

    def _measures(self, segment: Segment | None) -> dict[str, Any]:
        mask = None if segment is None else segment.mask
        is_all = self.pairs == "all"
        effects = {
            run: {name: {"ties": plain(vars(effect))} for name, effect in e.open_ties(mask)}
            for run, e in self.evaluations.items()
        }
        return {
            measure: {
                "higher_is_better": parse(measure).metric.higher_is_better,
                "means": {
                    run: plain(vars(evaluation.summary(measure, mask)))
                    | effects[run].get(measure, {})
                    for run, evaluation in self.evaluations.items()
                },
                "differences": [d.as_json() for d in self._of(measure, segment)],
                **({"letters": self._letters(measure, segment)} if is_all else {}),
            }
            for measure in _measures_of(self.evaluations[self.baseline], segment)
        }


def compare_evaluations(
    evaluations: Mapping[str, Evaluation], *, pairs: PairsCompared = "first"
) -> Comparison:
    """Compare evaluations of the same measures, on the groups that all of them have.

    Differences are also tested in each segment of the first evaluation, except those of coverage
    and gini. Holm's correction is for the number of all tests. If there are so many that no
    randomisation test could be significant after it, all are t tests.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        Two or more evaluations by run. The first is the baseline.
    pairs : {"first", "all"}
        The pairs to compare: each run with the first one, or all pairs.

    Raises
    ------
    ArgumentError
        If there are fewer than two evaluations, their measures differ, or they have no group in
        common.
    """
    _check.choice(pairs, "pairs", PAIRS)
    aligned = align(evaluations)
    baseline, *others = aligned
    chosen = (
        [*combinations(aligned, 2)] if pairs == "all" else [(baseline, other) for other in others]
    )
    for base, run in chosen:  # the results list a difference under this name
        if (name := f"{run} - {base}") in aligned:
            raise ArgumentError(
                f"runs can't contain {name!r}, which is the name of a difference. Rename this run."
            )
    first = aligned[chosen[0][0]]
    compared = [
        (measure, segment, pair)
        for segment in (None, *first.segments)
        for measure in _measures_of(first, segment)
        for pair in chosen
    ]
    # The smallest p value that sign patterns can have, corrected, must be able to be significant.
    n_permutations = first.protocol.n_permutations
    smallest = len(compared) / (n_permutations + 1)
    n_drawn = n_permutations if smallest <= 1 - first.level else None
    differences = [
        Difference(
            *(measure, run, base),
            _paired(aligned[base], aligned[run], measure, segment, n_drawn),
            *_names_of(segment),
        )
        for measure, segment, (base, run) in compared
    ]
    corrected = stats.holm([d.p_value for d in differences]).tolist()
    return Comparison(
        aligned,
        tuple(replace(d, holm_p_value=p) for d, p in zip(differences, corrected, strict=True)),
        pairs,
    )


def _names_of(segment: Segment | None) -> tuple[str, str]:
    """Return what divides the groups, and the name of the part; empty for all groups."""
    return ("", "") if segment is None else (segment.by, segment.name)


def _measures_of(evaluation: Evaluation, segment: Segment | None) -> list[str]:
    """Return the measures that are defined for all groups, or for a segment."""
    return list(evaluation.values if segment is None else evaluation.per_group())


def _paired(
    a: Evaluation, b: Evaluation, name: str, segment: Segment | None, n_permutations: int | None
) -> PairedTest:
    """Test b - a; a win of b is a better value, which is a lower one if lower is better.

    Coverage and gini have only a t test. `n_undefined` counts filled values too.
    """
    metric = parse(name).metric
    rows = slice(None) if segment is None else segment.mask
    test = stats.paired(
        a.filled(name)[rows],
        b.filled(name)[rows],
        level=a.level,
        n_permutations=n_permutations,
        seed=a.protocol.bootstrap_seed,
        bounds=metric.bounds,
        **a.levels(None if segment is None else segment.mask),
    )
    n_undefined = int(np.isnan((a.values[name] - b.values[name])[rows]).sum())
    test = replace(test, n_undefined=n_undefined)
    if not metric.is_mean:  # its values are not those of single groups
        zero = dict.fromkeys(("wins", "losses", "equal"), 0)
        undefined = dict.fromkeys(("randomisation_p_value", "effect_size"), np.nan)
        return replace(test, **zero, **undefined)
    if metric.higher_is_better:
        return test
    return replace(test, wins=test.losses, losses=test.wins)
