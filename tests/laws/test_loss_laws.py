"""Laws of every registered loss: the contract for its declared properties, and counterexamples."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.loss_oracles import pap_risk
from tests.oracles.robust_oracles import dcg_loss, ideal

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.testing.contracts import LossCase, LossContract, loss_cases


def usual(name: str) -> Any:
    """Return the loss of a name with its defaults, and a small cutoff if it requires one."""
    try:
        return losses.get(name)
    except ArgumentError:
        return losses.get(name, k=2)


_VARIANTS: dict[str, Callable[[], Any]] = {
    **{name: functools.partial(usual, name) for name in losses.REGISTRY},
    "pap-ramp clip": lambda: losses.PApRamp(3, clip=True, min_relevance=2),
    "pap-avg clip": lambda: losses.PApAverage(3, clip=True, min_relevance=2),
    "pap-max clip": lambda: losses.PApMax(3, clip=True, min_relevance=2),
    "pap-tight-struct clip": lambda: losses.PApTightStruct(3, clip=True, min_relevance=2),
    "pap-tight-struct-exact clip": lambda: losses.get(
        "pap-tight-struct-exact@3", clip=True, min_relevance=2
    ),
    "pap-struct clip": lambda: losses.get("pap-struct@3", clip=True, min_relevance=2),
    "pauc-hinge clip": lambda: losses.get("pauc-hinge@3", clip=True, min_relevance=2),
    "group-logistic grades": lambda: losses.GroupLogistic(min_relevance=2),
    "group-logistic soft": lambda: losses.GroupLogistic(soft=True),
    "pap-logistic top": lambda: losses.PApLogistic(2),
    "pap-logistic sharp": lambda: losses.PApLogistic(3, 30.0, 0.5, min_relevance=2),
    "pap-logistic without top": lambda: losses.PApLogistic(2, weight=0.0),
    "logistic grades": lambda: losses.Logistic(min_relevance=2),
    "listmle top": lambda: losses.ListMLE(2),
    "listmle averaged": lambda: losses.ListMLE(3, n_orders=3),
    "listmle relevant": lambda: losses.ListMLE(3, head="relevant", min_relevance=2),
    "listnet top": lambda: losses.ListNet(2, scale=0.5),
    "listnet sharp": lambda: losses.ListNet(3, scale=2.0),
    "listnet-luce top": lambda: losses.get("listnet-luce@3", scale=0.5),
    "rankcosine top": lambda: losses.RankCosine(2),
    "robirank type 2": lambda: losses.RoBiRank(2, gain="linear"),
    "robirank type 2 sums": lambda: losses.RoBiRank(2, normalize=False),
    "robirank identity": lambda: losses.RoBiRank("identity", normalize=False),
    "robirank identity linear": lambda: losses.RoBiRank("identity", "linear"),
    "robust-binary grades": lambda: losses.get("robust-binary", min_relevance=2),
    "robust-binary type 2": lambda: losses.get("robust-binary(type=2)"),
    "robust-binary identity": lambda: losses.get("robust-binary(type=identity)"),
    "lambdarank top": lambda: losses.LambdaRank(2, sigma=2.0, gain="linear"),
}

NAMES = list(losses.REGISTRY)
# Entries of losses that a plugin registers are left out where it is not installed.
VARIANTS = {t: functools.cache(make) for t, make in _VARIANTS.items() if t.split()[0] in NAMES}

CASES = {False: [*loss_cases(min(25, 3 * settings().max_examples))]}
CASES[True] = [dataclasses.replace(case, relevance=case.relevance / 2) for case in CASES[False]]


@pytest.mark.parametrize("variant", list(VARIANTS))
class TestContract(LossContract):
    @pytest.fixture(autouse=True)
    def _pick(self, variant: str) -> None:
        self.variant = variant

    def make(self) -> Any:
        return VARIANTS[self.variant]()

    def cases(self) -> Iterator[LossCase]:
        return iter(CASES[getattr(self.make(), "soft", False)])


_SIZES = [0.0, 5e-324, 1.0, 7e153, 1e155, 1e200, 1e280, 9e289]


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_scores_of_any_size_give_no_nan(variant: str) -> None:
    """Only a loss with "inf" in its docstring may have infinite values; gradients are finite."""
    loss, rng = VARIANTS[variant](), np.random.default_rng(0)
    documents_inf = re.search(r"\binf\b", str(type(loss).__doc__)) is not None
    for _ in range(min(150, 10 * settings().max_examples)):
        grades, qid = rng.integers(0, 3, 24) / 1.0, np.repeat(np.arange(3), 8)
        scores = rng.choice(_SIZES, 24) * rng.choice([-1, 1], 24)
        scores[16:] = rng.standard_normal(8)
        relevance = grades / 2 if getattr(loss, "soft", False) else grades
        target = loss.prepare(relevance, Groups.from_qid(qid))
        values_at_zero = loss.value_and_grad(np.zeros(24), target)[0]
        values, grad = loss.value_and_grad(scores, target)
        np.testing.assert_array_equal(np.isnan(values), np.isnan(values_at_zero))
        assert not (values < loss.bounds[0]).any()
        assert documents_inf or not np.isinf(values).any()
        assert np.isfinite(grad).all()
        assert np.isfinite(loss.curvature(scores, target)).all()
        alone = loss.value_and_grad(np.where(qid == 2, scores, 0.0), target)[0]
        np.testing.assert_allclose(values[2], alone[2], rtol=1e-12)


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_what_holds_of_large_scores_holds_of_the_largest(variant: str) -> None:
    """Most losses are linear for large scores: 2^20 times the scores give 2^20 times the value."""
    loss, rng, n_linear = VARIANTS[variant](), np.random.default_rng(1), 0
    for _ in range(60):
        shape = rng.choice([-1.0, -0.5, 0.0, 0.25, 1.0], 8)
        relevance = rng.integers(0, 3, 8) / (2.0 if getattr(loss, "soft", False) else 1.0)
        target = loss.prepare(relevance, Groups.single(8))
        low, high, largest = (
            loss.value_and_grad(size * shape, target) for size in (2.0**40, 2.0**60, 2.0**960)
        )
        if high[0][0] > 0.0 and np.allclose(high[0], 2.0**20 * low[0], rtol=1e-9, atol=0.0):
            n_linear += 1
            with np.errstate(over="ignore"):
                np.testing.assert_allclose(largest[0], np.ldexp(high[0], 900), rtol=1e-9)
            np.testing.assert_allclose(largest[1], high[1], rtol=1e-9, atol=1e-12)
    assert n_linear > 0 or variant.startswith(NO_LINES)


NO_LINES = (
    "pairwise-exponential",
    "rankcosine",
    "robirank",
    "robust-binary",
    "squared",
)


@dataclasses.dataclass(frozen=True)
class DrawnByRow(losses.ListMLE):
    """A wrong loss whose keys follow the order of rows."""

    def draw(self, groups: Groups, rng: np.random.Generator) -> Any:
        return rng.random((groups.n_rows, 1))


@dataclasses.dataclass(frozen=True)
class OrderedByRow(losses.ListMLE):
    """A wrong loss that orders ties by row and ignores the keys."""

    def prepare(self, relevance: Any, groups: Groups, **kw: Any) -> Any:
        kw["keys"] = -np.arange(groups.n_rows, dtype=float)[:, None]
        return super().prepare(relevance, groups, **kw)


def test_contract_refuses_draws_by_the_order_of_the_file() -> None:
    contract = LossContract()
    contract.make = DrawnByRow
    with pytest.raises(AssertionError):
        contract.test_order_of_groups_changes_no_draw()
    contract.make = OrderedByRow
    with pytest.raises(AssertionError):
        contract.test_keys_move_with_their_rows()
    with pytest.raises(AssertionError):
        contract.test_draw_is_that_of_the_generator()


def one(
    loss: Any, positives: list[float], negatives: list[float], grades: list[float] | None = None
) -> float:
    scores = np.array([*positives, *negatives])
    relevance = np.array([*(grades or [1.0] * len(positives)), *([0.0] * len(negatives))])
    return float(
        loss.value_and_grad(scores, loss.prepare(relevance, Groups.single(scores.size)))[0][0]
    )


def get(name: str, k: int) -> Any:
    fields = {f.name for f in dataclasses.fields(losses.REGISTRY[name])}
    return losses.get(name, **({"k": k} if "k" in fields else {}))


def drawn(loss: Any, groups: Groups) -> dict[str, Any]:
    """Return keys for a loss that orders ties by keys, else no arguments."""
    if not loss.draws:
        return {}
    return {"keys": loss.draw(groups, np.random.default_rng(3))}


# For losses that are not convex: two score vectors and a midpoint with a value above the mean.
NOT_CONVEX = {
    # One of two positives above the negative is enough; both at the midpoint are not.
    "pap-ramp": ([1.0, 0.0], [0.0, 1.0], [0.0]),
    "pap-tight-struct": ([1.0, 0.0], [0.0, 1.0], [0.0]),
    "pap-logistic": ([1.0, 0.0], [0.0, 1.0], [0.0]),
    # If one of two scores is 0, the value depends only on the sign of the other.
    "rankcosine": ([-2.0], [1.0], [0.0]),
    # For large errors, the cost grows like a logarithm.
    "robirank": ([-8.0], [0.0], [0.0]),
    "robust-binary": ([-8.0], [0.0], [0.0]),
    # Above both negatives, the positive has a second pair with a weight.
    "lambdarank": ([1.9], [2.3], [0.0, 2.0]),
}

# For losses that are not smooth: the score of the only positive at a kink.
NOT_SMOOTH = {
    "pap-ramp": 1.0,
    "pap-avg": 1.0,
    "pap-max": 1.0,
    "pap-tight-struct": 1.0,
    "pap-tight-struct-exact": 1.0,
    "pap-struct": 1.0,
    "pauc-hinge": 1.0,
    "prec-avg": 1.0,
    "pairwise-hinge": 1.0,
    "lambdarank": 0.0,
}

# For losses that do not bound pAp@k's risk: scores and k at which they lie below it.
NOT_A_BOUND = {
    "pap-avg": ([100.0, -1.0, -1.0], [0.0, 0.0, 0.0], 3),
    "prec-avg": ([0.0], [0.0, 0.0], 2),
    "logistic": ([0.0], [0.0], 1),
    "group-logistic": ([0.0], [0.0], 1),
    "listmle": ([0.0], [0.0], 1),
    "listnet": ([0.0], [0.0], 1),
    "listnet-luce": ([0.0], [0.0], 1),
    "rankcosine": ([0.0], [0.0], 1),
    "softmax": ([0.0], [0.0], 1),
    "pairwise-logistic": ([0.0], [0.0], 1),
    "squared": ([0.0], [0.0], 1),
    "lambdarank": ([0.0], [0.0], 1),
    # One positive ties with one of many negatives: an error of 1, averaged over 100 rows.
    "pap-logistic": ([0.0], [0.0] + [-9.0] * 98, 1),
    "pairwise-hinge": ([0.0], [0.0] + [-9.0] * 98, 1),
    "pairwise-exponential": ([0.0], [0.0] + [-9.0] * 98, 1),
    "robust-binary": ([0.0], [0.0] + [-9.0] * 98, 1),
    # A row of grade 5 dominates the ideal DCG, so that errors of the other row are small.
    "robirank": ([20.0, 0.0], [0.0, 0.0], 2),
}
GRADES = {"robirank": [5.0, 1.0]}  # the grades of the positives; 1 for other losses


def test_what_is_not_declared_has_a_witness() -> None:
    assert {n for n in NAMES if not get(n, 1).convex} == NOT_CONVEX.keys() & NAMES
    assert {n for n in NAMES if not get(n, 1).smooth} == NOT_SMOOTH.keys() & NAMES
    of_pap = ("pap", "pauc")
    assert {n for n in NAMES if get(n, 1).upper_bounds not in of_pap} == NOT_A_BOUND.keys() & NAMES


@pytest.mark.parametrize("name", sorted(NOT_CONVEX.keys() & NAMES))
def test_nonconvexity_has_a_midpoint_above(name: str) -> None:
    a, b, negatives = NOT_CONVEX[name]
    loss = get(name, 1)
    middle = [(x + y) / 2 for x, y in zip(a, b, strict=True)]
    assert one(loss, middle, negatives) > (one(loss, a, negatives) + one(loss, b, negatives)) / 2


@pytest.mark.parametrize("name", sorted(NOT_SMOOTH.keys() & NAMES))
def test_kinks_have_two_slopes(name: str) -> None:
    loss, kink = get(name, 1), NOT_SMOOTH[name]
    value, left, right = (one(loss, [kink + step], [0.0]) for step in (0.0, -0.5, 0.5))
    assert value - left != right - value


def test_smooth_top_has_a_kink_where_its_rows_change() -> None:
    """It is declared smooth for the solvers: its gradient jumps at the edge, its value does not."""
    loss, step = losses.PApLogistic(1, weight=1.0), 1e-5
    left, value, right = (one(loss, [0.0, score], [0.0]) for score in (-step, 0.0, step))
    assert abs(right - left) < step
    # The row's share of the top is 0 below the edge, and sigmoid'(0) = 1/4 above it, over 3 rows.
    assert (value - left) / step - (right - value) / step == pytest.approx(1 / 4 / 3, rel=1e-3)


@pytest.mark.parametrize("name", sorted(NOT_A_BOUND.keys() & NAMES))
def test_missing_bound_has_a_case_below_the_risk(name: str) -> None:
    positives, negatives, k = NOT_A_BOUND[name]
    value = one(get(name, k), positives, negatives, GRADES.get(name))
    assert value < pap_risk(positives, negatives, k)


def test_average_is_no_upper_bound_in_the_papers_own_margin() -> None:
    # The (beta, 1)-margin holds, (100 - 1 - 1)/3 - 0 >= 1, but 2 of 3 positives lie below.
    s, t = [100.0, -1.0, -1.0], [0.0, 0.0, 0.0]
    assert pap_risk(s, t, 3) == 2 / 3
    assert one(losses.PApRamp(3), s, t) == pytest.approx((0 + 2 + 2) / 3)
    assert one(losses.PApAverage(3), s, t) == 0.0
    # With more positives than k, the second of the top two is an error.
    assert pap_risk([10.0, -1.0, -1.0], [0.0, 0.0], 2) == 1 / 2
    assert one(losses.PApAverage(2), [10.0, -1.0, -1.0], [0.0, 0.0]) == 0.0


def test_tight_struct_as_the_algorithm_has_it() -> None:
    # Positives .5, .4 and .3, negatives 0 and 0, k = 2: the third positive adds nothing.
    s, t = [0.5, 0.4, 0.3], [0.0, 0.0]
    assert one(losses.PApTightStruct(2), s, t) == pytest.approx((0.5 + 0.6) / 2)
    assert one(losses.PApRamp(2), s, t) == pytest.approx((0.5 + 0.6) / 2)


scores_on_a_grid = st.lists(st.integers(-4, 4).map(lambda i: i / 2), min_size=1, max_size=6)


@settings(max_examples=2 * settings().max_examples)
@given(scores_on_a_grid, scores_on_a_grid, st.integers(1, 6), st.integers(0, 10**6))
def test_ties_share_the_gradient_whatever_the_row_order(
    positives: list[float], negatives: list[float], k: int, seed: int
) -> None:
    scores = np.array([*positives, *negatives])
    relevance = np.repeat([1.0, 0.0], [len(positives), len(negatives)])
    order = np.random.default_rng(seed).permutation(scores.size)
    groups = Groups.single(scores.size)
    for name in NAMES:
        loss = get(name, min(k, len(negatives)))
        keys = drawn(loss, groups)
        value, grad = loss.value_and_grad(scores, loss.prepare(relevance, groups, **keys))
        moved_keys = {name: array[order] for name, array in keys.items()}
        moved = loss.value_and_grad(
            scores[order], loss.prepare(relevance[order], groups, **moved_keys)
        )
        np.testing.assert_allclose(moved[0], value, atol=1e-12)
        np.testing.assert_allclose(moved[1], grad[order], atol=1e-12)
        if keys:  # keys distinguish rows of equal labels
            continue
        for label in (0.0, 1.0):
            for score in set(scores[relevance == label]):
                gradients = grad[(scores == score) & (relevance == label)]
                np.testing.assert_allclose(gradients, gradients[0], atol=1e-12)


@settings(max_examples=2 * settings().max_examples)
@given(scores_on_a_grid, scores_on_a_grid, st.integers(1, 6), st.integers(0, 10**6))
def test_subgradient_of_a_convex_loss_supports_it(
    positives: list[float], negatives: list[float], k: int, seed: int
) -> None:
    """f(z) >= f(x) + g.(z - x) for all z, also at ties and kinks."""
    scores = np.array([*positives, *negatives])
    relevance = np.repeat([1.0, 0.0], [len(positives), len(negatives)])
    other_scores = np.random.default_rng(seed).choice([-2.0, -0.5, 0.0, 0.5, 1.0, 3.0], scores.size)
    for name in NAMES:
        loss = get(name, min(k, len(negatives)))
        if not loss.convex:
            continue
        target = loss.prepare(relevance, Groups.single(scores.size))
        value, grad = loss.value_and_grad(scores, target)
        other_value = loss.value_and_grad(other_scores, target)[0][0]
        assert other_value >= value[0] + grad @ (other_scores - scores) - 1e-12


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_weights_are_repetitions(variant: str) -> None:
    """A group of weight 3 counts like three copies of the group, whatever the group sizes."""
    loss, rng = VARIANTS[variant](), np.random.default_rng(5)
    sizes, weights = [8, 6, 7], np.array([1.0, 3.0, 0.0])
    scores, groups = rng.standard_normal(21), Groups.from_sizes(sizes)
    top = 1.0 if getattr(loss, "soft", False) else 2.0
    relevance = np.where(np.arange(21) % 4 == 0, top, 0.0)
    keys = drawn(loss, groups)
    target = loss.prepare(relevance, groups, weights=np.repeat(weights, sizes), **keys)
    values, grad = loss.value_and_grad(scores, target)
    rows = np.concatenate([np.arange(8), *([np.arange(8, 14)] * 3)])
    copied_keys = {name: array[rows] for name, array in keys.items()}
    copies = loss.prepare(relevance[rows], Groups.from_sizes([8, 6, 6, 6]), **copied_keys)
    copied, copied_grad = loss.value_and_grad(scores[rows], copies)
    assert np.nanmean(values) == pytest.approx(float(copied.mean()))
    np.testing.assert_allclose(grad[:8], copied_grad[:8])
    np.testing.assert_allclose(grad[8:14], copied_grad[8:].reshape(3, 6).sum(axis=0))
    np.testing.assert_array_equal(grad[14:], 0.0)


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_weights_count_by_their_ratios_alone(variant: str) -> None:
    """Equal weights change nothing, also if their sum overflows or is close to 0."""
    loss, rng, groups = VARIANTS[variant](), np.random.default_rng(5), Groups.from_sizes([8, 6])
    relevance = np.where(np.arange(14) % 4 == 0, 1.0 if getattr(loss, "soft", False) else 2.0, 0.0)
    scores, keys = rng.standard_normal(14), drawn(loss, groups)
    plain = loss.value_and_grad(scores, loss.prepare(relevance, groups, **keys))
    for size in (1e-290, 7.0, 1e289):
        target = loss.prepare(relevance, groups, weights=np.full(14, size), **keys)
        for weighted, value in zip(loss.value_and_grad(scores, target), plain, strict=True):
            np.testing.assert_allclose(weighted, value, rtol=1e-12)


graded_lists = st.lists(
    st.tuples(st.integers(-6, 6).map(lambda i: i / 2), st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0])),
    min_size=2,
    max_size=12,
)


@settings(max_examples=4 * settings().max_examples)
@given(graded_lists, st.sampled_from(["exp2", "linear"]))
def test_robirank_bounds_what_a_list_loses_of_its_dcg(
    rows: list[tuple[float, float]], gain: Any
) -> None:
    """The loss of DCG is at most type 2, which is at most type 1, for ties in any order.

    The same holds after division by the ideal DCG: (sum of gains) / ideal - NDCG.
    """
    scores, grades = (list(column) for column in zip(*rows, strict=True))
    if len(set(grades)) < 2:
        return
    gains = [2.0**y - 1.0 if gain == "exp2" else y for y in grades]
    groups = Groups.single(len(rows))
    for normalize in (False, True):
        scale = ideal(gains) if normalize else 1.0
        losses_of = [losses.RoBiRank(kind, gain, normalize) for kind in (2, 1)]
        second, first = (
            float(
                loss.value_and_grad(np.array(scores), loss.prepare(np.array(grades), groups))[0][0]
            )
            for loss in losses_of
        )
        best = dcg_loss(scores, gains, ties=False) / scale
        worst = dcg_loss(scores, gains, ties=True) / scale
        slack = 1e-12 * first
        assert best <= worst <= second + slack <= first + 2 * slack


def test_robirank_counts_the_rows_above_by_their_distance() -> None:
    """A correct pair with a large difference adds 0 to T, and one that is wrong by d adds d."""
    loss = losses.RoBiRank(2, normalize=False)
    right = one(loss, [90.0], [0.0] * 5)
    assert 0.0 < right < 1e-20  # the loss of DCG with no row above is 0
    wrong = one(loss, [0.0], [30.0] * 3 + [-90.0] * 4)
    assert wrong == pytest.approx(1 - 1 / math.log2(3 * 30 + 2), abs=1e-9)
    assert wrong > dcg_loss([0.0] + [30.0] * 3 + [-90.0] * 4, [1.0] + [0.0] * 7, ties=True)
