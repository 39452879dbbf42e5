"""Margins of scores in groups, and which surrogates of pAp@k they make zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.groups import Groups
from podium.types import Counts, Mask, PerGroup, PerRow

Margin: TypeAlias = Literal["weak", "plain", "moderate", "strong"]

MARGINS: tuple[Margin, ...] = ("weak", "plain", "moderate", "strong")
"""The four margins, in the order of the paper's definitions."""

SURROGATES: tuple[str, ...] = (
    "pap-ramp",
    "pap-avg",
    "pap-max",
    "pap-tight-struct",
    "pap-tight-struct-exact",
    "pauc-hinge",
    "pap-struct",
)
"""The losses that `Margins.guarantees` speaks of, by their names in `podium.losses`."""


@dataclass(frozen=True, eq=False)
class Margins:
    """The largest delta of each margin in each group; `margins` makes one.

    With beta = min(k, n_pos), and over all negatives of the group:

    Attributes
    ----------
    weak : float64, (n_groups,)
        The beta-th best positive less the best negative (definition 2).
    plain : float64, (n_groups,)
        Mean of the beta worst positives less the best negative: what definition 3 asks of the
        mean of every set of beta positives.
    moderate : float64, (n_groups,)
        `weak` where no positive lies below a negative, else -inf: no delta holds (definition 4).
    strong : float64, (n_groups,)
        The worst positive less the best negative (definition 5).
    groups : Groups
        Labels of the groups.
    n_pos, n_neg : int64, (n_groups,)
        Positives and negatives of each group.
    k, delta, clip
        As given to `margins`.

    Notes
    -----
    In score units; nan without a positive or with too few negatives, see `defined`.

    What implies what, at one delta: strong implies moderate, moderate implies weak, strong
    implies plain. The paper puts plain above weak; that holds where n_pos >= 2 beta - 1. In a
    group with n_pos <= k, weak is strong, and plain is weaker than both.
    """

    weak: PerGroup
    plain: PerGroup
    moderate: PerGroup
    strong: PerGroup
    groups: Groups
    n_pos: Counts
    n_neg: Counts
    k: int
    delta: float
    clip: bool

    @property
    def beta(self) -> Counts:
        """Positives of each group that pAp@k reads, min(k, n_pos)."""
        return np.minimum(self.n_pos, self.k)

    @property
    def defined(self) -> Mask:
        """Which groups have a positive and enough negatives: k, or one under clip."""
        return (self.n_pos > 0) & (self.n_neg >= (1 if self.clip else self.k))

    def holds(self, margin: Margin) -> Mask:
        """Which groups have this margin at `delta`; False where it is undefined.

        Parameters
        ----------
        margin : {"weak", "plain", "moderate", "strong"}

        Raises
        ------
        ArgumentError
            For another name.
        """
        largest: PerGroup = getattr(self, _check.choice(margin, "margin", MARGINS))
        return largest >= self.delta

    def guarantees(self, margin: Margin | None = None) -> dict[str, Mask]:
        """Which groups' risk and surrogates are zero for sure, because a margin holds.

        Parameters
        ----------
        margin : {"weak", "plain", "moderate", "strong"}, optional
            Conclude from this margin only; from every margin that holds by default.

        Returns
        -------
        dict of bool, (n_groups,)
            "risk" (pAp@k's, ties counted as errors) and each name of `SURROGATES`.

        Notes
        -----
        Nothing is read but which margins hold at `delta`, n_pos and k: False means that scores
        with the same margins exist whose value is above zero, not that it is above zero here.
        The risk needs any delta > 0, surrogates delta >= 1, except that the strong margin makes
        "pap-tight-struct-exact" zero from delta >= beta / n_pos, and "pap-struct", whose margins
        weigh less, only from delta >= n_neg / k (the moderate one from n_pos n_neg / (beta k)).
        From the plain margin follows "pap-avg"; "risk" and "pap-ramp" follow from it only where
        n_pos >= 2 beta - 1 (proposition 3 of the paper leaves this out: s = (100, -1, -1)
        against t = (0, 0, 0) at k = 3 has plain margin 32 2/3, pap-avg 0 and risk 2/3).
        The sums that a loss forms may leave 1e-16 where the value is zero.
        """
        names = MARGINS if margin is None else (margin,)
        found = [self._guaranteed_by(name) for name in names]
        return {name: np.logical_or.reduce([each[name] for each in found]) for name in found[0]}

    def _guaranteed_by(self, margin: Margin) -> dict[str, Mask]:
        n_pos, n_neg, beta, delta = self.n_pos, self.n_neg, self.beta, self.delta
        holds = self.holds(margin)
        weak, moderate, strong = self._implied(margin)
        # Of the moderate margin's positives beta lie delta above, the others not below.
        mean = strong | (margin == "plain") | ((margin == "moderate") & (delta * beta >= n_pos))
        zero = {
            "pap-ramp": weak,
            "pap-avg": mean,
            "pap-max": strong,
            "pap-tight-struct": moderate,
            "pap-tight-struct-exact": moderate,
            "pauc-hinge": strong,
        }
        sure = {name: holds & where & (delta >= 1) for name, where in zero.items()}
        # Its hinges may be paid by any of the positives: beta units by n_pos margins of delta.
        sure["pap-tight-struct-exact"] |= holds & strong & (delta * n_pos >= beta)
        # Its errors weigh n_pos n_neg / (beta k) margins each, and a top of beta pays for all.
        paying = np.where(strong, n_pos, np.where(moderate, beta, 0))
        loose = delta * paying * np.minimum(self.k, n_neg) >= n_pos * n_neg
        sure["pap-struct"] = holds & (paying > 0) & loose
        return {"risk": holds & weak & (delta > 0), **sure}

    def _implied(self, margin: Margin) -> tuple[Mask, Mask, Mask]:
        """Return where a margin implies the weak, the moderate and the strong at one delta."""
        n_pos, beta = self.n_pos, self.beta
        strong: Mask = {
            "weak": n_pos == beta,
            "plain": beta == 1,
            "moderate": n_pos == beta,
            "strong": np.ones_like(n_pos, np.bool_),
        }[margin]
        moderate = strong | (margin == "moderate")
        weak = moderate | (margin == "weak") | ((margin == "plain") & (n_pos >= 2 * beta - 1))
        return weak, moderate, strong


