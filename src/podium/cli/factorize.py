"""The former command podium factorize, which names the one that took its place."""

from __future__ import annotations

import typer

from podium.errors import ArgumentError

SETTINGS: dict[str, object] = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "help_option_names": [],
}


def factorize(context: typer.Context) -> None:
    """Name podium train --model factorization."""
    del context
    raise ArgumentError(
        "podium factorize is now podium train --model factorization. Its --factors, --epochs, "
        "--negatives-per-pair and --blocks are --set n_factors=N, --set n_epochs=N, "
        "--set n_negatives=N and --set n_blocks=N; the other options are the same."
    )
