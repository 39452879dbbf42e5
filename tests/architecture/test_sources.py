"""Rules for source files that ruff has no rule for."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "podium"

# A path of one machine at the start of a word, and an address that packages come from.
MACHINE_PATH = re.compile(r"(?<![\w./~-])/(?:work|root|home|Users|opt|mnt)/\w")
REGISTRY = re.compile(r"index[-_]url|find[-_]links|pypi\.org/simple|files\.pythonhosted")
SOURCE_KEY = re.compile(r"\b[a-z]+(?:19|20)\d\d[a-z]?\b")


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Return the tree of each file of the library by its path; the other tests here read it too."""
    files = {file.relative_to(SRC).as_posix(): file for file in sorted(SRC.rglob("*.py"))}
    return {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in files.items()}


def _texts() -> Iterator[Path]:
    folders = (".ci", "benchmarks", "docs", "src", "studies", "tests", "tools", "typings")
    kinds = {".bib", ".html", ".json", ".md", ".py", ".pyi", ".sh", ".toml", ".txt", ".css", ".js"}
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.is_file() and (file.suffix in kinds or folder == ".ci"):
                yield file
    names = (".gitignore", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile")
    yield from (ROOT / name for name in (*names, "README.md", "pyproject.toml"))
    yield from ROOT.glob("*.txt")


def _unexplained(tree: ast.Module) -> Iterator[str]:
    """Yield public methods with arguments and no docstring; a bare `n_rows` says what it is."""
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for node in owner.body if not owner.name.startswith("_") else ():
            if isinstance(node, ast.FunctionDef) and not node.name.startswith(("_", "test_")):
                decorators = {ast.unparse(each) for each in node.decorator_list}
                is_explained = ast.get_docstring(node) or decorators & {"overload", "override"}
                n_arguments = len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs)
                if n_arguments > 1 and not is_explained:
                    yield f"{owner.name}.{node.name}"


def _sources(source: str) -> Iterator[str]:
    """Yield the keys in the References sections of the docstrings."""
    section = re.compile(r"^ *References\n *-+\n(.*?)(?=\n\n|\"{3})", re.S | re.M)
    for text in section.findall(source):
        yield from SOURCE_KEY.findall(text)


def test_public_methods_with_arguments_have_docstrings() -> None:
    assert not [
        (name, *_unexplained(tree)) for name, tree in trees().items() if [*_unexplained(tree)]
    ]
    source = "class C:\n    'c'\n    def g(self, k): ...\n    def n(self): ..."
    assert list(_unexplained(ast.parse(source))) == ["C.g"]


def test_sources_are_in_the_bibliography() -> None:
    bibliography = (ROOT / "docs/references.bib").read_text(encoding="utf-8")
    sources = (file.read_text(encoding="utf-8") for file in SRC.rglob("*.py"))
    keys = {key for source in sources for key in _sources(source)}
    assert keys <= set(re.findall(r"^@\w+\{(\w+),", bibliography, re.M))
    assert {"hiranandani2020", "jarvelin2002"} <= keys


def test_text_names_no_machine_and_no_registry() -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in _texts()}
    assert not [file for file, text in texts.items() if MACHINE_PATH.search(text)]
    own = Path(__file__).resolve()
    assert not [file for file, text in texts.items() if file != own and REGISTRY.search(text)]
    assert MACHINE_PATH.search('"' + "/".join(["", "home", "me", "x.csv"]) + '"')
    assert not MACHINE_PATH.search("https://example.org/home/page")


# What callers read of a loss is declared on podium.losses.Loss, so none asks whether it is there.
LOSS_WORDS = re.compile(
    r"(?:getattr|hasattr)\([^()]*(?:\(\))?[^()]*\b"
    r"(?:value_and_grad|value_grad_and_curvature|curvature|convex|smooth|upper_bounds"
    r"|shift_invariant|reads_groups|reads_grades|draws|head_cutoff|why_undefined"
    r"|min_relevance|clip|soft|head)\b"
)


def test_no_caller_probes_a_loss() -> None:
    rooms = ("cli", "losses", "rankers", "recommenders", "sampled", "testing", "torch", "tuning")
    files = [file for room in rooms for file in (SRC / room).rglob("*.py")]
    assert not [file for file in files if LOSS_WORDS.search(file.read_text(encoding="utf-8"))]
    assert LOSS_WORDS.search('getattr(self.make(), "smooth", False)')
    assert not LOSS_WORDS.search('hasattr(features, "tocsr")')
