"""Linear models on synthetic data similar to LETOR's, compared with a model of Rax's softmax loss.

The data have a thousand queries with 50 to 150 documents and 46 features, which are scaled within
each query. 8 % of the documents are relevant, one tenth of the queries have no relevant document,
and no linear model can express the true relevance. Of 700 training queries, 140 are used to choose
the l2 of each model by ndcg@10; the model is then fitted to all 700. The same 140 are used to
choose among podium's losses, so that this choice does not use the test queries. Rax's softmax is
fitted twice: without l2 for a fixed number of steps, as in common use, and with an l2 chosen as
for podium's losses. Test queries without a relevant document do not count. Differences are paired
by query, over all seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import _harness
from podium.errors import ConvergenceWarning
from podium.metrics import parse
from podium.rankers import LinearRanker
from podium.ranking import Ranking
from podium_studies.xia2009.top_losses import synthetic

LOSSES = (
    "softmax",
    "listnet",
    "listnet@10",
    "listmle",
    "listmle@10",
    "rankcosine",
    "robirank",
    "pairwise-logistic",
    "pairwise-hinge",
    "logistic",
    "group-logistic",
    "pap-logistic@10",
)
SMALL = ("--seeds=1", "--queries=60", "--losses", "softmax", "listmle@10", "pairwise-hinge")
KINKED = ("pairwise-hinge",)  # its minimum without a penalty can be infinitely far away
PENALTIES = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
MEASURES = {"ndcg@10": parse("ndcg(gain=exp2)@10"), "pap@10": parse("pap@10")}
PLAIN, TUNED = "Rax softmax, 200 steps", "Rax softmax, l2 chosen"
ANY = "podium, loss and l2 chosen"

Fit = Callable[["Data", float], Any]  # returns the coefficients for data and an l2


@dataclass(frozen=True)
class Data:
    """Documents of consecutive queries, with grades from 0 to 2."""

    X: Any
    y: Any
    sizes: Any

    @property
    def qid(self) -> Any:
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def queries(self, first: int, end: int) -> Data:
        """Return the queries first .. end - 1."""
        bounds = np.concatenate([[0], np.cumsum(self.sizes)])
        rows = slice(bounds[first], bounds[end])
        return Data(self.X[rows], self.y[rows], self.sizes[first:end])

    def padded(self) -> tuple[Any, Any, Any]:
        """Return features, grades and mask as padded arrays."""
        mask = np.arange(self.sizes.max()) < self.sizes[:, None]
        X = np.zeros((*mask.shape, self.X.shape[1]), np.float32)
        y = np.zeros(mask.shape, np.float32)
        X[mask], y[mask] = self.X, self.y
        return X, y, mask


def make(seed: int, n_queries: int = 1000, n_features: int = 46) -> Data:
    """Draw queries whose documents have eight hidden traits; see the module's docstring."""
    return Data(*synthetic(seed, n_queries, n_features))


