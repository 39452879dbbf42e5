"""Run a law of `podium.testing` on any number of cases: ``python -m podium.testing pairs``."""

from __future__ import annotations

import argparse
import sys
from itertools import islice

from podium.testing.pairs import law
from podium.testing.pairs.snippet import snippet

_EVERY = 1000
_MOST = 20


def main(arguments: list[str] | None = None) -> int:
    """Run the law of pairs, print each fault with a small case, and return 1 if there is one.

    Parameters
    ----------
    arguments : list of str, optional
        The arguments of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m podium.testing", description=__doc__)
    parser.add_argument("law", choices=["pairs"], help="the law to test")
    parser.add_argument("--cases", type=int, default=3000, help="the number of cases")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the cases")
    options = parser.parse_args(arguments)
    n_faults = 0
    for number, case in enumerate(law.cases(options.seed, options.cases), 1):
        for fault in islice(law.faults(case), 1):
            n_faults += 1
            if n_faults <= _MOST:
                small = law.smallest(fault)
                _say(f"case {case.number}: {small}\n{snippet(small.case, small.door)}")
        if number % _EVERY == 0:
            _say(f"{number} of {options.cases} cases, {n_faults} with a fault")
    _say(f"{options.cases} cases of seed {options.seed}: {n_faults} with a fault")
    return 1 if n_faults else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
