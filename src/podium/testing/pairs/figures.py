"""Means, intervals and tests, as docs/conventions.md, compare.md and ship.md define them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from podium.testing.pairs.formulas import NAN

ROUNDING = 1e-12
"""Values that differ by less are equal."""

Facts = dict[tuple[str, ...], Any]
"""Numbers by what they are, such as ("mean", "ndcg@5", "a", "")."""

EXACT = 16  # up to this many differences that are not 0, all patterns of signs are used


def filled(value: float, undefined: str) -> float:
    """Return the value of a user in a mean."""
    if not math.isnan(value) or undefined in ("skip", "error"):
        return value
    return 1.0 if undefined == "one" else 0.0


def defined(values: Sequence[float]) -> list[float]:
    """Return the values that are not nan."""
    return [v for v in values if not math.isnan(v)]


def mean(values: Sequence[float]) -> float:
    """Return the mean; nan without values."""
    return math.fsum(values) / len(values) if values else NAN


def std_error(values: Sequence[float]) -> float:
    """Return sd / sqrt(n); 0 for values that are equal up to rounding."""
    n, centre = len(values), mean(values)
    if n < 2:
        return NAN
    if max(values) - min(values) <= ROUNDING:
        return 0.0
    return math.sqrt(math.fsum((v - centre) ** 2 for v in values) / (n - 1) / n)


def quantile(probability: float, n: float) -> float:
    """Return the t quantile with n - 1 degrees of freedom."""
    return float(stats.t.ppf(probability, n - 1)) if n > 1 else NAN


def cut(low: float, high: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return an interval, cut off at bounds; nan stays."""
    return (max(low, bounds[0]), min(high, bounds[1])) if low == low else (NAN, NAN)


def t_interval(centre: float, error: float, n: float, level: float) -> tuple[float, float]:
    """Return the t interval of a mean."""
    half = quantile((1 + level) / 2, n) * error
    return centre - half, centre + half


def wilson(centre: float, error: float, n: int, level: float, bounds: Any) -> tuple[float, float]:
    """Return the Wilson score interval of a share among m (1 - m) / se² users."""
    width = bounds[1] - bounds[0]
    share = min(max((centre - bounds[0]) / width, 0.0), 1.0)
    is_end = share * (1 - share) <= ROUNDING
    if n < 2:
        return NAN, NAN
    if error == 0 and not is_end:
        return centre, centre
    size = n if error == 0 else share * (1 - share) * (width / error) ** 2
    z = quantile((1 + level) / 2, n)
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * math.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2)
    return bounds[0] + width * (middle - half), bounds[0] + width * (middle + half)


def summary(
    values: Sequence[float],
    undefined: str,
    *,
    level: float,
    interval: str,
    bounds: tuple[float, float],
) -> dict[str, Any]:
    """Return the mean over users, its standard error and interval, and the counts."""
    used = defined([filled(v, undefined) for v in values])
    centre, error = mean(used), std_error(used)
    ends = t_interval(centre, error, len(used), level)
    if interval == "wilson":
        ends = wilson(centre, error, len(used), level, bounds)
    low, high = cut(*ends, bounds)
    return {
        "mean": centre,
        "std_error": error,
        **({} if interval == "bootstrap" else {"low": low, "high": high}),
        "n_groups": len(used),
        "n_undefined": len(values) - len(defined(values)),
    }


def pooled(
    values: Sequence[float], weights: Sequence[float], level: float, bounds: tuple[float, float]
) -> dict[str, Any]:
    """Return the sum of the numerators over that of the denominators, with its t interval."""
    pairs = [(v, w) for v, w in zip(values, weights, strict=True) if not math.isnan(v)]
    total, n = math.fsum(w for _, w in pairs), len(pairs)
    if not total > 0:
        return {"pooled": NAN, "pooled low": NAN, "pooled high": NAN}
    ratio = math.fsum(v * w for v, w in pairs) / total
    error = std_error([w * (v - ratio) for v, w in pairs]) * n / total
    low, high = cut(*t_interval(ratio, error, n, level), bounds)
    return {"pooled": ratio, "pooled low": low, "pooled high": high}


