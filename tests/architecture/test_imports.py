"""Third parties stay where docs/design.md puts them, and what starts podium loads none of them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch

import pytest
from tests.architecture.test_sources import trees

# Package -> files of podium that may import it; * crosses folders. Nothing else is imported at
# all, so a new dependency starts with a line here.
_ESTIMATORS = ("rankers/*", "recommenders/*", "tuning/*")
_NEURAL = ("torch/*", "rankers/neural/*")
ALLOWED = {
    "numpy": ("*",),
    "scipy": (
        *_ESTIMATORS,
        "catalogue/*",
        "data/*",
        "demo/*",
        "sampled/*",
        "evaluation/stats/*",
        "testing/*",
    ),
    "numba": ("*_kernels.py",),
    "llvmlite": ("*_kernels.py",),
    "narwhals": ("data/*",),
    "polars": ("data/*",),
    "pyarrow": ("data/*",),
    "pandas": ("data/*",),
    "sklearn": (*_ESTIMATORS, "evaluation/scorer.py"),
    "safetensors": ("_arrays.py",),
    "threadpoolctl": ("_one_thread.py", "recommenders/*"),
    "typer": ("cli/*",),
    "click": ("cli/*",),
    "rich": ("cli/*",),
    "jinja2": ("report/*",),
    "matplotlib": ("plots/*",),
    "hypothesis": ("testing/*",),
    "pytest": ("testing/*",),
    "ray": ("executors/ray.py",),
    "torch": (*_NEURAL, "catalogue/device*", "recommenders/*"),
    "lightgbm": ("rankers/boosting/*"),
    "xgboost": ("rankers/boosting/*",),
    "podium_studies": ("cli/reproduce.py",),
}

HEAVY = {
    *("cornac", "hypothesis", "implicit", "jinja2", "lightfm", "lightgbm", "matplotlib"),
    *("narwhals", "numba", "pandas", "polars", "pyarrow", "ray", "scipy", "sklearn"),
    *("torch", "xgboost"),
}


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yield the top package of each import, inside functions too, but not of types only."""
    for node in _running(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and _called(node.func) in {"import_module", "extra"}:
            match node.args:
                case [ast.Constant(value=str(name)), *_]:
                    yield name.partition(".")[0]


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Walk all nodes except what stands under `if TYPE_CHECKING:`."""
    yield node
    guarded = isinstance(node, ast.If) and _called(node.test) == "TYPE_CHECKING"
    children = node.orelse if guarded and isinstance(node, ast.If) else ast.iter_child_nodes(node)
    for child in children:
        yield from _running(child)


def _called(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _misplaced(place: str, tree: ast.Module) -> list[str]:
    known = sys.stdlib_module_names | {"podium"}
    return sorted(
        {
            package
            for package in _imported(tree)
            if package not in known
            and not any(fnmatch(place, allowed) for allowed in ALLOWED.get(package, ()))
        }
    )


def test_third_parties_are_confined() -> None:
    found = {place: _misplaced(place, tree) for place, tree in trees().items()}
    assert not {place: packages for place, packages in found.items() if packages}


@pytest.mark.parametrize(
    ("place", "source", "found"),
    [
        ("ranking.py", "import polars as pl", ["polars"]),
        ("ranking.py", "def f():\n    from sklearn.base import clone", ["sklearn"]),
        ("evaluation/stats/*", "torch = importlib.import_module('torch.nn')", ["torch"]),
        ("evaluation/stats/*", "_check.extra('ray', 'ray', 'The cluster')", ["ray"]),
        ("evaluation/stats/*", "import requests", ["requests"]),
        ("metrics/_kernels.py", "import numba", []),
        ("metrics/pairs.py", "import numba", ["numba"]),
        ("ranking.py", "if TYPE_CHECKING:\n    import polars\nelse:\n    import torch", ["torch"]),
    ],
)
def test_confinement_sees_every_form_of_import(place: str, source: str, found: list[str]) -> None:
    assert _misplaced(place, ast.parse(source)) == found


def _doors(place: str, tree: ast.Module) -> set[tuple[str, str]]:
    """Return the private modules of other packages of podium that a file imports."""
    own = place.partition("/")[0].removesuffix(".py")
    return {
        (place, module)
        for module in _modules(tree)
        if module.split(".")[1] != own and any(part[0] == "_" for part in module.split(".")[2:])
    }


def _modules(tree: ast.AST) -> Iterator[str]:
    """Yield what is imported from podium's packages, of types too; private names as modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("podium."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("podium."):
            yield str(node.module)
            yield from (f"{node.module}.{a.name}" for a in node.names if a.name[0] == "_")


def test_no_package_imports_another_ones_private_modules() -> None:
    assert not {door for place, tree in trees().items() for door in _doors(place, tree)}


def test_doors_are_seen() -> None:
    for place, source, found in (
        ("cli/a.py", "from podium.sampled._draws import f", "podium.sampled._draws"),
        ("cli/a.py", "def f():\n    from podium.rankers import _fit", "podium.rankers._fit"),
        ("cli/a.py", "import podium.data._kernels", "podium.data._kernels"),
        ("cli/a.py", "from podium.cli import _render", None),
        ("cli/a.py", "from podium._check import number", None),
    ):
        assert _doors(place, ast.parse(source)) == (set() if found is None else {(place, found)})


def _loaded(code: str) -> set[str]:
    """Return the top packages that a new process has loaded after the code."""
    report = "import json, sys; print(json.dumps(sorted(m.partition('.')[0] for m in sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_podium_loads_no_third_party() -> None:
    assert _loaded("import podium") & (HEAVY | {"numpy", "typer", "rich"}) == set()


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['podium', '--help']\n"
        "from podium.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as done:\n    assert not done.code, done.code"
    )
    assert _loaded(code) & HEAVY == set()


@pytest.mark.long
def test_heavy_package_would_be_seen() -> None:
    code = "from podium import evaluation; evaluation.make_scorer('rr')"
    assert _loaded(code) & HEAVY >= {"sklearn"}
