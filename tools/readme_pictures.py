"""Make the README's pictures by Chromium: `make demo`, then python tools/readme_pictures.py."""

import html
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import podium

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "demo-report"
IMAGES = ROOT / "docs" / "images"
CELL = """import podium

runs = {"EASE": "run-ease.parquet", "ranker": "run-pap-10-ranker.parquet"}
podium.compare("truth.parquet", runs, ["pap@10", "ndcg@10"])"""
STYLE = """body { margin: 16px; background: white; font: 14px sans-serif; }
pre { background: #f7f7f7; border: 1px solid #ddd; padding: 8px 12px; margin: 0 0 12px;
      font: 13px/1.4 monospace; }"""


def notebook_cell() -> str:
    """Return a page with a cell and what a notebook shows below it."""
    runs = {"EASE": REPORT / "run-ease.parquet", "ranker": REPORT / "run-pap-10-ranker.parquet"}
    result = podium.compare(REPORT / "truth.parquet", runs, ["pap@10", "ndcg@10"])
    shown = result._repr_html_()  # pyright: ignore[reportPrivateUsage]
    return f"<!doctype html><style>{STYLE}</style><pre>{html.escape(CELL)}</pre>{shown}"


def picture(page: Path, size: str, out: Path) -> None:
    """Write a picture of the top of a page, in light colours and twice the resolution."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("The pictures need Chromium.")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    options += ["--force-device-scale-factor=1.5", f"--window-size={size}"]
    subprocess.run([chromium, *options, f"--screenshot={out}", page.as_uri()], check=True)


if __name__ == "__main__":
    picture(REPORT / "report.html", "860,1010", IMAGES / "report.png")
    with tempfile.TemporaryDirectory() as folder:
        cell = Path(folder) / "cell.html"
        cell.write_text(notebook_cell(), encoding="utf-8")
        picture(cell, "860,480", IMAGES / "notebook.png")
