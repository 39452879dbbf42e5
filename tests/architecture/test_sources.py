"""Rules for source files: short, documented, sourced, and free of one machine's paths."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "podium"
FILES = sorted(SRC.rglob("*.py"))
MAX_LINES = 400

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# A path of one machine at the start of a word, and an address that packages come from.
MACHINE_PATH = re.compile(r"(?<![\w./~-])/(?:work|root|home|Users|opt|mnt)/\w")
REGISTRY = re.compile(r"index[-_]url|find[-_]links|pypi\.org/simple|files\.pythonhosted")
SOURCE_KEY = re.compile(r"\b[a-z]+(?:19|20)\d\d[a-z]?\b")


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def _texts() -> Iterator[Path]:
    folders = (".ci", "benchmarks", "docs", "src", "tests", "tools", "typings")
    kinds = {".bib", ".html", ".json", ".md", ".py", ".pyi", ".sh", ".toml", ".txt", ".css", ".js"}
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.is_file() and (file.suffix in kinds or folder == ".ci"):
                yield file
    names = (".gitignore", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile")
    yield from (ROOT / name for name in (*names, "README.md", "constraints.txt", "pyproject.toml"))


def _undocumented(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, Documented) and not node.name.startswith("_"):
            if not ast.get_docstring(node) and not _is(node, "overload"):
                yield node.name
            if isinstance(node, ast.ClassDef):
                yield from (f"{node.name}.{name}" for name in _undocumented_methods(node))


def _undocumented_methods(owner: ast.ClassDef) -> Iterator[str]:
    """Yield public methods with arguments; a property or a bare `n_rows` says what it is."""
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith(("_", "test_")):
            explained = ast.get_docstring(node) or _is(node, "overload") or _is(node, "override")
            n_arguments = len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs)
            if n_arguments > 1 and not explained:
                yield node.name


def _is(node: Documented, decorator: str) -> bool:
    return any(ast.unparse(each) == decorator for each in node.decorator_list)


def _sources(tree: ast.Module) -> Iterator[str]:
    """Yield the keys in the References section of every docstring."""
    for node in ast.walk(tree):
        if isinstance(node, Documented | ast.Module):
            text = ast.get_docstring(node) or ""
            section = re.search(r"^References\n-+\n(.*?)(?=\n\n\w|\Z)", text, re.S | re.M)
            yield from SOURCE_KEY.findall(section[1]) if section else ()


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_source_file_is_short(file: Path) -> None:
    assert len(file.read_text().splitlines()) < MAX_LINES


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_public_functions_and_classes_have_docstrings(file: Path) -> None:
    assert list(_undocumented(ast.parse(file.read_text()))) == []


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_sources_are_in_the_bibliography(file: Path) -> None:
    known = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text(), re.M))
    assert set(_sources(ast.parse(file.read_text()))) - known == set()


def test_some_docstring_names_a_source() -> None:
    found = {key for file in FILES for key in _sources(ast.parse(file.read_text()))}
    assert {"hiranandani2020", "jarvelin2002"} <= found


def test_undocumented_function_and_method_are_found() -> None:
    source = "def f(): ...\nclass C:\n    'c'\n    def g(self, k): ...\n    def n(self): ..."
    assert list(_undocumented(ast.parse(source))) == ["f", "C.g"]


@pytest.mark.parametrize("file", list(_texts()), ids=_name)
def test_text_names_no_machine_and_no_registry(file: Path) -> None:
    text = file.read_text()
    assert MACHINE_PATH.findall(text) == []
    if file != Path(__file__).resolve():
        assert REGISTRY.findall(text) == []


def test_path_of_a_machine_would_be_seen() -> None:
    assert MACHINE_PATH.search('"' + "/".join(["", "home", "me", "x.csv"]) + '"')
    assert not MACHINE_PATH.search("https://example.org/home/page")


def _without_encoding(tree: ast.Module) -> Iterator[str]:
    """Yield calls that read or write text in whatever encoding the system has."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        arguments = [*node.args, *(each.value for each in node.keywords)]
        modes = [
            each.value
            for each in arguments
            if isinstance(each, ast.Constant) and re.fullmatch(r"[rwaxbt+]+", str(each.value))
        ]
        is_text = name in ("read_text", "write_text") or (
            name in ("open", "fdopen") and any("b" not in mode for mode in modes)
        )
        if (is_text or name == "TextIOWrapper") and "encoding" not in {
            each.arg for each in node.keywords
        }:
            yield ast.unparse(node)


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_text_files_are_read_and_written_in_a_named_encoding(file: Path) -> None:
    assert list(_without_encoding(ast.parse(file.read_text(encoding="utf-8")))) == []


def test_text_without_an_encoding_is_found() -> None:
    calls = ("p.read_text()", "p.open('a')", "open(p, 'w', newline='')", "io.TextIOWrapper(b)")
    kept = ("p.read_text(encoding='ascii')", "p.open('rb')", "z.open('member.csv')", "p.open()")
    assert list(_without_encoding(ast.parse("\n".join(calls + kept)))) == list(calls)


# What callers read of a loss is declared on podium.losses.Loss, so none asks whether it is there.
LOSS_WORDS = re.compile(
    r"(?:getattr|hasattr)\([^()]*(?:\(\))?[^()]*\b"
    r"(?:value_and_grad|value_grad_and_curvature|curvature|convex|smooth|upper_bounds"
    r"|shift_invariant|reads_groups|reads_grades|draws|redraws|head_cutoff|why_undefined"
    r"|min_relevance|clip|soft|head)\b"
)
OF_LOSSES = ("cli", "losses", "rankers", "recommenders", "sampled", "testing", "torch", "tuning")


def _probes(text: str) -> list[str]:
    return [match[0] for match in LOSS_WORDS.finditer(text)]


@pytest.mark.parametrize("folder", OF_LOSSES)
def test_no_caller_probes_a_loss(folder: str) -> None:
    files = {file.relative_to(SRC).as_posix(): file for file in (SRC / folder).rglob("*.py")}
    found = {name: _probes(file.read_text(encoding="utf-8")) for name, file in files.items()}
    assert not {name for name, probes in found.items() if probes}


def test_a_probe_of_a_loss_would_be_seen() -> None:
    assert _probes('getattr(self.make(), "smooth", False)')
    assert _probes('hasattr(loss, "value_and_grad")')
    assert not _probes('hasattr(features, "tocsr")')
