"""The command podium protocol, which prints the protocol that is in force."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli import _render
from podium.cli._protocol import Columns, Scoring
from podium.errors import ArgumentError


def protocol(
    *,
    truth: Annotated[Path | None, typer.Argument()] = None,
    run: Annotated[Path | None, typer.Argument()] = None,
    scoring: Scoring,
    columns: Columns,
) -> None:
    """Print the protocol in force as a file in TOML, with a comment for each field.

    To begin a file: podium protocol --like trec_eval > podium.toml. With TRUTH and RUN, the comment
    of each convention says for how many users another rule would change a measure.

    Parameters
    ----------
    truth : TRUTH
        Truth, to count the users that each field touches.
    run : RUN
        Run, for the same.
    """
    from podium.evaluation.touched import touched_users

    if truth is not None and run is None:
        raise ArgumentError("TRUTH requires RUN. Pass both, or neither.")
    in_force = scoring.in_force(columns, ["ndcg@10"])
    notes = {} if truth is None else touched_users(truth, run, in_force)
    _render.write_line(in_force.to_toml(notes).rstrip("\n"))
    scoring.say(in_force)