def randomisation(differences: Sequence[float]) -> float:
    """Return the share of sign patterns whose absolute sum reaches the observed one."""
    nonzero = [d for d in differences if abs(d) > ROUNDING]
    if not differences:
        return NAN
    if not nonzero:
        return 1.0
    if len(nonzero) > EXACT:
        return math.inf  # drawn, not enumerated: it is not compared
    signs = np.array([*itertools.product((1.0, -1.0), repeat=len(nonzero))])
    reached = abs(math.fsum(nonzero)) - ROUNDING * math.fsum(map(abs, nonzero))
    return float((np.abs(signs @ np.array(nonzero)) >= reached).mean())


def paired(
    a: Sequence[float],
    b: Sequence[float],
    *,
    undefined: str,
    level: float,
    bounds: tuple[float, float],
    is_mean: bool,
    higher_is_better: bool,
) -> dict[str, Any]:
    """Return the mean difference b - a over users with both values, and its tests."""
    both = [
        (filled(x, undefined), filled(y, undefined))
        for x, y in zip(a, b, strict=True)
        if not math.isnan(filled(x, undefined) + filled(y, undefined))
    ]
    exact = [y - x for x, y in both]
    differences = [0.0 if abs(d) <= ROUNDING else d for d in exact]
    centre, error, n = mean(differences), std_error(differences), len(both)
    centre = 0.0 if abs(centre) <= ROUNDING else centre
    width = bounds[1] - bounds[0]
    low, high = cut(*t_interval(centre, error, n, level), (-width, width))
    t = _ratio(centre, error)
    sign = 1 if higher_is_better else -1
    base = mean([x for x, _ in both])
    result = {
        "difference": centre,
        "std_error": error,
        "low": low,
        "high": high,
        "t_p_value": 2 * float(stats.t.sf(abs(t), n - 1)) if n > 1 else NAN,
        "relative": centre / base if base else NAN,
        "detectable": (quantile(0.975, n) + quantile(0.8, n)) * error,
        "n_groups": n,
        "n_undefined": sum(math.isnan(x + y) for x, y in zip(a, b, strict=True)),
    }
    if not is_mean:
        return result
    return {
        **result,
        "randomisation_p_value": randomisation(differences),
        "effect": _ratio(centre, error * math.sqrt(n)),
        "wins": sum(sign * d > 0 for d in differences),
        "losses": sum(sign * d < 0 for d in differences),
        "equal": differences.count(0.0),
    }


def _ratio(centre: float, error: float) -> float:
    if error == 0:
        return math.copysign(math.inf, centre) if centre else 0.0
    return centre / error


def holm(p_values: Mapping[Any, float]) -> dict[Any, float]:
    """Return the p values after Holm's correction for all tests."""
    ordered = sorted((p, key) for key, p in p_values.items() if not math.isnan(p))
    result, largest = dict.fromkeys(p_values, NAN), 0.0
    for i, (p, key) in enumerate(ordered):
        largest = min(max(largest, (len(ordered) - i) * p), 1.0)
        result[key] = largest
    return result


def clustered(
    values: Sequence[float], weights: Sequence[float], clusters: Sequence[Any]
) -> tuple[float, float, float]:
    """Return a weighted mean, its jackknife error over clusters, and their effective number."""
    rows = [
        (v, w, c)
        for v, w, c in zip(values, weights, clusters, strict=True)
        if not math.isnan(v) and w > 0
    ]
    if not rows:
        return NAN, NAN, 0.0
    total = math.fsum(w for _, w, _ in rows)
    centre = math.fsum(v * w for v, w, _ in rows) / total
    names = sorted({c for *_, c in rows}, key=str)
    sizes = [math.fsum(w for _, w, c in rows if c == name) for name in names]
    effective = math.fsum(sizes) ** 2 / math.fsum(s * s for s in sizes)
    if len(names) < 2:
        return centre, NAN, effective
    # The jackknife: the mean without each cluster in turn.
    without = [
        math.fsum(v * w for v, w, c in rows if c != name)
        / math.fsum(w for _, w, c in rows if c != name)
        for name in names
    ]
    n = len(names)
    moves = [m - centre for m in without]
    error = math.sqrt((n - 1) / n * math.fsum(m * m for m in moves))
    return centre, 0.0 if error <= ROUNDING else error, effective
