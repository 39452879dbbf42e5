"""Options of commands that can work on a Ray cluster."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from podium.cli._options import Sets

if TYPE_CHECKING:
    from podium.executors import Executor


@dataclass(frozen=True)
class Cluster:
    """Options of the cluster."""

    panel: ClassVar[str] = "Execution"

    ray: Annotated[
        str | None,
        Sets("executor"),
        Sets("address"),
        typer.Option(
            metavar="ADDRESS|local",
            help="Address of the Ray cluster to work on, or local to start Ray on this machine.",
        ),
    ] = None
    workers: Annotated[
        int | None,
        Sets("n_workers"),
        typer.Option(
            metavar="N",
            help="Number of workers with --ray. Default: the number of processors of the cluster.",
        ),
    ] = None

    def check(self) -> None:
        """Refuse a number of workers that is wrong or has no effect."""
        from podium import _check
        from podium.errors import ArgumentError

        if self.ray is None and self.workers is not None:
            raise ArgumentError("--workers needs --ray. Without Ray, all processors are used.")
        _check.cutoff(self.workers, name="--workers", required=False)

    @contextmanager
    def executor(self) -> Generator[Executor | None]:
        """Yield the executor of the cluster; None without --ray."""
        if self.ray is None:
            yield None
            return
        from podium.executors import Ray

        with Ray(self.ray, n_workers=self.workers) as cluster:
            yield cluster
