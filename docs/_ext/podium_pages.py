"""A Sphinx extension that writes the pages generated from podium's code into docs/_generated."""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import typer
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging

import podium
from podium.cli import COMMANDS, app

LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*(?:src|href)=\"https?:[^>]*>")
_COMMANDS = """\
# Commands and options

Each page lists every argument and option, as `podium COMMAND --help` does.
[The command line](../../cli.md) describes files, outputs and exit statuses."""
FOLDER = Path(__file__).resolve().parents[1] / "_generated"
WITHOUT_ALL = (
    *("podium.discounts", "podium.errors", "podium.groups", "podium.progress", "podium.ranking"),
    *("podium.registry", "podium.types", "podium.data.splits", "podium.data.splitting"),
    *("podium.testing.contracts", "podium.testing.oracles", "podium.testing.strategies"),
)
"""The public modules that define their names themselves, so that they have no `__all__`."""


def modules() -> Iterator[ModuleType]:
    """Yield the public modules except the root and the command line."""
    for found in pkgutil.walk_packages(podium.__path__, "podium."):
        is_private = any(part.startswith("_") for part in found.name.split("."))
        if found.name in WITHOUT_ALL or (
            found.ispkg and not is_private and found.name != "podium.cli"
        ):
            module = import_module(found.name)
            if found.name in WITHOUT_ALL or hasattr(module, "__all__"):
                yield module


