"""The program ``podium``, which is also ``python -m podium``."""

import _thread
import io
import signal
import sys
from typing import Any, NoReturn


def main() -> NoReturn:
    """Run the command line as a process, with its signals, its encoding and its exit status.

    SIGTERM has the same effect as Ctrl-C: files are complete and no temporary file remains. After
    the work is done, neither signal changes the exit status.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.unraisablehook = _repeat_interrupt
    try:
        _name_encoding()
        from podium import cli  # here, so that an interrupt is also quiet during the import

        cli.main()
    except KeyboardInterrupt:
        print("podium: interrupted.", file=sys.stderr)  # noqa: T201 (a word of the command line)
        sys.exit(130)
    finally:
        # After an interrupt inside exec(), Python marks it as unhandled and would end the process
        # by a signal. The next exec() removes the mark.
        exec("")
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is signal.default_int_handler:
                signal.signal(number, signal.SIG_IGN)


def _repeat_interrupt(unraisable: Any) -> None:
    """Interrupt again after an interrupt at a place that cannot raise an exception.

    Callbacks are such places. Each import of a module runs one.
    """
    if unraisable.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(signal.raise_signal, (signal.SIGINT,))
    else:
        sys.__unraisablehook__(unraisable)


def _name_encoding() -> None:
    """Write results to files and pipes as UTF-8, and to a terminal in its own encoding."""
    stdout: Any = sys.stdout
    if isinstance(sys.stdout, io.TextIOWrapper):
        settings = {"errors": "backslashreplace"} if stdout.isatty() else {"encoding": "utf-8"}
        stdout.reconfigure(**settings)


if __name__ == "__main__":
    main()
