"""Write the pages of docs/coming-from from podium.presets: python -m tools.coming_from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

from podium import metrics, presets
from podium._grammar import word, write
from podium.presets import Form, Preset
from podium.report.conventions import as_option

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "coming-from"
TITLES = {
    "trec_eval": "trec_eval and pytrec_eval",
    "ir_measures": "ir_measures",
    "sklearn": "scikit-learn",
    "ranx": "ranx",
    "rectools": "RecTools",
    "recbole": "RecBole",
    "torchmetrics": "torchmetrics",
    "beir": "BEIR",
    "mteb": "MTEB",
    "sentence_transformers": "sentence-transformers",
    "haystack": "haystack",
    "llama_index": "LlamaIndex",
    "mlflow": "MLflow",
    "ragas": "Ragas",
    "deepeval": "DeepEval",
    "opensearch": "OpenSearch",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
}
PODIUM = {
    "ties": "worst",
    "undefined": "skip",
    "missing": "error",
    "unjudged": "negative",
    "unretrieved": "count",
    "single_precision": False,
    "score_above": None,
    "low_grades": "zero",
}
"""podium's defaults, with a threshold of positives."""

MEANINGS = {
    "ties": "order of equal scores",
    "undefined": "users for whom a measure is undefined",
    "missing": "users of the truth that the run lacks",
    "unjudged": "items of the run that the truth lacks",
    "unretrieved": "relevant items that the list lacks",
    "single_precision": "scores compared in single precision",
    "score_above": "items with this score or less are not retrieved",
    "low_grades": "grades below `min_relevance`, if it is passed",
}
EXAMPLES = ("ndcg", "ap", "precision", "recall")

_INDEX = """\
# Coming from another package

The same metric can have different values in different packages, even for the same lists. The page
of a package shows how it names its metrics, which conventions it has, and which command gives its
numbers. All pages are generated from `podium.presets`.

The table has the conventions of users and lists that are not the same in all packages. The pages
add those of single metrics, and the metrics that podium does not reproduce. "open" means that the
package does not define the order of equal scores, or has one that podium lacks. The last column is
the version that podium's tests compare with, or the commit whose source was read."""

_INDEX_END = """\
[Conventions](../conventions.md) explains the columns. [LightGBM and XGBoost](boosting.md) share a
page, because `--like` does not accept them.

Next: [why two numbers differ](../explain.md), if none of these packages made the other number."""

_START = """\
`--like` (in Python, `like=`) computes measures with the conventions of a package. Without it,
podium uses its own. [Conventions](../conventions.md) explains those in the tables.

`-m` reads podium's names of metrics, and many names of other packages, such as `map_cut_10`. A name
selects only the metric. The conventions of the package apply only with `--like`."""

_COMMAND = """\
This command gives the numbers of {title}. podium's tests compare its values with those of \
{package}:"""

_READ = """\
This command computes the formulas of {title}. They were read, and not run: {source}."""

_OPEN_TIES = """\
{title} does not define the order of items with equal scores: it can depend on the order of rows. \
podium ranks the relevant ones last, unless you pass `--ties`. If the order changes a mean, podium \
warns, and shows the values with relevant items last and first."""

_DIFFERENCES = """\
`podium explain truth.csv run.csv -m {example} --like {name}` shows the steps from podium's value \
to that of the package. With `--value X`, it searches for the conventions and faults that give the \
number X."""

_NEXT = "Next: [why two numbers differ](../explain.md), or all [conventions](../conventions.md)."

_BOOSTING = """\
LightGBM and XGBoost print ranking metrics while they train. This page shows how they compute them,
and which podium commands give the same numbers. The truth is a table of groups, items and labels.
The run is a table of groups, items and the model's scores.

`--like` does not accept these packages. Therefore each command states every convention that differs
from podium's own.

If groups have weights, both packages print weighted means. podium gives each group the same
weight."""

_COMMANDS = """\
These commands give the numbers of {title}. podium's tests compare its values with those of \
{package}:"""

_BOOSTING_END = "Next: [boosted trees on podium's losses](../boosting.md)."

_NOT_REPRODUCED = """\
podium does not reproduce these measures of {title}:"""


def page(file: str) -> str:
    """Return the page of a package, or of several packages, as Markdown."""
    of_page = [preset for preset in map(presets.read, TITLES) if preset.page == file]
    titles = " and ".join(TITLES[preset.name] for preset in of_page)
    sections = [part for preset in of_page for part in _section(preset)]
    differences = _DIFFERENCES.format(example=examples(of_page[0])[0], name=of_page[0].name)
    start, end = [_START], ["## If your numbers still differ", _paragraph(differences), _NEXT]
    if file == "boosting":
        start, end = [_BOOSTING], [_BOOSTING_END]
    return "\n\n".join([f"# Coming from {titles}", *start, *sections, *end]) + "\n"


