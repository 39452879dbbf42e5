"""``python -m benchmarks [--small] [part …]``: all benchmarks, or the named ones.

With ``--small``, every part runs once on small data. This checks that it works; the times are
meaningless. The options of a small run are a part's `SMALL`.
"""

from __future__ import annotations

import importlib
import sys

from benchmarks import _harness

PARTS = (
    "startup",
    "measure",
    "large",
    "decide",
    "explain",
    "pap",
    "catalogue",
    "losses",
    "listwise",
    "letor_like",
    "rankers",
    "pap_training",
    "boosting",
    "svmlight",
    "factorization",
    "sampled",
    "recommending",
    "choosing",
    "updates",
)


def main() -> None:
    """Run the parts named on the command line; options after a single part are passed to it."""
    words = [a for a in sys.argv[1:] if a != "--small"]
    if "--small" in sys.argv[1:]:
        _harness.run_small()
    chosen = [a for a in words if a in PARTS]
    if not chosen and words:
        print(__doc__, f"The parts are {', '.join(PARTS)}.", sep="\n")
        return
    parts = chosen or list(PARTS)
    options = [a for a in words if a not in PARTS] if len(parts) == 1 else []
    for part in parts:
        _run(part, options)


def _run(part: str, options: list[str]) -> None:
    """Run one part, or print which required peer is not installed."""
    try:
        module = importlib.import_module(f"benchmarks.{part}")
    except ImportError as error:
        print(f"left out: {part}: {error}")
        return
    module.main([*(module.SMALL if _harness.is_small() else ()), *options])


if __name__ == "__main__":
    main()
