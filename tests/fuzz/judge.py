"""The check of an input: what no command and no call may do, whatever the input is."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.case import Case

from podium.errors import PodiumError

FINE, REFUSED = 0, 2  # the only exit statuses of a command that is not interrupted
_RESULTS = {"gate": (0, 1, 3), "explain": (0, 1)}
"""The statuses of results: a gate's decision, and whether conventions give the value."""
LONGEST = 2000  # the largest length of a message
MEMORY = 2 * 2**30  # bytes by which one input may raise the peak memory of its process

_SAID = re.compile(r"podium: (?!error: )\S")
_ERROR = re.compile(r"podium: error: \S")
_VALUES = re.compile(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]?|[-+]?\d[\d.,e+-]*|\bnan\b|\binf\b")


@dataclass
class Done:
    """The outcome of an input.

    Attributes
    ----------
    status : int or None
        The exit status of a command; None for a call.
    error : BaseException or None
        The exception that was raised, except the exit of a command.
    out, err : bytes
        The output to stdout and stderr, by podium and other libraries.
    grown : int
        The growth of the peak memory of the process, in bytes.
    after : dict of str to bytes
        The files in the folder afterwards.
    """

    status: int | None
    error: BaseException | None
    out: bytes
    err: bytes
    grown: int
    after: dict[str, bytes]


def problems(case: Case, done: Done) -> Iterator[tuple[str, str]]:
    """Yield the problems as pairs of a short text, equal for equal causes, and details."""
    err = done.err.decode("utf-8", "replace")
    if done.error is not None:
        yield from _escaped(case, done.error)
    elif case.call is None:
        yield from _ended(case, done, err)
    yield from _spoken(err, is_call=case.call is not None)
    yield from _left(case, done)
    if done.grown > MEMORY:
        yield "memory", f"grew by {done.grown / 2**30:.1f} GiB"


def _escaped(case: Case, error: BaseException) -> Iterator[tuple[str, str]]:
    """Yield a problem unless a call raised an error of podium, or a documented one."""
    if case.call is not None and isinstance(error, PodiumError):
        text = str(error)
        if len(text.splitlines()) != 1 or len(text) > LONGEST:
            yield f"long or empty message: {shape(text)}", text[:LONGEST]
        return
    frames = traceback.extract_tb(error.__traceback__)
    call_sites = [(Path(frame.filename), frame.name) for frame in frames]
    last = call_sites[-1] if call_sites else (Path("?"), "?")
    if case.call is not None and _is_documented(error, last):
        return
    in_podium = [call_site for call_site in call_sites if "podium" in call_site[0].parts]
    where = " in ".join(f"{file.name}:{name}" for file, name in [last, *in_podium[-1:]])
    trace = "".join(traceback.format_exception(error))
    yield f"traceback {type(error).__name__} at {where}", trace[-3000:]


def _is_documented(error: BaseException, last: tuple[Path, str]) -> bool:
    """Return whether scikit-learn raised the error, or Python for an unknown argument."""
    if "sklearn" in last[0].parts:
        return isinstance(error, ValueError | TypeError)
    return last[0].parent.name == "fuzz" and isinstance(error, TypeError)


def _is_fine(case: Case, done: Done) -> bool:
    """Return whether the status is that of a result."""
    command = case.argv[0] if case.argv else ""
    return done.status in _RESULTS.get(command, (FINE,))


def _ended(case: Case, done: Done, err: str) -> Iterator[tuple[str, str]]:
    n_errors = sum(bool(_ERROR.match(line)) for line in err.splitlines())
    if not _is_fine(case, done) and done.status != REFUSED:
        yield f"status {done.status}", err[-LONGEST:]
    elif n_errors != (done.status == REFUSED):
        yield f"status {done.status} with {n_errors} error lines", err[-LONGEST:]
    elif n_errors and not _ERROR.match(err.splitlines()[-1]):
        yield "the error is not the last line", err[-LONGEST:]
    if done.status == REFUSED and done.out:
        yield "result before an error", f"{done.out[:200]!r} {err[-LONGEST:]}"


def _spoken(err: str, *, is_call: bool) -> Iterator[tuple[str, str]]:
    """Yield a problem if stderr contains more than one-line messages, or a call writes to it."""
    for line in err.splitlines():
        if is_call or not (_SAID.match(line) or _ERROR.match(line)):
            yield f"stray on stderr: {shape(line)}", err[-LONGEST:]
            return
        if len(line) > LONGEST:
            yield f"long message: {shape(line)}", line[:LONGEST]


def _left(case: Case, done: Done) -> Iterator[tuple[str, str]]:
    before, after = case.files, done.after
    worked = _is_fine(case, done) or (case.call is not None and done.error is None)
    written = case.outputs if worked else set[str]()
    for name in sorted(before.keys() | after.keys()):
        if name in case.kept or before.get(name) == after.get(name):
            continue
        if name not in written:
            change = "left" if name not in before else "removed" if name not in after else "changed"
            yield f"{change} {shape(name)}", f"{name}: {len(after.get(name, b''))} bytes"
        elif not _is_whole(name, after.get(name, b"")):
            yield f"partial {Path(name).suffix}", f"{after.get(name, b'')[:200]!r}"


def _is_whole(name: str, content: bytes) -> bool:
    """Return whether a file has the end of its format; a model may have any name."""
    if content[8:10] == b'{"':
        return _is_whole_model(content)
    ends = {".parquet": b"PAR1", ".arrow": b"ARROW1", ".feather": b"ARROW1"}
    if name.endswith((".csv", ".tsv", ".trec")):
        return content.endswith(b"\n")
    if name.endswith(".html"):
        return content.rstrip().endswith(b"</html>")
    return bool(content) and content.endswith(ends.get(Path(name).suffix, b""))


def _is_whole_model(content: bytes) -> bool:
    n_header = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + n_header])
    ends = [part["data_offsets"][1] for name, part in header.items() if name != "__metadata__"]
    return len(content) == 8 + n_header + max(ends, default=0)


def shape(text: str) -> str:
    """Return a text without its values, so that messages of one kind are equal."""
    return " ".join(_VALUES.sub("_", text).split())[:120]
