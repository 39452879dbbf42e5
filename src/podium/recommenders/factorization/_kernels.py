"""Compiled kernels for pairs of users and items: stochastic steps and full sums.

Factors are float32 and are changed in place. A pass over a block changes only the rows of its
users and items. Logarithms and powers have the base 2 throughout.
"""

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import inlined, kernel, mix, prefetch, summing_kernel

TYPE_1, TYPE_2, IDENTITY, BPR = 0, 1, 2, 3  # the losses, which determine the weight of a positive

_LOG2_E = np.float32(1.4426950408889634)
_MAGIC = np.float32(12582912.0)  # 1.5 * 2**23: adding it rounds to an integer
_STEEPEST = np.float32(100.0)  # the limit to which differences of scores are clipped
_SQRT_HALF_BITS = np.int32(0x3F3504F3)
_ONE_BITS = np.int32(0x3F800000)
_MANTISSA = np.int32(0x007FFFFF)
_ONE = np.float32(1.0)
_FULL = 1e140  # a product above this is replaced by its logarithm before it overflows


@kernel
def next_bits(state):
    """Return the next state of a xorshift64* generator; a state is never 0."""
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    return state


@kernel
def random_below(state, n):
    """Return an integer in [0, n) from the upper bits of a state, without division; n < 2**31."""
    high = (state * np.uint64(2685821657736338717)) >> np.uint64(32)
    return np.int64((high * np.uint64(n)) >> np.uint64(32))


@kernel
def stream(seed, number):
    """Return the first state of a stream of random bits, mixed from the seed and a number."""
    step = np.uint64(0x9E3779B97F4A7C15)
    return mix(seed + (np.uint64(number) + np.uint64(1)) * step) | np.uint64(1)


@kernel
def shuffle(order, n, state):
    """Write a random permutation of 0 .. n - 1 (Fisher and Yates); return the next state."""
    for i in range(n):
        j = random_below(state, i + 1)
        state = next_bits(state)
        order[i] = order[j]
        order[j] = i
    return state


@kernel
def odds_and_costs(gaps, power, bits, cost, cost_bits):
    """Replace gaps g by 2**g / (1 + 2**g) and write log2(1 + 2**g), to about 7 digits.

    Loops without calls are vectorised, library functions are not. `power` and `bits` are the same
    memory, as floats and as bits, and so are `cost` and `cost_bits`.
    """
    # 2**g = 2**nearest * 2**r; the first factor is set through the bits of the exponent.
    for k in range(gaps.size):
        g = min(max(gaps[k], -_STEEPEST), _STEEPEST)
        nearest = (g + _MAGIC) - _MAGIC
        gaps[k] = g - nearest
        bits[k] = (np.int32(nearest) + np.int32(127)) << np.int32(23)
    # 2**r for r in [-1/2, 1/2], by a polynomial.
    for k in range(gaps.size):
        r = gaps[k]
        p = r * np.float32(1.5353362e-4) + np.float32(1.3398874e-3)
        p = p * r + np.float32(9.6184374e-3)
        p = p * r + np.float32(5.5503324e-2)
        p = p * r + np.float32(2.4022648e-1)
        p = p * r + np.float32(6.9314720e-1)
        odds = (p * r + _ONE) * power[k]
        gaps[k] = odds / (_ONE + odds)
        cost[k] = _ONE + odds
    # 1 + odds = 2**exponent * m, with m in [1 / sqrt(2), sqrt(2)], where the series is short.
    for k in range(gaps.size):
        shifted = cost_bits[k] + (_ONE_BITS - _SQRT_HALF_BITS)
        power[k] = np.float32((shifted >> np.int32(23)) - np.int32(127))
        cost_bits[k] = (shifted & _MANTISSA) + _SQRT_HALF_BITS
    # ln m = 2 artanh(s) = 2 (s + s**3 / 3 + s**5 / 5 + ...) at s = (m - 1) / (m + 1).
    for k in range(gaps.size):
        s = (cost[k] - _ONE) / (cost[k] + _ONE)
        q = s * s
        p = q * np.float32(0.2222222) + np.float32(0.2857143)
        p = p * q + np.float32(0.4)
        p = p * q + np.float32(0.6666667)
        cost[k] = power[k] + (p * q + np.float32(2.0)) * s * _LOG2_E


