"""Fuzz podium or kill its commands: `python -m tests.fuzz --inputs 100000 --seed 1`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

from tests.fuzz import kills, pool
from tests.fuzz.families import FAMILIES, ROUND
from tests.fuzz.pool import Input, Problem


def main() -> int:
    """Run the inputs or kills of the command line; return 1 if there was a problem, else 0."""
    options = _parsed()
    problems: list[Problem] = []
    start = time.monotonic()
    with suppress(KeyboardInterrupt):
        for n_done, new_problems in enumerate(_found(options), 1):
            problems += new_problems
            if n_done % 1000 == 0:
                seconds = time.monotonic() - start
                print(
                    f"{n_done} inputs, {len(problems)} problems, {seconds:.0f} s", file=sys.stderr
                )
    _report(problems, verbose=options.only is not None or options.verbose)
    return bool(problems)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=2000, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=sorted(FAMILIES), help="only inputs of this family")
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="instead of inputs")
    parser.add_argument("--only", type=int, metavar="I", help="repeat input I of a --family")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verbose", action="store_true", help="show the whole of each problem")
    options = parser.parse_args()
    if options.only is not None and options.family is None and not options.kills:
        parser.error("--only needs --family or --kills")
    return options


def _found(given: argparse.Namespace) -> Iterator[list[Problem]]:
    """Yield the list of problems of every input or kill."""
    if given.kills:
        first, n = (0, given.kills) if given.only is None else (given.only, 1)
        return kills.run(given.seed, range(first, first + n))
    n_workers = 1 if given.only is not None else min(given.workers, given.inputs)
    return pool.run(_inputs(given), n_workers)


def _inputs(given: argparse.Namespace) -> Iterator[Input]:
    if given.only is not None:
        yield Input(given.family, given.seed, given.only)
        return
    for index in range(given.inputs):
        family = given.family or ROUND[index % len(ROUND)]
        yield Input(family, given.seed, index)


def _report(problems: list[Problem], *, verbose: bool) -> None:
    """Print each kind of problem once, the most frequent first, with a command that repeats it."""
    kinds: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        kinds.setdefault((problem.input.family, problem.what), []).append(problem)
    for (family, what), alike in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        first = min(alike, key=lambda problem: problem.input.index).input
        case_options = "--kills 1" if family == "kills" else f"--family {family}"
        repeat = f"{case_options} --seed {first.seed} --only {first.index}"
        print(f"{len(alike):6} {family}: {what}\n       python -m tests.fuzz {repeat}")
        lines = alike[0].detail.strip().splitlines()
        print(f"       {alike[0].case}", *(lines if verbose else lines[-1:]), sep="\n       ")
    print(f"{len(problems)} problems of {len(kinds)} kinds")


if __name__ == "__main__":
    sys.exit(main())
