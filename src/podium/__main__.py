"""The program ``podium``, and ``python -m podium``."""

import _thread
import io
import signal
import sys
from typing import Any, NoReturn


def main() -> NoReturn:
    """Run the command line as a process: its signals, its encoding, its exit status.

    SIGTERM does what Ctrl-C does, so files are whole and nothing is left beside them. Once the
    work is done neither changes its exit status.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.unraisablehook = _interrupt_again
    try:
        _name_encoding()
        from podium import cli  # here, so that an interrupt is quiet while it loads, too

        cli.main()
    except KeyboardInterrupt:
        print("podium: interrupted.", file=sys.stderr)  # noqa: T201 (a word of the command line)
        sys.exit(130)
    finally:
        # An interrupt inside an exec() of the library's is marked as unhandled for good, and Python
        # would end by a signal of its own: the next exec() takes the mark away.
        exec("")
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is signal.default_int_handler:
                signal.signal(number, signal.SIG_IGN)


def _interrupt_again(lost: Any) -> None:
    """Interrupt once more after an interrupt that came where nothing can be raised.

    Callbacks are such places, of which imports have one for each module.
    """
    if lost.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(signal.raise_signal, (signal.SIGINT,))
    else:
        sys.__unraisablehook__(lost)


def _name_encoding() -> None:
    """Write results as UTF-8 into files and pipes; a terminal shows what its encoding has."""
    stdout: Any = sys.stdout
    if isinstance(sys.stdout, io.TextIOWrapper):
        known = {"errors": "backslashreplace"} if stdout.isatty() else {"encoding": "utf-8"}
        stdout.reconfigure(**known)


if __name__ == "__main__":
    main()