@kernel
def rho_slope(kind, total, n_others):
    """Return n_others times the derivative of rho at T = total, the weight of a sampled negative.

    For rho_1(T) = log2(T + 1) it is n_others times the poster's xi = 1 / (T + 1), divided by log 2,
    which the poster omits. It is 1 for the losses that are a mean over negatives.
    """
    if kind == TYPE_1:
        return n_others / ((total + 1.0) * np.log(2.0))
    if kind == TYPE_2:  # rho_2(T) = 1 - 1 / log2(T + 2)
        log = np.log2(total + 2.0)
        return n_others / ((total + 2.0) * np.log(2.0) * log * log)
    return 1.0


@kernel
def is_marked(marks, z):
    """Return whether z is in a set of bits with 64 bits per word."""
    return (marks[z >> 6] >> np.uint64(z & 63)) & np.uint64(1)


@inlined
def mark(marks, z):
    """Put z into a set of bits."""
    marks[z >> 6] |= np.uint64(1) << np.uint64(z & 63)


@kernel
def list_unmarked(marks, n, free):
    """Write the numbers of 0 .. n - 1 that are not in a set of bits."""
    n_free = 0
    for z in range(n):
        if not is_marked(marks, z):
            free[n_free] = z
            n_free += 1


@inlined
def prefetch_row(rows, row):
    """Prefetch the memory of a row that is read soon."""
    for j in range(0, rows.shape[1], 16):
        prefetch(rows, row, j)


@inlined
def draw(drawn, V, marks, free, n_free, state):
    """Draw rows of V that are not marked, and prefetch them; return the next state.

    They come from the first `n_free` of `free`; for n_free = 0, draws of marked rows are repeated.
    """
    for k in range(drawn.size):
        if n_free:
            z = np.int64(free[random_below(state, n_free)])
            state = next_bits(state)
        else:
            while True:
                z = random_below(state, V.shape[0])
                state = next_bits(state)
                if not is_marked(marks, z):
                    break
        drawn[k] = z
        prefetch_row(V, z)
    return state


class Steps(NamedTuple):
    """The settings of the steps; numbers that are combined with factors are float32."""

    kind: int  # TYPE_1, TYPE_2, IDENTITY or BPR
    n_negatives: int
    only_unseen: bool
    learn_items: bool
    rate: Any
    shrink: Any  # the factor by which a step shrinks a user's row
    memory: Any  # weight of the newest sample in the running mean of a positive
    bias_rate: Any  # 1 if items have a bias, else 0
    seed: Any
    user_step: int  # 0: the draws do not depend on the number of the user
    n_items: int  # in the whole catalogue, of which a block is a part


class Cell(NamedTuple):
    """The positives of some users in one block of items.

    User ``users[i]`` has ``positives[starts[i] : starts[i + 1]]``, which are places in the block.
    ``origins`` holds the position of each positive among the user's pairs in the input.
    """

    users: Any
    starts: Any
    positives: Any
    origins: Any


class WeightedPairs(NamedTuple):
    """Pairs in the order of the input; the pairs of a user begin at ``offsets``."""

    offsets: Any
    weights: Any  # s_xy
    mean_costs: Any  # running mean of sigma over the pairs of a positive: T / n_others


class Rows(NamedTuple):
    """The factors of the users, and the factors and biases of the block's items."""

    users: Any
    items: Any
    bias: Any


@inlined
def score_gaps(u, V, bias, y, drawn, gaps):
    """Write f(x, y') - f(x, y) for each drawn y', where f(x, y) = <U_x, V_y> + bias_y."""
    positive = V[y]
    score = bias[y]
    for j in range(u.size):
        score += u[j] * positive[j]
    for k in range(drawn.size):
        negative = V[drawn[k]]
        gap = bias[drawn[k]]
        for j in range(u.size):
            gap += u[j] * negative[j]
        gaps[k] = gap - score