def public_names(module: ModuleType) -> list[str]:
    """Return the names in `__all__`, or else the public names that the module defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not (name.startswith("_") or isinstance(value, TypeVar))
        and getattr(value, "__module__", None) == module.__name__
    ]


def api_pages() -> dict[str, str]:
    """Return the reference of each module in reStructuredText, each name described once."""
    described: dict[int, str] = {}
    return {module.__name__: _api_page(module, described) for module in modules()}


def _api_page(module: ModuleType, described: dict[int, str]) -> str:
    title = module.__name__
    lines = [title, "=" * len(title), "", f".. automodule:: {title}", "   :no-members:"]
    if not inspect.ismodule(_value(title)):  # a function of the same name has the index entry
        lines.append("   :no-index:")
    for name in public_names(module):
        value = getattr(module, name)
        home = described.setdefault(id(value), f"{title}.{name}")
        is_elsewhere = home != f"{title}.{name}"
        lines += ["", f"``{title}.{name}`` is :obj:`{home}`." if is_elsewhere else ""]
        lines += [] if is_elsewhere else _entry(home, value)
    return "\n".join([*lines, ""])


def _value(path: str) -> Any:
    parent, _, name = path.rpartition(".")
    return getattr(import_module(parent), name)


def _entry(path: str, value: Any) -> list[str]:
    """Return the directive of a name; modules in `__all__` have pages of their own."""
    if inspect.isclass(value):
        return [f".. autoclass:: {path}", "   :members:", "   :show-inheritance:"]
    if inspect.isroutine(value) or hasattr(value, "__wrapped__"):
        return [f".. autofunction:: {path}"]
    return [] if inspect.ismodule(value) else _constant(path, value)


def _constant(path: str, value: Any) -> list[str]:
    """Return the directive of a constant, with the description at its definition, or its value."""
    home, _, name = path.rpartition(".")
    directive = [f".. py:data:: {name}", f"   :module: {home}", ""]
    for module in [module for key, module in sys.modules.items() if key.startswith("podium.")]:
        if vars(module).get(name) is value:
            described = ModuleAnalyzer.for_module(module.__name__).find_attr_docs()
            if ("", name) in described:
                lines = described["", name]
                return [*directive, *(f"   {line}" for line in lines)]
    return [*directive, f"   ``{value!r}``"]


def root_page() -> str:
    """Return the table of the names of `podium` itself, with links to their descriptions."""
    rows = [f"   * - ``podium.{name}``\n     - {_home(name)}" for name in podium.__all__]
    lines = ["podium", "======", "", ".. automodule:: podium", "   :no-members:", ""]
    return "\n".join([*lines, ".. list-table::", "   :widths: 1 2", "", *rows, ""])


def _home(name: str) -> str:
    value = getattr(podium, name)
    if inspect.ismodule(value):
        return f":doc:`{value.__name__}`"
    home = podium._HOME.get(name)
    return f":obj:`{home}.{name}`" if home else "the version of podium"


def api_index(names: list[str]) -> str:
    """Return the list of all modules."""
    body = "\n".join(f"   {name}" for name in names)
    return (
        "Python reference\n================\n\nEach public name of each public module.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{body}\n"
    )


def command_page(name: str, command: Any) -> str:
    """Return the arguments and options of a command in Markdown, by the panels of its help."""
    with typer.Context(command, info_name=f"podium {name}") as context:
        usage = " ".join(command.collect_usage_pieces(context))
        panels: dict[str, list[str]] = {}
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record:
                panel = parameter.rich_help_panel or f"{parameter.param_type_name}s".capitalize()
                panels.setdefault(panel, []).append(_row(*record))
    parts = [f"# podium {name}", f"```text\npodium {name} {usage}\n```", _escape(command.help)]
    for panel, rows in panels.items():
        head = "| argument | meaning |" if panel == "Arguments" else "| option | effect |"
        parts.append("\n".join([f"## {panel}", "", head, "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _row(names: str, text: str) -> str:
    """Return a row of a table; a pipe in a cell would end it."""
    row = [f"`{names.strip()}`", _escape(text).replace("\n\n", "<br>")]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _escape(text: str) -> str:
    return inspect.cleandoc(text).replace("*", "\\*").replace("<", "&lt;").replace("[", "\\[")


def commands_index() -> str:
    """Return the list of all commands by job."""
    program: Any = typer.main.get_command(app)
    parts = [_COMMANDS]
    for job, functions in COMMANDS.items():
        names = [function.__name__ for function in functions]
        rows = [
            f"- [podium {n}]({n}.md): {program.commands[n].help.splitlines()[0]}" for n in names
        ]
        toctree = "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])
        parts += [f"## {job}", "\n".join(rows), toctree]
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Return the text of each generated page by its path in the folder."""
    program: Any = typer.main.get_command(app)
    references = api_pages()
    return {
        "api/index.rst": api_index(["podium", *references]),
        "api/podium.rst": root_page(),
        **{f"api/{name}.rst": text for name, text in references.items()},
        "commands/index.md": commands_index(),
        **{f"commands/{n}.md": command_page(n, c) for n, c in program.commands.items()},
        "changes.md": "```{include} ../../CHANGELOG.md\n:relative-docs: docs/\n```\n",
    }


def write_pages(_: Any = None) -> None:
    """Write the pages that changed, so that Sphinx reads only these again, and remove old ones."""
    texts = pages()
    for file in [
        file for file in FOLDER.rglob("*.*") if str(file.relative_to(FOLDER)) not in texts
    ]:
        file.unlink()
    for path, text in texts.items():
        file = FOLDER / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def link_studies(_: Any, __: str, source: list[str]) -> None:
    """Offer the pages of the studies, which lie outside of docs, as files."""
    source[0] = re.sub(r"\]\(((?:\.\./)+studies/[^)#\s]+)(?:#[^)\s]*)?\)", r"](path:\1)", source[0])


def check_offline(sphinx: Any, error: Exception | None) -> None:
    """Warn of each page that loads something from the network; `make docs` then fails."""
    for file in Path(sphinx.outdir).rglob("*.html") if error is None else ():
        for tag in LOADED.findall(file.read_text(encoding="utf-8")):
            logging.getLogger(__name__).warning("%s loads from the network: %s", file, tag)


def setup(sphinx: Any) -> dict[str, bool]:
    """Connect the extension to a build of Sphinx."""
    sphinx.connect("builder-inited", write_pages)
    sphinx.connect("source-read", link_studies)
    sphinx.connect("build-finished", check_offline)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