def margins(
    scores: ArrayLike,
    relevance: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int,
    delta: float = 1.0,
    clip: bool = False,
    min_relevance: float = 1.0,
) -> Margins:
    """Weak, plain, moderate and strong (beta, delta)-margin of scores in groups.

    Parameters
    ----------
    scores, relevance : (n_rows,)
        In any row order; relevance is >= 0.
    qid : (n_rows,), optional
        Integer or string label of each row's group; all rows are one group without it.
    k : int
        Cutoff in items, at least 1; beta = min(k, n_pos).
    delta : float
        Width of the margin, >= 0, in score units, for `Margins.holds` and `guarantees`.
    clip : bool
        Keep groups with fewer than k negatives, as the losses do under clip.
    min_relevance : float
        Relevance from which a row is a positive.

    Raises
    ------
    ArgumentError
        For lengths that differ, a non-finite score, a negative relevance, or k < 1.

    Notes
    -----
    Scores that meet a margin at delta meet it at 1 once divided by delta.
    Cost: one sort of the positives.

    References
    ----------
    hiranandani2020, definitions 2 to 5.

    Examples
    --------
    >>> m = margins([100.0, -1.0, -1.0, 0.0, 0.0, 0.0], [1, 1, 1, 0, 0, 0], k=3)
    >>> m.weak.round(3), m.plain.round(3), m.moderate
    (array([-1.]), array([32.667]), array([-inf]))
    >>> [name for name, sure in m.guarantees().items() if sure[0]]
    ['pap-avg']
    """
    labels = None if qid is None else _check.array(qid, "qid")
    column = _check.scores(scores, labels)
    grades = _check.relevance(relevance, labels)
    _check.equal_length(scores=column, relevance=grades)
    if labels is not None:
        _check.equal_length(scores=column, qid=labels)
    groups = Groups.single(column.size) if labels is None else Groups.from_qid(labels)
    threshold = _check.number(min_relevance, "min_relevance", low=0.0, strict=True)
    return _measure(
        column,
        grades >= threshold,
        groups,
        _check.cutoff(k),
        _check.number(delta, "delta", low=0.0),
        _check.flag(clip, "clip"),
    )


def _measure(
    scores: PerRow, positive: Mask, groups: Groups, k: int, delta: float, clip: bool
) -> Margins:
    index = groups.index
    n_pos = np.bincount(index[positive], minlength=groups.n_groups)
    n_neg = groups.sizes - n_pos
    best = np.full(groups.n_groups, -np.inf)
    np.maximum.at(best, index[~positive], scores[~positive])
    defined = (n_pos > 0) & (n_neg >= (1 if clip else k))
    # Undefined groups have no rows from here on, so that nothing is taken from an infinity.
    kept = np.flatnonzero(positive & defined[index])
    kept = kept[np.lexsort((-scores[kept], index[kept]))]
    with np.errstate(over="ignore"):
        above = scores[kept] - best[index[kept]]
        weak, plain, strong = _places(above, index[kept], np.where(defined, n_pos, 0), k)
    moderate = np.where(strong < 0, -np.inf, weak)
    return Margins(weak, plain, moderate, strong, groups, n_pos, n_neg, k, delta, clip)


def _places(
    above: PerRow, index: Counts, n_pos: Counts, k: int
) -> tuple[PerGroup, PerGroup, PerGroup]:
    """Return the beta-th value, the mean of the last beta, and the last; values fall by group."""
    ends = np.cumsum(n_pos)
    beta = np.minimum(n_pos, k)
    weak, plain, strong = (np.full(n_pos.size, np.nan) for _ in range(3))
    some = np.flatnonzero(n_pos)
    weak[some] = above[(ends - n_pos + beta - 1)[some]]
    strong[some] = above[ends[some] - 1]
    bottom = np.arange(above.size) >= (ends - beta)[index]
    sums = np.bincount(index[bottom], weights=above[bottom], minlength=n_pos.size)
    plain[some] = sums[some] / beta[some]
    return weak, plain, strong
