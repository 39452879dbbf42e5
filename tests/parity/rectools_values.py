"""Values of RecTools' PAP and PartialAUC on small lists, as JSON: podium's tests read them.

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

N_USERS, N_ITEMS = 24, 40
CUTOFFS = (1, 2, 3, 5)


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
    json.dump({"rectools": "0.19.0", "users": users, "values": values}, sys.stdout, indent=0)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
