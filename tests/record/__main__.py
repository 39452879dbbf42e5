"""Compare podium with its record: `python -m tests.record`; `--write` replaces the record."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.record import text
from tests.record.parts import PARTS, Parts


def main(parts: Parts, folder: Path) -> int:
    """Compare or write the parts in a folder; return 1 if anything differs from the record."""
    options = _parsed(parts)
    n_rows = 0
    for name in options.only or parts:
        start = time.monotonic()
        part = text.collect(parts[name]())
        rows = text.differences(text.read(name, folder), part, close=options.close)
        n_rows += len(rows)
        if options.write:
            text.write(name, part, folder)
        elif rows:
            print("\n".join([f"#### {name}", *rows]))
        seconds = time.monotonic() - start
        print(
            f"{name}: {len(part)} entries, {len(rows)} rows differ, {seconds:.0f} s",
            file=sys.stderr,
        )
    return int(n_rows > 0 and not options.write)


def _parsed(parts: Parts) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the record")
    parser.add_argument("--only", action="append", choices=sorted(parts), help="may be repeated")
    parser.add_argument(
        "--close",
        action="store_true",
        help="let digests differ and numbers by 1e-6: for another processor than the record's",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(PARTS, text.FOLDER))
