"""Write the pages of docs/coming-from from podium.presets: python -m tools.coming_from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
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
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
}
BOOSTING = (presets.read("lightgbm"), presets.read("xgboost"))
"""The packages that are no values of `like`."""

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
EXAMPLES = ("ndcg@10", "ap@10", "precision@10", "recall@10")

_INDEX = """\
# Coming from another package

The same metric can have different values in different packages, even for the same lists. The page
of a package shows how it names its metrics, which conventions it has, and which command gives its
numbers. All pages are generated from `podium.presets`.

[LightGBM and XGBoost](boosting.md) share a page, because `--like` does not accept them.

The table compares the conventions of users and lists. The pages add the conventions of single
metrics. "open" means that the package does not define the order."""

_NEXT = "Next: [why two numbers differ](../explain.md), or all [conventions](../conventions.md)."
_START = """\
# Coming from {title}

This page shows the names and the definitions of {title}'s metrics, and where podium differs.
podium's tests compare its values with those of {package}.

This command gives the numbers of {title}:"""

_CONVENTIONS = """\
## Conventions

`--like {name}` (in Python, `like="{name}"`) sets these conventions. Without it, podium uses its
own. [Conventions](../conventions.md) explains each of them."""

_OPEN_TIES = """\
{title} does not define the order of items with equal scores: it can depend on the order of rows.
podium ranks the relevant ones last, unless you pass `--ties`. If the order changes a mean, podium
warns, and shows the values with relevant items last and first."""

_NAMES = """\
## Names

`podium measure -m` also accepts the names that other packages give to metrics. A name selects only
the metric. The conventions of the package apply only with `--like`."""

_DIFFERENCES = """\
## If your numbers still differ

`podium explain truth.csv run.csv -m {example} --like {name}` shows the steps from podium's value to
that of {title}. With `--value X`, it searches for the conventions that give the number X.
"""

_BOOSTING = """\
# Coming from LightGBM and XGBoost

LightGBM and XGBoost print ranking metrics while they train. This page shows how they compute them,
and which podium commands give the same numbers. The truth is a table of groups, items and labels.
The run is a table of groups, items and the model's scores.

`--like` does not accept these packages. Therefore each command states every convention that differs
from podium's own. podium's tests compare its values with those of {packages}.

If groups have weights, both packages print weighted means. podium gives each group the same
weight."""

_BOOSTING_TIES = """\
{title} keeps items with equal scores in the order of their rows. podium ignores the order of rows.
It ranks the relevant ones last, unless you pass `--ties`."""

_NOT_REPRODUCED = """\
podium does not reproduce these measures of {title}:"""


def page(name: str) -> str:
    """Return the page of a package as Markdown."""
    preset = presets.get(name)
    text = {"title": TITLES[name], "name": name, "package": preset.package}
    chosen = [example for example in EXAMPLES if example.replace("@10", "@k") in preset.metrics]
    parts = [
        _START.format(**text),
        command(chosen, f"--like {name}"),
        _CONVENTIONS.format(**text),
        rules_table(preset),
        *([_OPEN_TIES.format(**text)] if "ties" not in preset.fields else []),
        _NAMES,
        names_table(preset),
        *refused(preset),
        _DIFFERENCES.format(**text, example=chosen[0]),
        _NEXT,
    ]
    return "\n\n".join(parts) + "\n"


def boosting() -> str:
    """Return the page of LightGBM and XGBoost, whose commands state the conventions."""
    packages = " and ".join(preset.package for preset in BOOSTING)
    sections = [part for preset in BOOSTING for part in _boosting_section(preset)]
    end = "Next: [boosted trees on podium's losses](../boosting.md)."
    return "\n\n".join([_BOOSTING.format(packages=packages), *sections, end]) + "\n"


def _boosting_section(preset: Preset) -> Iterator[str]:
    yield f"## {TITLES[preset.name]}"
    yield from stated_commands(preset)
    yield rules_table(preset)
    yield _BOOSTING_TIES.format(title=TITLES[preset.name])
    yield names_table(preset)
    yield _NOT_REPRODUCED.format(title=TITLES[preset.name])
    yield refused_table(preset)


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
    """Return the page that compares the conventions of all packages."""
    names = list(presets.PACKAGES)
    header = ["convention", "podium", *(f"[{TITLES[name]}]({name}.md)" for name in names)]
    all_rules = [PODIUM, *(presets.get(name).fields for name in names)]
    rows = [
        [f"`{name}`: {meaning}", *(_rule(name, rules.get(name)) for rules in all_rules)]
        for name, meaning in MEANINGS.items()
    ]
    return f"{_INDEX}\n\n{table(header, rows)}\n\n{_NEXT}\n"


def pages() -> dict[Path, str]:
    """Return the text of each page by its file."""
    texts = {FOLDER / f"{name}.md": page(name) for name in presets.PACKAGES}
    return {FOLDER / "README.md": index(), FOLDER / "boosting.md": boosting(), **texts}


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


def refused(preset: Preset) -> Iterator[str]:
    """Yield the measures that podium does not reproduce, if there are any."""
    if preset.refused:
        yield "## What podium refuses"
        yield refused_table(preset)


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
