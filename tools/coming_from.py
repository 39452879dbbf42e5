"""Write the pages of docs/coming-from from podium.presets: python -m tools.coming_from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from podium import metrics, presets
from podium.presets import Form, Preset, UsersAndLists

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "coming-from"
TITLES = {
    "trec_eval": "trec_eval and pytrec_eval",
    "ir_measures": "ir_measures",
    "sklearn": "scikit-learn",
    "ranx": "ranx",
    "rectools": "RecTools",
    "recbole": "RecBole",
    "torchmetrics": "torchmetrics",
}
PODIUM = UsersAndLists(ties="worst", undefined="skip", missing="error")
"""podium's defaults."""

MEANINGS = {
    "ties": "order of equal scores",
    "undefined": "users for whom a measure is undefined",
    "missing": "users of the truth that the run lacks",
    "unjudged": "items of the run that the truth lacks",
    "unretrieved": "relevant items that the list lacks",
    "single_precision": "scores compared in single precision",
    "score_above": "only items with a higher score are retrieved",
}
EXAMPLES = ("ndcg@10", "ap@10", "precision@10", "recall@10")


def page(name: str) -> str:
    """Return the page of a package as Markdown."""
    preset = presets.get(name)
    parts = [
        f"# Coming from {TITLES[name]}",
        f"This page is for users of {TITLES[name]}. It lists the names, the conventions and the "
        f"differences. The tests compare podium with {preset.package}. It is generated from "
        f"`podium.presets.{name}`.",
        _command(preset),
        "## Conventions",
        f"`--like {name}` (in Python, `like={name!r}`) sets these conventions. Without it, podium "
        "uses its own; [conventions](../conventions.md) explains both.",
        _rules_table(preset),
        *_open_ties(preset),
        "## Names",
        "A name alone only selects the metric: `podium measure -m` accepts podium's names and "
        "those of other packages, but their conventions apply only with `--like`.",
        _names_table(preset),
        *_refused(preset),
        "## Where your numbers still differ",
        f"`podium explain truth.csv run.csv -m {_example(preset)} --like {name}` shows the steps "
        f"from podium's value to that of {TITLES[name]}, and `--value X` searches the conventions "
        "that give the number X.",
    ]
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """Return the page that compares the conventions of all packages."""
    names = list(presets.PACKAGES)
    header = ["convention", "podium", *(f"[{TITLES[n]}]({n}.md)" for n in names)]
    rows = [
        [f"{name}: {meaning}", *(_rule(rules(n)[name]) for n in (None, *names))]
        for name, meaning in MEANINGS.items()
    ]
    return (
        "\n\n".join(
            [
                "# Coming from another package",
                "The same metric can have different values in different packages, even for the same "
                "lists. Each page shows the names and the conventions of a package, and the command "
                "that gives its numbers. This table shows the conventions of users and lists; the "
                "pages also have those of single metrics. It is generated from `podium.presets`.",
                _table(header, rows),
            ]
        )
        + "\n"
    )


def rules(name: str | None) -> dict[str, Any]:
    """Return the conventions of users and lists of a package, or of podium."""
    return asdict(PODIUM if name is None else presets.get(name).conventions)


def pages() -> dict[Path, str]:
    """Return the text of each page by its file."""
    texts = {FOLDER / f"{name}.md": page(name) for name in presets.PACKAGES}
    return {FOLDER / "README.md": index(), **texts}


def _example(preset: Preset) -> str:
    names = [text.replace("@10", "@k") for text in EXAMPLES]
    return next(n for n in names if n in preset.metrics).replace("@k", "@10")


def _command(preset: Preset) -> str:
    chosen = [text for text in EXAMPLES if text.replace("@10", "@k") in preset.metrics]
    options = " ".join(f"-m {text}" for text in chosen)
    return f"```\n$ podium measure truth.csv run.csv {options} --like {preset.name}\n```"


def _rules_table(preset: Preset) -> str:
    mine, theirs = asdict(PODIUM), asdict(preset.conventions)
    rows = [
        [f"`{name}`: {meaning}", _rule(mine[name]), _rule(theirs[name])]
        for name, meaning in MEANINGS.items()
        if mine[name] != theirs[name]
    ]
    return _table(["convention", "podium", TITLES[preset.name]], rows)


def _open_ties(preset: Preset) -> Iterator[str]:
    if preset.conventions.ties is None:
        yield (
            f"{TITLES[preset.name]} leaves the order of equal scores open, so that it can change "
            "with the order of rows. podium then ranks relevant items last, unless you pass "
            "`--ties`, and warns if this matters, with both extreme values."
        )


def _names_table(preset: Preset) -> str:
    rows = [
        [f"`{form.name}`", f"`{_podium_text(key, form)}`", _of_metric(form), form.note]
        for key, form in preset.metrics.items()
    ]
    return _table([TITLES[preset.name], "podium", "conventions of this metric", "note"], rows)


def _podium_text(key: str, form: Form) -> str:
    """Return podium's text for a metric with the package's options, such as ap(norm=min)@10."""
    name, at, _ = key.partition("@")
    metric = metrics.REGISTRY.find(key, name) or metrics.SHOWN.find(key, name)
    known = {} if metric is None else metric.options
    options = {n: v for n, v in form.options.items() if known.get(n) != v}
    inside = ",".join(f"{n}={v}" for n, v in options.items())
    return f"{name}{f'({inside})' if inside else ''}{f'{at}10' if at else ''}"


def _of_metric(form: Form) -> str:
    return ", ".join(f"{name}: {_rule(value)}" for name, value in form.conventions.items())


def _refused(preset: Preset) -> Iterator[str]:
    if preset.refused:
        yield "## What podium refuses"
        rows = [[f"`{name}`", reason] for name, reason in preset.refused.items()]
        yield _table(["measure", "reason"], rows)


def _rule(value: Any) -> str:
    if value is None:
        return "open"
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")
