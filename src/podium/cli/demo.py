"""The command podium demo: train and compare rankers on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli import _messages
from podium.cli._messages import progress


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder to write an HTML report, the truth and the runs to. Default: no files.",
        ),
    ] = None,
) -> None:
    """Rank products for the customers of a shop, and compare learned models with baselines.

    The data (Online Retail) are bundled: nothing is downloaded. It takes about a minute.
    """
    from podium.cli import _render
    from podium.demo import run

    with progress("demo") as show:
        result = run(out, progress=show)
    _render.table(result["table"], note=result["verdict"])
    if "path" in result:
        _messages.say(f"wrote {result['path']}")
