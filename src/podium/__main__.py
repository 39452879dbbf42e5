"""The program ``podium``, and ``python -m podium``."""

import io
import signal
import sys
from typing import Any, NoReturn


def main() -> NoReturn:
    """Run the command line as a process: signals end it as `podium.cli.main` ends a command.

    SIGTERM does what Ctrl-C does, so files are whole and nothing is left beside them.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    _name_encoding()
    try:
        from podium import cli  # here, so that an interrupt is quiet while it loads, too

        cli.main()
    except KeyboardInterrupt:
        print("podium: interrupted.", file=sys.stderr)  # noqa: T201 (a word of the command line)
        sys.exit(130)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # the work is done: end at once from here
            if signal.getsignal(number) is signal.default_int_handler:
                signal.signal(number, signal.SIG_DFL)


def _name_encoding() -> None:
    """Write results as UTF-8 into files and pipes; a terminal shows what its encoding has."""
    stdout: Any = sys.stdout
    if isinstance(sys.stdout, io.TextIOWrapper):
        known = {"errors": "backslashreplace"} if stdout.isatty() else {"encoding": "utf-8"}
        stdout.reconfigure(**known)


if __name__ == "__main__":
    main()
