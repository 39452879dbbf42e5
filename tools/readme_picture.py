"""Draw the README's picture from the results of `make demo`: python tools/readme_picture.py."""

import json
from pathlib import Path
from typing import Any

from podium.report import figures

ROOT = Path(__file__).resolve().parents[1]


def panels(evaluations: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a panel per measure with a row per method."""
    return [
        {"title": name, "rows": rows(evaluations, name)}
        for name in next(iter(evaluations.values()))["measures"]
    ]


def rows(evaluations: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return a row per method with its mean and interval."""
    return [figures.interval_row(m, e["measures"][name]) for m, e in evaluations.items()]


if __name__ == "__main__":
    results = json.loads((ROOT / "demo-report" / "results.json").read_text())
    svg = figures.grouped_intervals(
        panels(results["evaluations"]),
        title="Which 10 products next? Means over 1,642 customers, with 95 % intervals",
        share_axis=False,
        background="white",
    )
    (ROOT / "docs" / "images" / "demo.svg").write_text(svg)
