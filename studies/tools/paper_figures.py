"""Write the figures of recipes into the pages: python studies/tools/paper_figures.py [FOLDER ...].

A FOLDER is one that `podium reproduce` has written. Its figures are stored in studies/figures. The
pages have regions that this program writes: `<!-- claims: NAME -->`, `<!-- printed: NAME -->`,
`<!-- table: NAME/N -->` (table N of the recipe's page, from 0; it must not need the cells),
`<!-- recipes: PREFIX -->` or `<!-- tuned: MEASURE -->`, to the next `<!-- end -->`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

from podium.report import tables
from podium_studies import page, views
from podium_studies.recipe import load
from podium_studies.runner import study_of
from podium_studies.study import Measured, Recipe
from podium_studies.verdict import Verdict, judge

STUDIES = Path(__file__).resolve().parents[1]
FOLDER = STUDIES / "figures"
_NO_BREAK = "\N{NO-BREAK SPACE}"
_REGION = re.compile(
    r"(<!-- (claims|printed|recipes|table|tuned): (\S+) -->\n).*?(<!-- end -->)", re.S
)


def names() -> list[str]:
    """Return the recipes whose figures are stored."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def store(folder: Path) -> None:
    """Store the figures of the recipe in a folder of results."""
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    figures = {
        figure["figure"]: [figure["value"], figure["std_error"], figure["n"]]
        for figure in results["figures"]
    }
    text = ",\n".join(
        f"{json.dumps(k, ensure_ascii=False)}: {json.dumps(v)}" for k, v in figures.items()
    )
    file = FOLDER / f"{results['recipe']}.json"
    file.write_text("{\n" + text + "\n}\n", encoding="utf-8")


def _stored(recipe: Recipe) -> dict[str, Measured]:
    stored = json.loads((FOLDER / f"{recipe.name}.json").read_text(encoding="utf-8"))
    return {
        key: Measured(math.nan if value is None else value, math.nan if error is None else error, n)
        for key, (value, error, n) in stored.items()
    }


def verdict(recipe: Recipe) -> Verdict:
    """Return the verdict on a recipe's stored figures."""
    return judge(recipe, _stored(recipe))


def claims(name: str) -> str:
    """Return the claims of a recipe, with podium's figures and whether they hold."""
    found = verdict(load(name))
    heading = f"**{found.overall.capitalize()}.** {found.text}".strip()
    table = tables.to_markdown(page.claim_table(found.claims)) if found.claims else ""
    return f"{heading}\n\n{table}".rstrip()


def printed(name: str) -> str:
    """Return the printed figures of a recipe beside podium's."""
    return tables.to_markdown(page.figure_table(verdict(load(name)), printed_only=True))


def table(place: str) -> str:
    """Return a table of a recipe's page, from its stored figures."""
    name, _, number = place.partition("/")
    recipe = load(name)
    shown = page.shown(study_of(recipe), recipe, {}, _stored(recipe))
    written = (item for item in shown if "kind" not in item)
    return tables.to_markdown(next(islice(written, int(number), None)))


def recipes(prefix: str) -> str:
    """Return the verdicts on the recipes whose names begin with a prefix, or on all of them."""
    rows = [["recipe", "table or figure", "verdict", "counts"]]
    for name in names():
        if prefix == "all" or name.startswith(prefix):
            recipe = load(name)
            found = verdict(recipe)
            rows.append([name, recipe.where, found.overall, found.text])
    return tables.to_markdown({"columns": rows[0], "rows": rows[1:]})


def _signed(value: float) -> str:
    """Return four decimals with a sign; 0 has none."""
    text = f"{value:+.4f}".replace("-", "−")
    return text if float(f"{value:.4f}") else "0.0000"


def tuned(measure: str) -> str:
    """Return the recommenders tuned with equal budgets, with one column for each data set."""
    recipes = [load(name) for name in names() if name.startswith("topk-factorization-")]
    figures = {recipe.data[0].title.partition(",")[0]: _stored(recipe) for recipe in recipes}
    first, *others = recipes[0].parameters["methods"]

    def cell(name: str, column: Mapping[str, Measured]) -> str:
        level = f"{column[f'{name} {measure}'].value:.4f}"
        if name == first:
            return level
        gap = column[f"{first} − {name} {measure}"]
        difference = f"({_signed(gap.value)} ± {gap.half_width:.4f})"
        return f"{level} {difference.replace(' ', _NO_BREAK)}"

    return tables.to_markdown(views.table("", "method", [first, *others], figures, cell))


_WRITERS: dict[str, Callable[[str], str]] = {
    "claims": claims,
    "printed": printed,
    "recipes": recipes,
    "table": table,
    "tuned": tuned,
}


def rendered(text: str) -> str:
    """Return a page with its regions written anew."""

    def region(match: re.Match[str]) -> str:
        begin, kind, name, end = match.groups()
        return f"{begin}\n{_WRITERS[kind](name)}\n\n{end}"

    return _REGION.sub(region, text)


def pages() -> dict[Path, str]:
    """Return the new text of each page of the studies that has a region."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(STUDIES.rglob("*.md"))}
    return {path: rendered(text) for path, text in texts.items() if _REGION.search(text)}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for argument in sys.argv[1:]:
        store(Path(argument))
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
