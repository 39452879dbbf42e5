"""The command podium demo: from purchases to a decision, on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli import _messages, _render
from podium.cli._messages import progress


def demo(
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
) -> None:
    """Recommend products to the customers of a shop: split, train, rank, audit, and decide.

    The data (Online Retail) are bundled: nothing is downloaded. It takes less than a minute.

    Parameters
    ----------
    out : DIR
        Folder to write an HTML report, the tables and the runs to. Default: no files.
    """
    from podium.demo import PAGE, run
    from podium.demo.page import summary
    from podium.report.views import wrapped

    with progress("demo") as show:
        result = run(out, progress=show)
    _render.write_line(f"{result.gate}\n\n{wrapped(summary(result))}")
    if out is not None:
        _messages.say(f"wrote {out / PAGE}")
