"""A Sphinx extension that writes the pages generated from podium's code into docs/_generated."""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import typer
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging

import podium
from podium import losses, presets
from podium._fields import FIELDS
from podium._grammar import word
from podium.cli import COMMANDS, app
from podium.errors import ArgumentError
from podium.plots import line_plot, to_svg
from podium.protocol import EXCLUSIONS, NO_EFFECT
from podium.testing.robust_oracles import RHO

LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*(?:src|href)=\"https?:[^>]*>")
_COMMANDS = """\
# Commands and options

Each page lists every argument and option, as `podium COMMAND --help-all` does, with links to the
guides. [podium for coding agents](../../agents.md) has outputs and exit statuses, and [files and
splits](../../files.md) what the commands read."""
GUIDES = {
    "split": ("Files and splits", "files.md#split"),
    "measure": ("Measure one run", "compare.md#measure-one-run"),
    "compare": ("Measure and compare", "compare.md"),
    "gate": ("Ship or not", "ship.md"),
    "audit": ("Is my evaluation sound?", "sound.md"),
    "explain": ("Why two numbers differ", "explain.md"),
    "protocol": ("The protocol of an evaluation", "protocol.md"),
    "train": ("Train a ranker", "train.md"),
    "rank": ("The model and its lists", "train.md#the-model-and-its-lists"),
    "recommend": ("Factorization", "factorization.md#on-the-command-line"),
    "estimate": ("Sampled metrics", "sampled.md#on-the-command-line"),
    "plan": ("Planning", "sampled.md#planning"),
    "demo": ("podium for coding agents", "agents.md#demo"),
    "reproduce": ("podium for coding agents", "agents.md#reproduce"),
}
"""The title and the place of the guide that explains a command."""

EXPLAINED = {
    "--at-least": "ship.md#floors",
    "--budget": "tuning.md#recommenders",
    "--by": "compare.md#segments",
    "--catalogue": "conventions.md#items-shown",
    "--column": "files.md#files",
    "--cluster": "ship.md#clusters-and-weights",
    "--device": "catalogue.md#on-a-gpu",
    "--fail-on": "ship.md#exit-status-and-ci",
    "--folds": "tuning.md#validation-rows",
    "--grid": "tuning.md#grids",
    "--guard": "ship.md#guards",
    "--interval": "conventions.md#intervals",
    "--labels": "compare.md#unjudged-items",
    "--like": "conventions.md#conventions-of-other-packages",
    "--loss": "choosing.md#a-loss",
    "--low-grades": "conventions.md#positives",
    "--margin": "ship.md#choose-a-margin",
    "--measure": "choosing.md#a-measure",
    "--memory": "large.md#the-limit-of-memory",
    "--method": "sampled.md#estimators",
    "--min-relevance": "conventions.md#positives",
    "--missing": "conventions.md#missing-users",
    "--model": "choosing.md#linear-models-trees-or-a-network",
    "--n-items": "conventions.md#whole-lists",
    "--pairs": "compare.md#several-runs",
    "--pilot": "sampled.md#planning",
    "--pooled": "conventions.md#mean-and-pooled",
    "--protocol": "protocol.md",
    "--ray": "ray.md",
    "--report": "results.md#a-report",
    "--seen": "sampled.md#from-files",
    "--sequential": "ship.md#repeated-looks",
    "--shared": "sampled.md#whole-rankings-from-a-shared-sample",
    "--ties": "conventions.md#ties",
    "--tune": "tuning.md",
    "--undefined": "conventions.md#undefined-groups",
    "--unjudged": "conventions.md#unjudged-items",
    "--weight": "ship.md#clusters-and-weights",
    **dict.fromkeys(("--single-precision", "--score-above"), "conventions.md#scores"),
    "--level": "conventions.md#intervals",
    "--measures": "choosing.md#a-measure",
    "--ties-seed": "conventions.md#ties",
    "--guards": "ship.md#guards",
    "--horizon": "ship.md#repeated-looks",
    "--unretrieved": "conventions.md#unretrieved-items",
}
"""The places of the guides that explain an option."""

JOBS = {
    "Read and split tables": ("data",),
    "Measure and compare": (
        *("evaluation", "protocol", "metrics", "presets", "plots", "report", "ranking"),
    ),
    "Decide": ("decide", "demo"),
    "Train": ("rankers", "losses", "tuning", "torch"),
    "Recommend": ("recommenders", "catalogue", "executors"),
    "Estimate from sampled candidates": ("sampled",),
}
"""The packages of each job."""

EXTEND = "Types, errors and extensions"
STAGES = {
    "tables": "podium.data.opened",
    "lists": "podium.data.lists",
    "values": "podium.evaluation",
    "means": "podium.evaluation",
    "gate": "podium.decide",
}
"""The module or package of each stage."""

