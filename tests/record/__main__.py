"""Compare podium with its record: `python -m tests.record`; `--write` replaces the record."""

from __future__ import annotations

import argparse
import sys
import time

from tests.record import text
from tests.record.parts import PARTS


def main() -> int:
    """Compare or write the parts; return 1 if anything differs from the record, else 0."""
    options = _parsed()
    n_rows = 0
    for name in options.only or PARTS:
        start = time.monotonic()
        part = text.collect(PARTS[name]())
        rows = text.differences(text.read(name), part, close=options.close)
        n_rows += len(rows)
        if options.write:
            text.write(name, part)
        elif rows:
            print("\n".join([f"#### {name}", *rows]))
        seconds = time.monotonic() - start
        print(
            f"{name}: {len(part)} entries, {len(rows)} rows differ, {seconds:.0f} s",
            file=sys.stderr,
        )
    return int(n_rows > 0 and not options.write)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.record", description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the record")
    parser.add_argument("--only", action="append", choices=sorted(PARTS), help="may be repeated")
    parser.add_argument(
        "--close",
        action="store_true",
        help="let digests differ and numbers by 1e-6: for another processor than the record's",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
