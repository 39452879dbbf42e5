"""Mutants of podium's source, to measure whether tests find wrong operators or conditions.

    python tools/mutants.py draw 200 --seed 14 > mutants.json
    python tools/mutants.py trace -m "not long"    # once for each state of the tests
    python tools/mutants.py run mutants.json -o caught.json
    python tools/mutants.py compare before.json after.json

A mutant is one small change of one file in ``src``. ``trace`` records the lines that each test
executes, and its seconds. ``run`` runs the tests that execute the changed line, the short ones
first, until one fails. Lines of compiled kernels are not traced: their mutants are run with the
tests of the modules that import the kernel. All runs use copies of the tree, which itself does not
change.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SRC = Path("src/podium")
TRACE = ROOT / ".mutants"  # the last trace; git ignores this folder
BUDGET = 300.0  # seconds of tests per mutant, by the seconds in the trace
CAUGHT = ("caught", "long")  # by a test of `make test`, or by a test that only `make check` runs

COMPARE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"), ast.Mod: ("%", "*"), ast.Pow: ("**", "*"),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: in `path`, the text from `start` to `end` (bytes) becomes `new`."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str


class Sites(ast.NodeVisitor):
    """All mutants of one file."""

    def __init__(self, path: Path) -> None:
        """Read the file and find its mutants."""
        self.path = path
        self.source = path.read_bytes()
        self.starts = [0]
        for line in self.source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.mutants: list[Mutant] = []
        self.visit(ast.parse(self.source))

    def _at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def _span(self, node: ast.expr) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._at(node.lineno, node.col_offset), self._at(end_line, end_column)

    def _add(self, line: int, start: int, end: int, new: str) -> None:
        old = self.source[start:end].decode()
        changed = self.source[:start] + new.encode() + self.source[end:]
        try:
            compile(changed, str(self.path), "exec")
        except SyntaxError:
            return
        name = self.path.relative_to(ROOT).as_posix()
        self.mutants.append(Mutant(name, line, start, end, old, new))

    def _operator(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Replace the operator between two operands."""
        start, end = self._span(left)[1], self._span(right)[0]
        between = self.source[start:end].decode()
        pattern = r"\b" + old.replace(" ", r"\s+") + r"\b" if old[0].isalpha() else re.escape(old)
        if match := re.search(pattern, between):
            at = start + len(between[: match.start()].encode())
            self._add(left.lineno, at, at + len(match.group().encode()), new)

    def _negate(self, test: ast.expr) -> None:
        start, end = self._span(test)
        self._add(test.lineno, start, end, f"not ({self.source[start:end].decode()})")

    def visit_Compare(self, node: ast.Compare) -> None:
        """Change each comparison."""
        operands = [node.left, *node.comparators]
        for left, right, kind in zip(operands, operands[1:], node.ops, strict=False):
            self._operator(left, right, *COMPARE[type(kind)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Change arithmetic operators, except between strings."""
        texts = (ast.JoinedStr, ast.Constant)
        sides = [s for s in (node.left, node.right) if isinstance(s, texts)]
        if type(node.op) in ARITHMETIC and not any(_is_text(side) for side in sides):
            self._operator(node.left, node.right, *ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Change `and` to `or`, and `or` to `and`."""
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._operator(left, right, *words)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Remove a `not` or a minus sign."""
        if isinstance(node.op, ast.Not) or (
            isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant)
        ):
            start, end = self._span(node)
            inner = self._span(node.operand)
            self._add(node.lineno, start, end, self.source[inner[0] : inner[1]].decode())
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Add one to numbers, and negate booleans."""
        start, end = self._span(node)
        if isinstance(node.value, bool):
            self._add(node.lineno, start, end, str(not node.value))
        elif isinstance(node.value, int | float):
            self._add(node.lineno, start, end, repr(node.value + 1))

    def visit_If(self, node: ast.If) -> None:
        """Negate a condition, except `TYPE_CHECKING`."""
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self._negate(node.test)
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Negate a condition."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Change the operator of an augmented assignment."""
        if type(node.op) in (ast.Add, ast.Sub) and not _is_text(node.value):
            old, new = ARITHMETIC[type(node.op)]
            self._operator(node.target, node.value, old + "=", new + "=")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        """Return None instead of the value."""
        if node.value is not None and not _is_none(node.value):
            self._add(node.lineno, *self._span(node.value), "None")
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Visit defaults and the body, without decorators and annotations."""
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Visit the value, without the annotation."""
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Visit assignments, except that of `__all__`."""
        if not any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            self.generic_visit(node)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def draw(n: int, seed: int) -> list[Mutant]:
    """Draw mutants of the source; all sites have the same probability."""
    sites = [m for path in sorted((ROOT / SRC).rglob("*.py")) for m in Sites(path).mutants]
    print(f"{len(sites)} sites", file=sys.stderr)
    return sorted(random.Random(seed).sample(sites, n), key=lambda m: (m.path, m.start))


# --- Which tests run which lines ------------------------------------------------------------------


def trace(arguments: list[str]) -> None:
    """Run the tests under coverage with a context per test; write the coverage and the seconds."""
    shutil.rmtree(TRACE, ignore_errors=True)
    TRACE.mkdir()
    environment = {**os.environ, "COVERAGE_FILE": str(TRACE / "coverage")}
    command = [
        sys.executable, "-m", "pytest", "-q", "-n", "auto", "--cov=src/podium",
        "--cov-context=test", "--cov-report=", "-p", "tools.mutants_seconds", *arguments,
    ]  # fmt: skip
    subprocess.run(command, cwd=ROOT, env=environment, check=False)


class Trace:
    """The records of `trace`: tests by file and line, and their seconds."""

    def __init__(self) -> None:
        """Read the recorded trace."""
        self.seconds: dict[str, float] = json.loads((TRACE / "seconds.json").read_text())
        self.long = set(json.loads((TRACE / "long.json").read_text()))
        self.tests: dict[tuple[str, int], set[str]] = defaultdict(set)
        self.by_file: dict[str, set[str]] = defaultdict(set)
        self._read()
        self.users = _importers()

    def _read(self) -> None:
        from coverage import CoverageData

        data = CoverageData(str(TRACE / "coverage"))
        data.read()
        for path in data.measured_files():
            name = path[path.rindex(SRC.as_posix()) :]
            for line, contexts in data.contexts_by_lineno(path).items():
                tests = {c.rpartition("|")[0] for c in contexts if not c.endswith("|teardown")}
                self.tests[name, line] |= tests - {""}
                self.by_file[name] |= tests - {""}

    def tests_for(self, mutant: Mutant) -> list[str]:
        """Return the tests for a mutant: those of `make test` before the long ones, by duration."""
        tests = self.tests.get((mutant.path, mutant.line)) or self._kernel_tests(mutant)
        ordered = sorted(tests, key=lambda t: (t in self.long, self.seconds.get(t, 1.0), t))
        kept, total = list[str](), 0.0
        for test in ordered:
            total += self.seconds.get(test, 1.0)
            if total > BUDGET:
                break
            kept.append(test)
        return kept

    def _kernel_tests(self, mutant: Mutant) -> set[str]:
        """Return the tests of a kernel: those of its file and of the modules that import it."""
        found = set(self.by_file[mutant.path])
        for user in self.users.get(mutant.path, ()):
            found |= self.by_file[user]
        return found


def _importers() -> dict[str, set[str]]:
    """Return the files that import each file, directly or through other kernels."""
    names = {
        _module(path): path.relative_to(ROOT).as_posix() for path in (ROOT / SRC).rglob("*.py")
    }
    direct: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / SRC).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module:
                for target in (node.module, *(f"{node.module}.{a.name}" for a in node.names)):
                    if target in names:
                        direct[names[target]].add(path.relative_to(ROOT).as_posix())
    reached = {name: set(users) for name, users in direct.items()}
    for name, users in reached.items():
        for user in list(users):
            if "kernel" in user:
                users |= direct.get(user, set())
        reached[name] = users
    return reached


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# --- Running --------------------------------------------------------------------------------------


def run(mutants: list[Mutant], n_workers: int, out: Path) -> list[dict[str, Any]]:
    """Run the tests of each mutant in a copy of the tree; write each result at once."""
    trace_records = Trace()
    copies: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(n_workers):
            copies.put(_copy(Path(folder) / str(number)))

        def run_one(mutant: Mutant) -> dict[str, Any]:
            copy = copies.get()
            try:
                return asdict(mutant) | _run_tests(mutant, copy, trace_records)
            finally:
                copies.put(copy)

        results: list[dict[str, Any]] = []
        with ThreadPoolExecutor(n_workers) as pool:
            for result in pool.map(run_one, mutants):
                results.append(result)
                out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
                print(f"{result['result']:9} {result['path']}:{result['line']} {result['by']}")
    return results


def _copy(to: Path) -> Path:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
    for cache in (ROOT / SRC).rglob("__pycache__"):  # with the compiled kernels
        shutil.copytree(cache, to / cache.relative_to(ROOT), dirs_exist_ok=True)
    return to


def _run_tests(mutant: Mutant, copy: Path, trace: Trace) -> dict[str, Any]:
    tests = trace.tests_for(mutant)
    if not tests:
        return {"result": "untested", "by": "", "n_tests": 0}
    path = copy / mutant.path
    source, times = path.read_bytes(), path.stat()
    path.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
    compiles = "kernel" in mutant.path
    quick = [test for test in tests if test not in trace.long]
    try:
        if quick and (by := _first_failure(quick, copy, compiles, "--hypothesis-profile=quick")):
            return {"result": "caught", "by": by, "n_tests": len(tests)}
        if by := _first_failure(tests, copy, compiles):
            return {"result": "long", "by": by, "n_tests": len(tests)}
    finally:
        path.write_bytes(source)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # its kernels stay compiled
    return {"result": "survived", "by": "", "n_tests": len(tests)}


def _first_failure(tests: list[str], copy: Path, compiles: bool, *options: str) -> str:
    """Return the first test that fails, or an empty text."""
    (copy / ".tests").write_text("\n".join(tests))
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(map(str, (copy / "src", copy / "studies/src", copy))),
        "PODIUM_DATA": os.environ.get("PODIUM_DATA", str(ROOT.parent / "shared" / "data")),
    }
    with tempfile.TemporaryDirectory() as cache:
        if compiles:  # kernels that inline the changed one are compiled again
            environment["NUMBA_CACHE_DIR"] = cache
        command = [
            sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
            "-p", "no:randomly", *options, "@.tests",
        ]  # fmt: skip
        process = subprocess.Popen(
            command, cwd=copy, env=environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=4 * BUDGET)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "(no end)"
    if process.returncode == 0:
        return ""
    first = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", output, re.MULTILINE)
    return first.group(1) if first else output[-200:]


# --- The command line -----------------------------------------------------------------------------


def compare(before: Path, after: Path) -> None:
    """Print the number of mutants that each run caught, and those that only the first caught."""
    old: list[dict[str, Any]] = json.loads(before.read_text(encoding="utf-8"))
    new: list[dict[str, Any]] = json.loads(after.read_text(encoding="utf-8"))
    for name, results in (("before", old), ("after", new)):
        print(name, dict(Counter(str(result["result"]) for result in results)))
    caught = {_site(result) for result in new if result["result"] in CAUGHT}
    for mutant in old:
        if mutant["result"] in CAUGHT and _site(mutant) not in caught:
            print("lost:", mutant["path"], mutant["line"], mutant["old"], "→", mutant["new"])


def _site(mutant: dict[str, Any]) -> tuple[Any, ...]:
    return mutant["path"], mutant["start"], mutant["new"]


def main() -> None:
    """Run one of the four commands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("n", type=int)
    drawing.add_argument("--seed", type=int, default=0)
    commands.add_parser("trace")
    running = commands.add_parser("run")
    running.add_argument("mutants", type=Path)
    running.add_argument("-o", "--out", type=Path, default=Path("caught.json"))
    running.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments, pytest_arguments = parser.parse_known_args()
    if arguments.command == "draw":
        print(json.dumps([asdict(m) for m in draw(arguments.n, arguments.seed)], indent=1))
    elif arguments.command == "trace":
        trace(pytest_arguments)
    elif arguments.command == "run":
        listed = [Mutant(**m) for m in json.loads(arguments.mutants.read_text())]
        run(listed, arguments.workers, arguments.out)
    else:
        compare(arguments.before, arguments.after)


if __name__ == "__main__":
    main()