BOOSTING = ("lightgbm", "xgboost")
"""The packages that share a page."""

FOLDER = Path(__file__).resolve().parents[1] / "_generated"
WITHOUT_ALL = (
    *("podium.discounts", "podium.errors", "podium.groups", "podium.progress", "podium.ranking"),
    *("podium.registry", "podium.results", "podium.types", "podium.report.renderer"),
    *("podium.data.splits", "podium.data.splitting"),
    *("podium.data.columns", "podium.data.storage"),
    *("podium.testing.contracts", "podium.testing.oracles", "podium.testing.strategies"),
    "podium.testing.pairs.formulas",
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


def job_of(module: str) -> str:
    """Return the job of a module."""
    package = module.removeprefix("podium.").partition(".")[0]
    return next((job for job, packages in JOBS.items() if package in packages), EXTEND)


def _by_job(names: dict[str, str]) -> dict[str, list[str]]:
    """Return the names of each job, from the module of each name."""
    jobs: dict[str, list[str]] = {job: [] for job in (*JOBS, EXTEND)}
    for name, module in names.items():
        jobs[job_of(module)].append(name)
    return {job: found for job, found in jobs.items() if found}


def root_page() -> str:
    """Return the names of `podium` itself by job, with links to their descriptions."""
    lines = ["podium", "======", "", ".. automodule:: podium", "   :no-members:", ""]
    homes = {name: _module(name) for name in podium.__all__ if name != "__version__"}
    for job, names in _by_job(homes).items():
        rows = [f"   * - ``podium.{name}``\n     - {_home(name)}" for name in names]
        lines += [job, "-" * len(job), "", ".. list-table::", "   :widths: 1 2", "", *rows, ""]
    return "\n".join([*lines, "``podium.__version__`` is the version of podium.", ""])


def _module(name: str) -> str:
    value = getattr(podium, name)
    return str(value.__name__ if inspect.ismodule(value) else podium._HOME[name])


def _home(name: str) -> str:
    value, module = getattr(podium, name), _module(name)
    return f":doc:`{module}`" if inspect.ismodule(value) else f":obj:`{module}.{name}`"


def api_index(names: list[str]) -> str:
    """Return the list of all modules: the root, and the others by job."""
    parts = [
        "Python reference\n================",
        "Each public name of each public module, by job.",
        "Root names\n----------",
        "- :doc:`podium`: The names that most users need, such as ``podium.measure``.",
        ".. toctree::\n   :hidden:\n\n   podium",
    ]
    for job, modules in _by_job({name: name for name in names}).items():
        rows = "\n".join(f"- :doc:`{name}`: {_summary(name)}" for name in modules)
        toctree = "\n".join(f"   {name}" for name in modules)
        parts += [f"{job}\n{'-' * len(job)}", rows, f".. toctree::\n   :hidden:\n\n{toctree}"]
    return "\n\n".join(parts) + "\n"


def _summary(name: str) -> str:
    """Return the first line of a module's docstring."""
    return (import_module(name).__doc__ or "").partition("\n")[0]


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
    title, guide = GUIDES[name]
    see = f"The guide is [{title}](../../{guide})."
    parts = [f"# podium {name}", f"```text\npodium {name} {usage}\n```", _escape(command.help), see]
    for panel, rows in panels.items():
        head = "| argument | meaning |" if panel == "Arguments" else "| option | effect |"
        parts.append("\n".join([f"## {panel}", "", head, "|---|---|", *rows]))
    parts.append(f"Next: [{title}](../../{guide}), or the [other commands](index.md).")
    return "\n\n".join(parts) + "\n"


def _row(names: str, text: str) -> str:
    """Return a row of a table, with a link to a guide; a pipe in a cell would end it."""
    guides = [EXPLAINED[word] for word in re.findall(r"--[a-z-]+", names) if word in EXPLAINED]
    more = f" [More](../../{guides[0]})." if guides else ""
    row = [f"`{names.strip()}`", _escape(text).replace("\n\n", "<br>") + more]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _escape(text: str) -> str:
    return inspect.cleandoc(text).replace("*", "\\*").replace("<", "&lt;").replace("[", "\\[")


def fields_table() -> str:
    """Return the fields of a protocol: the stage that reads each, what it is and its default."""
    rows = [
        [f"`{name}`", field.stage, _with_options(field.text), _with_options(field.default)]
        for name, field in FIELDS.items()
    ]
    return _table(["field", "stage", "what it is", "default"], rows)


def conventions_table() -> str:
    """Return the fields that decide numbers: where each is read, and the packages that set it."""
    rows = [
        [
            f"[`{name}`]({EXPLAINED[option]})" if option in EXPLAINED else f"`{name}`",
            f"{field.stage} (`{STAGES[field.stage]}`)",
            ", ".join(f"`{rule}`" for rule in field.rules) or field.metavar.replace("|", ", "),
            _with_options(field.default),
        ]
        for name, field in FIELDS.items()
        if field.stage != "tables"
        for option in [f"--{name.replace('_', '-')}"]
    ]
    of_packages = [
        [f"`{name}`", rule, packages] for name in FIELDS for rule, packages in _of_packages(name)
    ]
    fields = _table(["field", "stage", "values", "default"], rows)
    return f"{fields}\n{_table(['field', 'value', 'set by'], of_packages)}"


def _of_packages(name: str) -> Iterator[tuple[str, str]]:
    """Yield the rules of a field that packages have, each with its packages."""
    by_rule: dict[str, list[str]] = {}
    for package in (*presets.PACKAGES, *BOOSTING):
        preset = presets.read(package)
        link = f"[{package}](coming-from/{preset.page}.md)"
        rules = dict.fromkeys(_rules_of(name, preset.fields, ()), link)
        for form in preset.metrics.values():
            if name in form.fields or name in form.open:
                for rule in _rules_of(name, form.fields, form.open):
                    rules.setdefault(rule, f"{link} (some metrics)")
        for rule, text in rules.items():
            by_rule.setdefault(rule, []).append(text)
    yield from ((rule, ", ".join(texts)) for rule, texts in by_rule.items())


def _rules_of(name: str, fields: Mapping[str, Any], is_open: Iterable[str]) -> Iterator[str]:
    """Yield the rule of a field, or "open" if the package leaves the order of ties open."""
    if name in fields:
        yield f"`{word(fields[name])}`"
    elif name == "ties" or name in is_open:
        yield "open"


def pairs_table(first: str, second: str, pairs: Iterable[tuple[str, str, str]]) -> str:
    """Return pairs of facts of a protocol, with the reasons."""
    rows = [[_fact(one), _fact(other), reason] for one, other, reason in pairs]
    return _table([first, second, "because"], rows)


def losses_table() -> str:
    """Return what each of podium's losses declares."""
    names = [
        name for name, loss in losses.REGISTRY.items() if loss.__module__.startswith("podium.")
    ]
    head = ["loss", "upper bound of", "convex", "smooth", "consistent for the top k", "source"]
    return _table(head, map(_declared, sorted(names)))


def _declared(name: str) -> list[str]:
    try:
        text, loss = name, losses.parse(name)
    except ArgumentError:  # it requires a cutoff
        text, loss = f"{name}@k", losses.parse(f"{name}@10")
    metric = loss.upper_bounds
    bound = f"1 − {metric}{'' if loss.k is None else '@k'}" if metric else "–"
    forms = ["yes" if holds else "no" for holds in (loss.convex, loss.smooth)]
    return [f"`{text}`", bound, *forms, *(loss.consistency or ("unknown", ""))]


def robust_plot() -> str:
    """Return the curves of RoBiRank's functions rho of the sum of a row's costs."""
    total = [0.1 * step for step in range(101)]
    labels = {"identity": "identity: t", 1: "type 1: log2(t + 1)", 2: "type 2: 1 - 1 / log2(t + 2)"}
    curves = [
        {
            "label": label,
            "x": total,
            "y": [value if (value := RHO[kind](t)) < 5 else None for t in total],
        }
        for kind, label in labels.items()
    ]
    text = {"x_label": "t, the sum of the costs of a row's pairs", "y_label": "rho(t)"}
    return to_svg(line_plot(curves, title="The cost of a relevant row", **text), background="white")


def _with_options(text: str) -> str:
    return re.sub(r"--[a-z-]+", lambda match: f"`{match[0]}`", text)


def _fact(text: str) -> str:
    """Return a fact, with its field and value as code."""
    return re.sub(r"^(no )?(\w+(=\w+)?)$", r"\1`\2`", text)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in ([*head], ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


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
        "api/index.rst": api_index(list(references)),
        "api/podium.rst": root_page(),
        **{f"api/{name}.rst": text for name, text in references.items()},
        "commands/index.md": commands_index(),
        **{
            f"commands/{name}.md": command_page(name, command)
            for name, command in program.commands.items()
            if not command.hidden
        },
        "protocol/fields.txt": fields_table(),
        "protocol/conventions.txt": conventions_table(),
        "protocol/exclusions.txt": pairs_table("field", "can't be combined with", EXCLUSIONS),
        "protocol/no-effect.txt": pairs_table("field", "has no effect on values with", NO_EFFECT),
        "losses/declared.txt": losses_table(),
        "losses/rho.svg": robust_plot(),
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
