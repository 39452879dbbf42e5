"""Contract tests for implementations of an interface, as test classes to subclass.

A test of a loss consists of three lines, run by pytest::

    class TestMyLoss(LossContract):
        def make(self):
            return MyLoss(k=3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from podium.groups import Groups
from podium.losses import Loss
from podium.testing.oracles import brute_force, listing
from podium.types import PerGroup, PerRow

_STEP = 1e-6  # the step of the central differences
_CLOSE = 1e-6  # their error: curvature times the step, plus rounding error over the step
_N_CASES = 25

RISKS = {"pap": "pap(clip=true)@{k}", "pauc": "pauc(clip=true)@{k}", "auc": "auc", "ndcg": "ndcg"}
"""The measures whose loss, 1 minus the value, a loss may declare in `upper_bounds`, by name."""

Evaluate: TypeAlias = Callable[[PerRow], tuple[PerGroup, PerRow]]


@dataclass(frozen=True)
class LossCase:
    """Random groups with labels, and scores without ties."""

    relevance: PerRow
    qid: Any
    scores: PerRow

    @cached_property
    def groups(self) -> Groups:
        """The layout of the rows, from their labels."""
        return Groups.from_qid(self.qid)


def loss_cases(n_cases: int = _N_CASES, *, seed: int = 0) -> Iterator[LossCase]:
    """Yield small cases with shuffled rows, graded labels and groups without a positive."""
    for i in range(n_cases):
        rng = np.random.default_rng([seed, i])
        n = int(rng.integers(1, 30))
        relevance = rng.integers(0, 3, n).astype(np.float64)
        yield LossCase(relevance, rng.integers(0, 4, n), 2.0 * rng.standard_normal(n))


class LossContract:
    """The contract of a loss. Subclass it and implement `make`.

    The tests check the properties that the loss declares (`convex`, `smooth`, `bounds`,
    `upper_bounds`, `shift_invariant`). A `smooth` loss may still have kinks at scores at which its
    set of selected rows changes. These are equal scores, which the cases do not contain.
    `upper_bounds` is the name of a risk in `RISKS`, and is tested on labels 0 and 1. The
    derivatives of a loss that `reweights` are those of the target from its `hold`. A loss that
    declares `draws` orders rows of equal grade by keys from its `draw`. If a test needs the same
    order for different rows, it first makes the labels distinct.
    """

    def make(self) -> Loss:
        """Return the loss under test."""
        raise NotImplementedError("Define a method make(self) that returns your loss.")

    def cases(self) -> Iterator[LossCase]:
        """Yield the test cases; override this if the loss needs other labels."""
        return loss_cases()

    def test_cases_reach_the_loss(self) -> None:
        """Check that most cases have a defined group, because the other tests need one."""
        defined = [bool(np.isfinite(self._values(case)[0]).any()) for case in self.cases()]
        assert np.mean(defined) > 0.5, "fewer than half of the cases have a defined group"

    def test_shapes_and_dtypes(self) -> None:
        """Check that values are float64 by group, and gradients float64 by row and finite."""
        for case in self.cases():
            values, grad = self._values(case)
            assert values.shape == (case.groups.n_groups,)
            assert grad.shape == case.scores.shape
            assert values.dtype == grad.dtype == np.float64
            assert np.isfinite(grad).all()

    def test_values_lie_in_their_bounds(self) -> None:
        """Check that no value lies outside the declared bounds."""
        low, high = self.make().bounds
        for case in self.cases():
            values = self._values(case)[0]
            inside = (values >= low) & (values <= high)
            assert (inside | np.isnan(values)).all()

    def test_gradient_is_central_difference(self) -> None:
        """Compare the gradient with slopes by row, except at kinks of a loss that is not smooth."""
        n_checked = n_skipped = 0
        for case in self.cases():
            evaluate = self._evaluator(case, held=True)
            grad = evaluate(case.scores)[1]
            for row in range(case.scores.size):
                left, right = self._slopes(evaluate, case.scores, row)
                if not self.make().smooth and abs(right - left) > _CLOSE:
                    n_skipped += 1
                    continue
                n_checked += 1
                assert abs((left + right) / 2 - grad[row]) <= _CLOSE
        assert n_checked > 10 * n_skipped, "too many rows lie at a kink"

    def test_groups_are_separable(self) -> None:
        """Check that a list's results are, up to a factor, the same in a batch and alone."""
        for case in self._distinct_label_cases():
            values, grad = self._values(case)
            ratios: list[float] = []
            for g, label in enumerate(case.groups.labels):
                rows = np.flatnonzero(case.qid == label)
                single_group = LossCase(case.relevance[rows], case.qid[rows], case.scores[rows])
                value, single_grad = self._values(single_group)
                assert np.isnan(value[0]) == np.isnan(values[g])
                if np.isnan(values[g]) or value[0] == 0.0:
                    continue
                # Value and gradient have a common factor, which depends on weights and group sizes.
                scale = values[g] / value[0]
                share = scale / np.count_nonzero(~np.isnan(values))
                np.testing.assert_allclose(grad[rows], single_grad * share, rtol=1e-9, atol=1e-12)
                ratios.append(scale)
            assert all(ratio > 0 for ratio in ratios)

    def test_row_order_does_not_matter(self) -> None:
        """Check that shuffled rows give the same values, and the same gradient for each row."""
        for i, case in enumerate(self._distinct_label_cases()):
            order = np.random.default_rng(i).permutation(case.scores.size)
            values, grad = self._values(case)
            moved = LossCase(case.relevance[order], case.qid[order], case.scores[order])
            moved_values, moved_grad = self._values(moved)
            np.testing.assert_allclose(moved_values, values, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(moved_grad, grad[order], rtol=1e-12, atol=1e-15)

    def test_curvature_is_positive_and_bounds_the_second_derivative(self) -> None:
        """Check that the bound is positive and, without kinks, at least the second derivative."""
        for case in self.cases():
            target = self._target(case)
            bound = self.make().curvature(case.scores, target)
            assert bound.shape == case.scores.shape
            assert (bound > 0).all()
            if self.make().smooth or self.make().reweights:
                evaluate = self._evaluator(case, held=True)
                for row in range(case.scores.size):
                    assert (
                        self._second_derivative(evaluate, case.scores, row) <= bound[row] + _CLOSE
                    )

    def test_held_weights_are_those_of_the_scores(self) -> None:
        """Check that holding the weights of the scores changes no value, gradient or curvature."""
        loss, any_differs = self.make(), False
        for case in self.cases() if loss.reweights else ():
            target, others = self._target(case), np.random.default_rng(0).permutation(case.scores)
            held = loss.hold(case.scores, target)
            results = loss.value_grad_and_curvature(case.scores, target)
            held_results = loss.value_grad_and_curvature(case.scores, held)
            for result, held_result in zip(results, held_results, strict=True):
                np.testing.assert_array_equal(held_result, result)
            moved, held_moved = (loss.value_and_grad(others, t)[0] for t in (target, held))
            any_differs = any_differs or not np.array_equal(moved, held_moved, equal_nan=True)
        assert any_differs == loss.reweights

    def test_declared_convexity_holds_at_midpoints(self) -> None:
        """Check that the mean value at a midpoint is at most the mean of the values at the ends."""
        if not self.make().convex:
            return
        for i, case in enumerate(self.cases()):
            other_scores = np.random.default_rng(i).standard_normal(case.scores.size) * 3.0
            ends = [self._mean(case, s) for s in (case.scores, other_scores)]
            middle = self._mean(case, (case.scores + other_scores) / 2)
            assert np.isnan(middle) or middle <= sum(ends) / 2 + 1e-12

    def test_declared_upper_bound_holds(self) -> None:
        """Check that no value is below the risk that it bounds, with ties counted as errors."""
        loss: Any = self.make()
        declared = loss.upper_bounds
        if declared is None:
            return
        assert declared in RISKS, f"upper_bounds is {declared!r}, not one of {sorted(RISKS)}"
        text = RISKS[declared].format(k=loss.k)
        for case in self.cases():
            labels = loss.min_relevance * (case.relevance >= loss.min_relevance)
            tied = LossCase(labels, case.qid, np.round(case.scores))
            values = self._values(tied)[0]
            for g, label in enumerate(case.groups.labels):
                rows = case.qid == label
                columns = tied.scores[rows].tolist(), labels[rows].tolist()
                one = listing(*columns, n_items=int(rows.sum()), min_relevance=loss.min_relevance)
                if not np.isnan(values[g]):
                    assert values[g] >= 1.0 - brute_force(text, one) - 1e-12

    def test_declared_shift_invariance_holds(self) -> None:
        """Check that a shift of each group's scores changes no value, and gradients sum to 0."""
        if not self.make().shift_invariant:
            return
        for case in self.cases():
            shift = np.random.default_rng(0).standard_normal(case.groups.n_groups)
            moved = self._values(case, case.scores + shift[case.groups.index])[0]
            np.testing.assert_allclose(moved, self._values(case)[0], rtol=1e-9, atol=1e-12)
            assert abs(self._values(case)[1].sum()) < 1e-12

    def test_keys_move_with_their_rows(self) -> None:
        """Check that rows shuffled together with their keys give the same values and gradients."""
        for i, case in enumerate(self._drawn_cases()):
            loss: Any = self.make()
            keys = loss.draw(case.groups, np.random.default_rng(i))
            order = np.random.default_rng(i).permutation(case.scores.size)
            moved = LossCase(case.relevance[order], case.qid[order], case.scores[order])
            target = loss.prepare(case.relevance, case.groups, keys=keys)
            moved_target = loss.prepare(moved.relevance, moved.groups, keys=keys[order])
            values, grad = loss.value_and_grad(case.scores, target)
            moved_values, moved_grad = loss.value_and_grad(moved.scores, moved_target)
            np.testing.assert_allclose(moved_values, values, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(moved_grad, grad[order], rtol=1e-12, atol=1e-15)

    def test_order_of_groups_changes_no_draw(self) -> None:
        """Check that groups in another order in a file have the same keys and values."""
        for i, case in enumerate(self._drawn_cases()):
            loss: Any = self.make()
            number = np.random.default_rng(i).permutation(case.groups.n_groups)
            order = np.argsort(number[case.groups.index], kind="stable")
            moved = LossCase(case.relevance[order], case.qid[order], case.scores[order])
            keys, moved_keys = (
                loss.draw(c.groups, np.random.default_rng(i)) for c in (case, moved)
            )
            np.testing.assert_array_equal(moved_keys, keys[order])
            np.testing.assert_allclose(
                self._values(moved)[0], self._values(case)[0], rtol=1e-12, atol=1e-12
            )

    def test_draw_is_that_of_the_generator(self) -> None:
        """Check that a target made with rng (by default of seed 0) is that of the keys it draws."""
        any_differs = False
        for i, case in enumerate(self._drawn_cases()):
            loss: Any = self.make()
            rng_target = loss.prepare(case.relevance, case.groups, rng=np.random.default_rng(i))
            keys = loss.draw(case.groups, np.random.default_rng(i))
            key_target = loss.prepare(case.relevance, case.groups, keys=keys)
            values = loss.value_and_grad(case.scores, rng_target)[0]
            np.testing.assert_array_equal(values, loss.value_and_grad(case.scores, key_target)[0])
            default = self._values(case)[0]
            np.testing.assert_array_equal(default, self._values(case)[0])
            any_differs = any_differs or not np.array_equal(values, default, equal_nan=True)
        assert any_differs or not self.make().draws

    def _drawn_cases(self) -> Iterator[LossCase]:
        """Yield the cases, with their ties, if the loss draws."""
        if self.make().draws:
            yield from self.cases()

    def _distinct_label_cases(self) -> Iterator[LossCase]:
        """Yield the cases; if the loss draws, with labels made distinct."""
        for i, case in enumerate(self.cases()):
            n = case.scores.size
            offset = np.random.default_rng(i).permutation(n) / (2.0 * n)
            draws = self.make().draws
            yield replace(case, relevance=case.relevance + offset) if draws else case

    def _target(self, case: LossCase) -> Any:
        return self.make().prepare(case.relevance, case.groups)

    def _evaluator(self, case: LossCase, *, held: bool = False) -> Evaluate:
        """Return the function from scores to values and gradient, with the target prepared once.

        If the loss reweights, `held` keeps the weights of the case's scores.
        """
        loss, target = self.make(), self._target(case)
        if held and loss.reweights:
            target = loss.hold(case.scores, target)
        return lambda scores: loss.value_and_grad(scores, target)

    def _values(self, case: LossCase, scores: PerRow | None = None) -> tuple[PerGroup, PerRow]:
        return self._evaluator(case)(case.scores if scores is None else scores)

    def _mean(self, case: LossCase, scores: PerRow) -> float:
        return _mean_defined(self._values(case, scores)[0])

    def _slopes(self, evaluate: Evaluate, scores: PerRow, row: int) -> tuple[float, float]:
        """Return the slopes to the left and to the right; 0 if no group is defined."""
        value = _mean_defined(evaluate(scores)[0])
        below, above = (_mean_defined(evaluate(moved)[0]) for moved in _moved(scores, row))
        slopes = (value - below) / _STEP, (above - value) / _STEP
        return (0.0, 0.0) if np.isnan(value) else slopes

    def _second_derivative(self, evaluate: Evaluate, scores: PerRow, row: int) -> float:
        """Return the second derivative by one row, from a central difference of the gradient."""
        below, above = (float(evaluate(moved)[1][row]) for moved in _moved(scores, row))
        return (above - below) / (2 * _STEP)


def _moved(scores: PerRow, row: int) -> Iterator[PerRow]:
    """Yield the scores with one row a step lower, then a step higher."""
    for step in (-_STEP, _STEP):
        moved = scores.copy()
        moved[row] += step
        yield moved


def _mean_defined(values: PerGroup) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else np.nan
