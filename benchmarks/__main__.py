"""``python -m benchmarks [part …]``: every benchmark, or those that are named."""

from __future__ import annotations

import importlib
import sys

PARTS = (
    "startup",
    "measure",
    "pap",
    "catalogue",
    "losses",
    "listwise",
    "letor_like",
    "pap_training",
    "boosting",
    "svmlight",
    "factorization",
    "sampled",
    "recommending",
    "updates",
)


def main() -> None:
    """Run the parts that the command line names; options after a single part go to it."""
    named = [a for a in sys.argv[1:] if not a.startswith("-")]
    parts = [a for a in named if a in PARTS] or list(PARTS)
    options = [a for a in sys.argv[1:] if a not in PARTS] if len(parts) == 1 else []
    for part in parts:
        importlib.import_module(f"benchmarks.{part}").main(options)


if __name__ == "__main__":
    main()
