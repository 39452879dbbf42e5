"""A process that reads inputs from stdin, one per line, and answers with their problems.

It reads `family seed index`, draws that input, and runs it in a new folder in this process, so
that an input takes milliseconds. A crash ends the process. Its standard streams are files, which
also contain the output of libraries in other languages.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from sklearn.exceptions import DataConversionWarning as SklearnWarning
from tests.fuzz import corpus
from tests.fuzz.case import Case, draw
from tests.fuzz.families import FAMILIES
from tests.fuzz.judge import Done, problems

from podium.cli import main as podium
from podium.errors import PodiumWarning

CPU_SECONDS = 120  # the limit of one input; one that takes longer counts as a hang
SPACE = 8 * 2**30  # bytes of address space for inputs, to protect the machine

_C = ctypes.CDLL(None) if os.name == "posix" else None


def main(place: str) -> None:
    """Answer inputs until stdin ends; `place` is a folder of this worker."""
    folder = Path(place)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    streams = _catch_streams(folder)
    warnings.simplefilter("always")
    for ignored in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", ignored)
    corpus_folder = folder / "corpus"
    corpus_folder.mkdir()
    files = corpus.make(corpus_folder)
    _limit_memory()
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        family, seed, index = line.split()
        case = draw(FAMILIES[family], family, int(seed), int(index), files)
        found_problems = list(problems(case, _run(case, folder, streams)))
        print(json.dumps({"case": str(case), "problems": found_problems}), file=answers, flush=True)


def _catch_streams(folder: Path) -> tuple[int, int]:
    """Redirect stdout and stderr of the process to files, and return their descriptors."""
    sys.stdout.flush()
    sys.stderr.flush()
    for stream, name in ((1, "out"), (2, "err")):
        target = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(target, stream)
        os.close(target)
    return 1, 2


def _run(case: Case, folder: Path, streams: tuple[int, int]) -> Done:
    input_folder = Path(tempfile.mkdtemp(dir=folder))
    for name, content in case.files.items():
        (input_folder / name).write_bytes(content)
    for stream in streams:
        os.ftruncate(stream, 0)
    os.chdir(input_folder)
    size = _largest_size()
    with _Limit():
        status, error = _outcome(case)
    grown = _largest_size() - size
    os.chdir(folder)
    _flush()
    out, err = ((folder / name).read_bytes() for name in ("out", "err"))
    after = {
        path.relative_to(input_folder).as_posix(): path.read_bytes()
        for path in input_folder.rglob("*")
        if path.is_file()
    }
    shutil.rmtree(input_folder)
    return Done(status, error, out, err, grown, after)


def _outcome(case: Case) -> tuple[int | None, BaseException | None]:
    try:
        if case.call is None:
            podium(case.argv)
        with warnings.catch_warnings():
            for category in (PodiumWarning, SklearnWarning):
                warnings.simplefilter("ignore", category)
            warnings.filterwarnings("ignore", "(overflow|invalid)", RuntimeWarning)
            case.call()
    except SystemExit as exit_error:
        return (exit_error.code, None) if isinstance(exit_error.code, int) else (None, exit_error)
    except BaseException as error:  # panics of Rust are not subclasses of Exception
        return None, error
    return None, None


class _Limit:
    """A limit that ends this process by a signal after CPU_SECONDS of processor time."""

    def __enter__(self) -> None:
        self._set(CPU_SECONDS)

    def __exit__(self, *error: object) -> None:
        self._set(0)

    def _set(self, seconds: float) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, seconds)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    if _C is not None:
        _C.fflush(None)


def _largest_size() -> int:
    """Return the peak memory of this process in bytes; 0 if the system does not report it."""
    resource = _resource()
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) * (1 if sys.platform == "darwin" else 1024)


def _limit_memory() -> None:
    resource, statm = _resource(), Path("/proc/self/statm")
    if resource is None or not statm.exists():
        return
    size = int(statm.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + SPACE, -1))


def _resource() -> Any:
    try:
        import resource  # only on POSIX
    except ImportError:
        return None
    return resource


if __name__ == "__main__":
    main(sys.argv[1])
