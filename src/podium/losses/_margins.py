"""The margins of scores in groups, and the surrogates of pAp@k that they make zero."""

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


@dataclass(frozen=True, eq=False)
class Margins:
    """The largest delta of each margin in each group, as returned by `margins`.

    beta is min(k, n_pos). The best negative is the best of all negatives of the group.

    Attributes
    ----------
    weak : float64, (n_groups,)
        The beta-th best positive less the best negative (definition 2).
    plain : float64, (n_groups,)
        The mean of the beta worst positives less the best negative. Definition 3 requires this
        difference of the mean of every set of beta positives.
    moderate : float64, (n_groups,)
        The value of `weak` if no positive is below a negative, or else -inf, because no delta
        holds (definition 4).
    strong : float64, (n_groups,)
        The worst positive less the best negative (definition 5).
    groups : Groups
        The groups with their labels.
    n_pos, n_neg : int64, (n_groups,)
        The numbers of positives and negatives of each group.
    k, delta, clip
        The arguments of `margins`.

    Notes
    -----
    Margins are in score units. They are nan for groups without a positive or with too few
    negatives, see `defined`.

    `str` counts the groups that have each margin at `delta`, and the groups for which it guarantees
    a value of 0; see `guarantees`.

    At the same delta, strong implies moderate, moderate implies weak, and strong implies plain.
    According to the paper, plain implies weak. This is true if n_pos >= 2 beta - 1. In a group
    with n_pos <= k, weak equals strong, and plain is weaker than both.
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
        """The number of positives of each group that pAp@k uses, min(k, n_pos)."""
        return np.minimum(self.n_pos, self.k)

    @property
    def defined(self) -> Mask:
        """The mask of groups with a positive and enough negatives: k, or one with clip."""
        return (self.n_pos > 0) & (self.n_neg >= (1 if self.clip else self.k))

    def __str__(self) -> str:
        lines = [f"{self.defined.sum()} of {self.defined.size} groups, delta = {self.delta:g}"]
        lines.append("margin    groups  zero for certain, in how many groups")
        for margin in MARGINS:
            zeros = [(name, mask.sum()) for name, mask in self.guarantees(margin).items()]
            text = ", ".join(f"{name} {n}" for name, n in zeros if n)
            lines.append(f"{margin:<8}  {self.holds(margin).sum():>6}  {text or '-'}")
        return "\n".join(lines)

    def holds(self, margin: Margin) -> Mask:
        """Return whether each group has this margin at `delta`; False if it is undefined.

        Parameters
        ----------
        margin : {"weak", "plain", "moderate", "strong"}
            The name of the margin.

        Returns
        -------
        bool, (n_groups,)

        Raises
        ------
        ArgumentError
            If the name is unknown.
        """
        largest: PerGroup = vars(self)[_check.choice(margin, "margin", MARGINS)]
        return largest >= self.delta

    def guarantees(self, margin: Margin | None = None) -> dict[str, Mask]:
        """Return the groups whose risk and surrogates are zero because a margin holds.

        Parameters
        ----------
        margin : {"weak", "plain", "moderate", "strong"}, optional
            The only margin to use. By default, all margins that hold are used.

        Returns
        -------
        dict of bool, (n_groups,)
            The masks of groups by name: "risk" (the risk of pAp@k, with ties counted as errors)
            and each surrogate of podium by its name.

        Notes
        -----
        The result depends only on the margins that hold at `delta`, the numbers of positives and
        negatives, and k. False means that scores with the same margins and a value above zero
        exist. It does not mean that the value is above zero here.

        The risk is zero for any delta > 0, and surrogates for delta >= 1, with one exception: the
        strong margin makes "pap-tight-struct-exact" zero from delta >= beta / n_pos.

        The plain margin makes "pap-avg" zero. It makes "risk" and "pap-ramp" zero only if
        n_pos >= 2 beta - 1. Proposition 3 of the paper omits this condition: for the positive
        scores (100, -1, -1), the negative scores (0, 0, 0) and k = 3, the plain margin is 32 2/3,
        pap-avg is 0 and the risk is 2/3.

        If a value is zero, rounding in the sums of a loss may leave about 1e-16.
        """
        n_pos, beta, delta = self.n_pos, self.beta, self.delta
        held = {name: self.holds(name) & (margin in (name, None)) for name in MARGINS}
        # In groups with few positives, a margin implies stronger ones.
        same = n_pos == beta
        strong = held["strong"] | (held["plain"] & (beta == 1))
        strong |= (held["weak"] | held["moderate"]) & same
        moderate = strong | held["moderate"]
        weak = moderate | held["weak"] | (held["plain"] & (n_pos >= 2 * beta - 1))
        # With the moderate margin, beta positives are delta above the best negative, and the
        # others are not below it. The mean of all is at least delta * beta / n_pos above it.
        mean_above = strong | held["plain"] | (held["moderate"] & (delta * beta >= n_pos))
        wide = delta >= 1
        return {
            "risk": weak & (delta > 0),
            "pap-ramp": weak & wide,
            "pap-avg": mean_above & wide,
            "pap-max": strong & wide,
            "pap-tight-struct": moderate & wide,
            # The margins of all n_pos positives offset the errors of beta of them.
            "pap-tight-struct-exact": (moderate & wide) | (strong & (delta * n_pos >= beta)),
        }


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
    """Return the weak, plain, moderate and strong (beta, delta)-margins of scores in groups.

    Parameters
    ----------
    scores, relevance : (n_rows,)
        The score and the relevance (>= 0) of each row, in any row order.
    qid : (n_rows,), optional
        The integer or string label of each row's group. Without it, all rows are one group.
    k : int
        The cutoff in items, at least 1; beta = min(k, n_pos).
    delta : float
        The width of the margin in score units, >= 0, for `Margins.holds` and `guarantees`.
    clip : bool
        Whether to include groups with fewer than k negatives, as the losses do with clip.
    min_relevance : float
        The least relevance of a positive.

    Returns
    -------
    Margins

    Raises
    ------
    ArgumentError
        If lengths differ, a score is not finite, a relevance is negative, or k < 1.

    Notes
    -----
    Scores with a margin of delta have a margin of 1 after division by delta.
    Cost: one sort of the positives.

    References
    ----------
    hiranandani2020, definitions 2 to 5.

    Examples
    --------
    >>> m = margins([100.0, -1.0, -1.0, 0.0, 0.0, 0.0], [1, 1, 1, 0, 0, 0], k=3)
    >>> m.weak.round(3), m.plain.round(3), m.moderate
    (array([-1.]), array([32.667]), array([-inf]))
    >>> print(m)
    1 of 1 groups, delta = 1
    margin    groups  zero for certain, in how many groups
    weak           0  -
    plain          1  pap-avg 1
    moderate       0  -
    strong         0  -
    """
    labels = None if qid is None else _check.array(qid, "qid")
    checked = _check.scores(scores, labels)
    grades = _check.relevance(relevance, labels)
    _check.equal_length(scores=checked, relevance=grades)
    if labels is not None:
        _check.equal_length(scores=checked, qid=labels)
    groups = Groups.single(checked.size) if labels is None else Groups.from_qid(labels)
    positive = grades >= _check.positive(min_relevance, "min_relevance")
    k, delta = _check.cutoff(k), _check.number(delta, "delta", low=0.0)
    clip = _check.flag(clip, "clip")
    index = groups.index
    n_pos = np.bincount(index[positive], minlength=groups.n_groups)
    n_neg = groups.sizes - n_pos
    best_negative = np.full(groups.n_groups, -np.inf)
    np.maximum.at(best_negative, index[~positive], checked[~positive])
    defined = (n_pos > 0) & (n_neg >= (1 if clip else k))
    # Drop the rows of undefined groups, so that no infinity is subtracted.
    positive_rows = np.flatnonzero(positive & defined[index])
    positive_rows = positive_rows[np.lexsort((-checked[positive_rows], index[positive_rows]))]
    with np.errstate(over="ignore"):
        excess = checked[positive_rows] - best_negative[index[positive_rows]]
        weak, plain, strong = _group_margins(
            excess, index[positive_rows], np.where(defined, n_pos, 0), k
        )
    moderate = np.where(strong < 0, -np.inf, weak)
    return Margins(weak, plain, moderate, strong, groups, n_pos, n_neg, k, delta, clip)


def _group_margins(
    excess: PerRow, index: Counts, n_pos: Counts, k: int
) -> tuple[PerGroup, PerGroup, PerGroup]:
    """Return the beta-th value, the mean of the last beta, and the last value of each group.

    `excess` has the values by group, in descending order within a group. Groups without values
    are nan.
    """
    ends = np.cumsum(n_pos)
    beta = np.minimum(n_pos, k)
    weak, plain, strong = (np.full(n_pos.size, np.nan) for _ in range(3))
    nonempty = np.flatnonzero(n_pos)
    weak[nonempty] = excess[(ends - n_pos + beta - 1)[nonempty]]
    strong[nonempty] = excess[ends[nonempty] - 1]
    is_among_last = np.arange(excess.size) >= (ends - beta)[index]
    sums = np.bincount(index[is_among_last], weights=excess[is_among_last], minlength=n_pos.size)
    plain[nonempty] = sums[nonempty] / beta[nonempty]
    return weak, plain, strong