@inlined
def total(values):
    """Return the sum of values in float32."""
    summed = np.float32(0.0)
    for k in range(values.size):
        summed += values[k]
    return summed


@summing_kernel
def descend(steps, cell, pairs, rows, sums):
    """Take one step for each positive of a block, in random order; add costs and steps to `sums`.

    A step follows the gradient of the poster's linearised objective ("Latent Collaborative
    Retrieval") at one positive (x, y) and a batch of negatives y' drawn from the block.
    """
    # Arrays are unpacked before the loops, because each unpacking counts a reference.
    run_users, run_starts, positives, origins = cell
    offsets, weights, mean_costs = pairs
    U, V, bias = rows
    n_block, d = V.shape
    n_runs = run_users.size
    longest = np.diff(run_starts).max() if n_runs else 1
    run_order = np.empty(max(n_runs, 1), np.int32)
    order = np.empty(longest, np.int32)
    marks = np.zeros(n_block // 64 + 1, np.uint64)  # the places that must not be drawn
    free = np.empty(n_block, np.int32)
    drawn = np.empty(steps.n_negatives, np.int64)
    step = np.empty(steps.n_negatives, np.float32)  # gaps, then slopes of sigma, then steps
    bits = np.empty(steps.n_negatives, np.int32)
    power = bits.view(np.float32)
    cost_bits = np.empty(steps.n_negatives, np.int32)
    cost = cost_bits.view(np.float32)
    u = np.empty(d, np.float32)
    user_move = np.empty(d, np.float32)
    inverse_n_negatives = _ONE / np.float32(steps.n_negatives)
    positive_decay = _ONE - steps.shrink if steps.learn_items else np.float32(0.0)
    positive_shrink = _ONE - positive_decay
    negative_decay = positive_decay * inverse_n_negatives  # all together as much as the positive
    negative_shrink = _ONE - negative_decay
    total_cost = 0.0
    n_steps = 0
    shuffle(run_order, n_runs, stream(steps.seed, -1))
    for r in range(n_runs):
        run = run_order[r]
        x = run_users[run]
        if r + 2 < n_runs:
            prefetch_row(U, run_users[run_order[r + 2]])
        # The user's positives in the block; n_others is |Y| - 1 of the poster.
        user_positives = positives[run_starts[run] : run_starts[run + 1]]
        n_excluded = offsets[x + 1] - offsets[x] if steps.only_unseen else 1
        n_free = n_block - (user_positives.size if steps.only_unseen else 1)
        n_others = np.float64(steps.n_items - n_excluded)
        if n_free == 0:
            continue
        state = shuffle(order, user_positives.size, stream(steps.seed, x * steps.user_step))
        mostly_marked = steps.only_unseen and 2 * user_positives.size > n_block
        if steps.only_unseen:
            for y in user_positives:
                mark(marks, y)
        if mostly_marked:
            list_unmarked(marks, n_block, free)
        u[:] = U[x]
        for i in range(user_positives.size):
            # Sample y' uniformly.
            y = user_positives[order[i]]
            if not steps.only_unseen:
                mark(marks, y)
            state = draw(drawn, V, marks, free, n_free if mostly_marked else 0, state)
            if not steps.only_unseen:
                marks[y >> 6] = np.uint64(0)
            # sigma(t) = log2(1 + 2**-t) at t = f(x, y) - f(x, y'), and minus its slope. BPR's
            # loss log(1 + e**-t) is the same function at t log2(e), in units of log 2.
            score_gaps(u, V, bias, y, drawn, step)
            if steps.kind == BPR:
                for k in range(step.size):
                    step[k] *= _LOG2_E
            odds_and_costs(step, power, bits, cost, cost_bits)
            mean = total(cost) * inverse_n_negatives
            total_cost += mean
            # T, the sum of sigma over all y', is estimated by a running mean over samples.
            pair = offsets[x] + origins[run_starts[run] + order[i]]
            mean = mean_costs[pair] + steps.memory * (mean - mean_costs[pair])
            mean_costs[pair] = mean
            # The weight in the linearised objective is s_xy times xi_xy, the slope of rho at T.
            slope = np.float32(rho_slope(steps.kind, n_others * np.float64(mean), n_others))
            weight = steps.rate * slope * inverse_n_negatives * weights[pair]
            for k in range(step.size):
                step[k] *= weight
            # V_y moves towards U_x and each V_y' away from it. All moves use the values before the
            # step: U_x is updated last.
            total_step = total(step)
            positive = V[y]
            for j in range(d):
                user_move[j] = total_step * positive[j]
            if steps.learn_items:
                for j in range(d):
                    positive[j] = positive_shrink * positive[j] + total_step * u[j]
                bias[y] += steps.bias_rate * (total_step - positive_decay * bias[y])
            for k in range(drawn.size):
                negative = V[drawn[k]]
                move = step[k]
                for j in range(d):
                    user_move[j] -= move * negative[j]
                if steps.learn_items:
                    for j in range(d):
                        negative[j] = negative_shrink * negative[j] - move * u[j]
                    bias[drawn[k]] -= steps.bias_rate * (move + negative_decay * bias[drawn[k]])
            for j in range(d):
                u[j] = steps.shrink * u[j] + user_move[j]
            n_steps += 1
        U[x] = u
        if steps.only_unseen:
            for y in user_positives:
                marks[y >> 6] = np.uint64(0)
    sums[0] += total_cost
    sums[1] += n_steps


@kernel
def pair_sums(kind, only_unseen, offsets, items, U, V, bias, sums):
    """Write T of each positive: the sum of sigma(f(x, y) - f(x, y')) over the y' to compare with.

    log2(1 + 2**(f(x, y') - f(x, y))) equals log2(1 + 2**(top - f(x, y)) * 2**(f(x, y') - top)),
    where `top` is the best score. The last power is computed once per item and cannot overflow.
    """
    n_items, d = V.shape
    scores, power = np.empty(n_items), np.empty(n_items)
    is_excluded = np.zeros(n_items, np.bool_)
    scale = np.log2(np.e) if kind == BPR else 1.0
    for x in range(offsets.size - 1):
        lo, hi = offsets[x], offsets[x + 1]
        if lo == hi:
            continue
        top = -np.inf
        for y in range(n_items):
            score = np.float64(bias[y])
            for j in range(d):
                score += np.float64(U[x, j]) * np.float64(V[y, j])
            scores[y] = scale * score
            top = max(top, scores[y])
        for y in range(n_items):
            power[y] = 2.0 ** (scores[y] - top)
        if only_unseen:
            for i in range(lo, hi):
                is_excluded[items[i]] = True
        for i in range(lo, hi):
            y = items[i]
            if not only_unseen:
                is_excluded[y] = True
            sums[i] = _sum_of_costs(scores, power, is_excluded, scores[y], top)
            # A positive is compared with all other items, or only with unseen ones.
            is_excluded[y] = only_unseen
        for i in range(lo, hi):
            is_excluded[items[i]] = False


@kernel
def _sum_of_costs(scores, power, seen, score, top):
    """Return the sum of log2(1 + 2**(score' - score)) over unseen items, from logs of products."""
    total = 0.0
    # Far below the top a product could overflow; max(g, 0) + log2(1 + 2**-|g|) cannot.
    if top - score > 100.0:
        for z in range(scores.size):
            if not seen[z]:
                gap = scores[z] - score
                total += max(gap, 0.0) + np.log1p(2.0 ** -abs(gap)) / np.log(2.0)
        return total
    odds = 2.0 ** (top - score)
    product = 1.0
    for z in range(scores.size):
        if not seen[z]:
            product *= 1.0 + odds * power[z]
            if product > _FULL:
                total += np.log2(product)
                product = 1.0
    return total + np.log2(product)
