"""Values of RecTools' metrics on small lists, as JSON: podium's tests read them.

`values` are PAP and PartialAUC of lists of their own, with both of their treatments of short lists.
`like` are the metrics, as they are by default, of the lists that all packages are compared on.

RecTools 0.19.0 needs numpy < 2, so it has an environment of its own, which `make bench` creates::

    .venv-rectools/bin/python tests/parity/rectools_values.py > tests/parity/rectools_values.json

This file needs nothing but RecTools, and draws with Python's own generator, so that every
environment draws the same lists.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

from like_lists import Table, past
from like_lists import lists as lists_of_all

N_USERS, N_ITEMS = 24, 40
CUTOFFS = (1, 2, 3, 5)
LIKE_CUTOFFS = (1, 3, 10)


def lists() -> list[dict[str, Any]]:
    """Users with the items that they are shown, best first, and those that they like."""
    rng = random.Random(2020)
    users = []
    for user in range(N_USERS):
        liked = rng.sample(range(N_ITEMS), rng.choice((1, 2, 3, 5, 9)))
        shown = sorted(
            range(N_ITEMS), key=lambda item: rng.gauss(1.0 if item in liked else 0.0, 1.0)
        )[::-1]
        users.append({"user": user, "shown": shown[: rng.randint(1, 14)], "liked": sorted(liked)})
    return users


def compared() -> dict[str, dict[str, Any]]:
    """Return RecTools' mean and its values of users, by metric and cutoff."""
    from rectools import metrics as peer

    truth, run = lists_of_all(empty=True, missing=True)
    liked = frame([(u, i, 0) for u, items in truth.items() for i, g in items.items() if g > 0])
    before = frame([(u, i, 0) for u, i in past()])
    names = ["NDCG", "MAP", "MRR", "Precision", "Recall", "F1Beta", "HitRate", "PAP", "PartialAUC"]
    tables = dict.fromkeys(names, (recommended(run), liked))
    tables["AvgRecPopularity"] = recommended(lists_of_all()[1]), before
    return {
        f"{name}@{k}": {"mean": float(metric.calc(*both)), "values": by_user(metric, *both)}
        for name, both in tables.items()
        for k in LIKE_CUTOFFS
        for metric in [getattr(peer, name)(k=k)]
    } | {f"CatalogCoverage@{k}": {"mean": coverage(k)} for k in LIKE_CUTOFFS}


def coverage(k: int) -> float:
    from rectools.metrics import CatalogCoverage

    _, run = lists_of_all()
    catalog = {item for _, item in past()} | {item for items in run.values() for item in items}
    return float(CatalogCoverage(k=k, normalize=True).calc(recommended(run), catalog))


def by_user(metric: Any, reco: Any, other: Any) -> dict[str, float]:
    return {str(u): float(v) for u, v in metric.calc_per_user(reco, other).items()}


def recommended(run: Table) -> Any:
    """Return RecTools' table of lists, best item first."""
    ranked = {u: sorted(scores, key=scores.__getitem__, reverse=True) for u, scores in run.items()}
    return frame([(u, i, rank) for u, items in ranked.items() for rank, i in enumerate(items, 1)])


def frame(rows: list[tuple[int, int, int]]) -> Any:
    import pandas as pd

    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def main() -> None:
    """Print the lists with RecTools' values of each user."""
    import pandas as pd
    from rectools.metrics import PAP, PartialAUC

    users = lists()
    reco = pd.DataFrame(
        [(u["user"], i, r) for u in users for r, i in enumerate(u["shown"], 1)],
        columns=["user_id", "item_id", "rank"],
    )
    truth = pd.DataFrame(
        [(u["user"], i) for u in users for i in u["liked"]], columns=["user_id", "item_id"]
    )
    values = {}
    for name, metric in (("pap", PAP), ("pauc", PartialAUC)):
        for k in CUTOFFS:
            for handling in ("ignore", "exclude"):
                one = metric(k=k, insufficient_handling=handling).calc_per_user(reco, truth)
                values[f"{name}@{k} {handling}"] = {str(u): float(v) for u, v in one.items()}
    document = {"rectools": "0.19.0", "users": users, "values": values, "like": compared()}
    json.dump(document, sys.stdout, indent=0)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