def by_podium(loss: str) -> Fit:
    """Return a function that fits a linear ranker with this loss."""

    def fit(data: Data, l2: float) -> Any:
        ranker = LinearRanker(loss, l2=l2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return ranker.fit(data.X, data.y, data.qid).coef_

    return fit


def by_rax(data: Data, l2: float) -> Any:
    """Fit the same model by Adam on Rax's softmax loss."""
    from benchmarks import _letor_rax

    return _letor_rax.fit(*data.padded(), l2)


def values(coef: Any, data: Data) -> dict[str, Any]:
    """Return the measures of each query; nan without a relevant document."""
    ranking = Ranking.from_scores(data.X @ coef, data.y, data.qid)
    return {name: measure(ranking) for name, measure in MEASURES.items()}


def choose_l2(fit: Fit, train: Data, penalties: tuple[float, ...]) -> tuple[float, float]:
    """Return the l2 with the best ndcg@10 on the last fifth of training queries, and that value."""
    n = train.sizes.size
    fit_part, valid_part = train.queries(0, n - n // 5), train.queries(n - n // 5, n)
    means = [
        float(np.nanmean(values(fit(fit_part, l2), valid_part)["ndcg@10"])) for l2 in penalties
    ]
    best = int(np.argmax(means))
    return penalties[best], means[best]


def contenders(losses: Iterable[str]) -> dict[str, tuple[Fit, tuple[float, ...]]]:
    """Return the fit function and the candidate penalties of each model."""
    models = {f"podium {loss}": (by_podium(loss), PENALTIES[loss in KINKED :]) for loss in losses}
    try:
        from benchmarks import _letor_rax  # noqa: F401
    except ImportError as error:
        print(f"left out: Rax: {error}")
        return models
    return {PLAIN: (by_rax, PENALTIES[:1]), TUNED: (by_rax, PENALTIES)} | models


@dataclass(frozen=True)
class Fitted:
    """A fitted model of one seed: its test measures, l2, validation value and time."""

    measures: dict[str, Any]
    l2: float
    validated: float
    cpu_s: float
    note: str = ""


def fit_and_measure(fit: Fit, penalties: tuple[float, ...], train: Data, test: Data) -> Fitted:
    """Choose the l2, fit to all training queries, and measure on the test queries."""
    l2, validated = choose_l2(fit, train, penalties)
    start = time.process_time()
    coef = fit(train, l2)
    return Fitted(values(coef, test), l2, validated, time.process_time() - start, f"{l2:g}")


def one_seed(
    seed: int, n: int, models: dict[str, tuple[Fit, tuple[float, ...]]]
) -> dict[str, Fitted]:
    """Return the fits of every model, and podium's best one by validation."""
    data = make(seed, n)
    train, test = data.queries(0, n * 7 // 10), data.queries(n * 7 // 10, n)
    fits = {name: fit_and_measure(*model, train, test) for name, model in models.items()}
    podium_fits = {
        name: model_fit for name, model_fit in fits.items() if name.startswith("podium ")
    }
    best = max(podium_fits, key=lambda name: podium_fits[name].validated)
    return fits | {ANY: replace(podium_fits[best], note=best.removeprefix("podium "))}


def main(argv: list[str] | None = None) -> None:
    """Print means with standard errors, and the differences from Rax's softmax."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=LOSSES)
    args = parser.parse_args(argv)
    with threadpool_limits(1):
        models = contenders(args.losses)
        seeds = [one_seed(seed, args.queries, models) for seed in range(args.seeds)]
    peers = [name for name in (PLAIN, TUNED) if name in models]
    rows = [_row(name, seeds, peers) for name in seeds[0]]
    _harness.table(
        f"Linear models, {args.seeds} seeds, {args.queries * 3 // 10} test queries each "
        "(mean ± standard error)",
        ("model", *MEASURES, *(f"minus {peer}" for peer in peers), "fit s", "l2 by seed"),
        rows,
    )
    print("minus: ndcg@10 minus that of the peer, paired by query (in brackets: seeds above 0)")


def _row(name: str, seeds: list[dict[str, Fitted]], peers: list[str]) -> tuple[Any, ...]:
    by_seed = [{m: seed[name].measures[m] for m in MEASURES} for seed in seeds]
    measures = [_mean([values_of_seed[m] for values_of_seed in by_seed]) for m in MEASURES]
    differences = [_difference(seeds, name, peer) for peer in peers]
    cpu_s = float(np.mean([seed[name].cpu_s for seed in seeds]))
    return name, *measures, *differences, cpu_s, " ".join(seed[name].note for seed in seeds)


def _difference(seeds: list[dict[str, Fitted]], name: str, peer: str) -> str:
    if name == peer:
        return "-"
    model_values, peer_values = (
        [seed[n].measures["ndcg@10"] for seed in seeds] for n in (name, peer)
    )
    differences = [a - b for a, b in zip(model_values, peer_values, strict=True)]
    n_above = sum(bool(np.nanmean(a) > 0) for a in differences)
    return f"{_mean(differences, '+')} ({n_above})"


def _mean(by_seed: list[Any], sign: str = "") -> str:
    per_query = np.concatenate(by_seed)
    defined = per_query[~np.isnan(per_query)]
    error = defined.std(ddof=1) / np.sqrt(defined.size)
    return f"{defined.mean():{sign}.4f} ± {error:.4f}"


if __name__ == "__main__":
    main()