def _section(preset: Preset) -> Iterator[str]:
    text = {"title": TITLES[preset.name], **vars(preset)}
    yield f"## {TITLES[preset.name]}"
    if preset.name in presets.PACKAGES:
        yield _paragraph((_READ if preset.source else _COMMAND).format(**text))
        yield command(examples(preset), f"--like {preset.name}")
    else:
        yield _paragraph(_COMMANDS.format(**text))
        yield from stated_commands(preset)
    yield rules_table(preset)
    if preset.note or "ties" not in preset.fields:
        yield _paragraph(preset.note or _OPEN_TIES.format(**text))
    yield names_table(preset)
    if preset.refused:
        yield _NOT_REPRODUCED.format(**text)
        yield refused_table(preset)


def _paragraph(text: str) -> str:
    return fill(text, 100, break_long_words=False, break_on_hyphens=False)


def examples(preset: Preset) -> list[str]:
    """Return measures of a package, each with a cutoff if it has one."""
    with_cutoff = {name: f"{name}@k" in preset.metrics for name in EXAMPLES}
    return [
        f"{name}@10" if is_cut else name
        for name, is_cut in with_cutoff.items()
        if is_cut or name in preset.metrics
    ]


def stated_commands(preset: Preset) -> Iterator[str]:
    """Yield a command for each set of conventions of a package, with options that state them."""
    by_options: dict[str, list[str]] = {}
    for key, form in preset.metrics.items():
        stated = options({**preset.fields, **form.fields})
        by_options.setdefault(stated, []).append(f"'{podium_text(key, form)}'")
    yield from (command(measures, stated) for stated, measures in by_options.items())


def options(rules: Mapping[str, Any]) -> str:
    """Return the options of the command line for the conventions that differ from podium's."""
    stated = [as_option(n, rules[n]) for n, v in PODIUM.items() if rules.get(n, v) != v]
    return " ".join(word for words in stated for word in words)


def index() -> str:
    """Return the page that compares the conventions of all packages, where they are not equal."""
    of_like = [presets.get(name) for name in presets.PACKAGES]
    every = [PODIUM, *(preset.fields for preset in of_like)]
    names = [name for name in MEANINGS if len({rules.get(name) for rules in every}) > 1]
    links = ["podium", *(f"[{TITLES[preset.name]}]({preset.page}.md)" for preset in of_like)]
    versions = ["", *(preset.package.partition(" ")[2] for preset in of_like)]
    rows = [
        [link, *(_rule(name, rules.get(name)) for name in names), version]
        for link, rules, version in zip(links, every, versions, strict=True)
    ]
    header = ["package", *(f"`{name}`" for name in names), "version"]
    return f"{_INDEX}\n\n{table(header, rows)}\n\n{_INDEX_END}\n"


def pages() -> dict[Path, str]:
    """Return the text of each page by its file."""
    files = {preset.page for preset in map(presets.read, TITLES)}
    return {FOLDER / "README.md": index(), **{FOLDER / f"{file}.md": page(file) for file in files}}


def command(measures: list[str], conventions: str) -> str:
    """Return a command that measures, as a block."""
    return f"```\n$ podium measure truth.csv run.csv -m {' -m '.join(measures)} {conventions}\n```"


def rules_table(preset: Preset) -> str:
    """Return the conventions of users and lists that differ from podium's."""
    theirs = preset.fields
    rows = [
        [f"`{name}`: {meaning}", _rule(name, PODIUM[name]), _rule(name, theirs.get(name))]
        for name, meaning in MEANINGS.items()
        if PODIUM[name] != theirs.get(name)
    ]
    return table(["convention", "podium", TITLES[preset.name]], rows)


def names_table(preset: Preset) -> str:
    """Return the package's names of metrics beside podium's, with the metrics' own conventions."""
    rows = [
        [f"`{form.name}`", f"`{podium_text(key, form)}`", *_of_metric(form)]
        for key, form in preset.metrics.items()
    ]
    return table([TITLES[preset.name], "podium", "only for this metric"], rows)


def podium_text(key: str, form: Form) -> str:
    """Return podium's text for a metric with the package's options, such as ap(norm=min)@10."""
    name, at, _ = key.partition("@")
    metric = metrics.REGISTRY.find(key, name) or metrics.SHOWN.find(key, name)
    known = {} if metric is None else metric.options
    different = {n: value for n, value in form.options.items() if known.get(n) != value}
    return write(name, different, 10 if at else None)


def _of_metric(form: Form) -> Iterator[str]:
    different = {**dict.fromkeys(form.open), **form.fields}
    rules = [f"`{name}`: {_rule(name, value)}." for name, value in different.items()]
    yield " ".join([*rules, *([form.note] if form.note else [])])


def refused_table(preset: Preset) -> str:
    """Return the measures that podium does not reproduce, with the reasons."""
    rows = [[f"`{name}`", reason] for name, reason in preset.refused.items()]
    return table(["measure", "reason"], rows)


def _rule(name: str, value: Any) -> str:
    if value is None:
        return "open" if name == "ties" else "none"
    return word(value)


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table of cells in Markdown, which report.tables would escape."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, content in pages().items():
        file.write_text(content, encoding="utf-8")
