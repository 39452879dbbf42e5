"""Options of how a command works: on a Ray cluster, after an interruption."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from podium import _check
from podium.cli._messages import Sets
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.executors import Executor


@dataclass(frozen=True)
class Cluster:
    """Options of the cluster.

    Parameters
    ----------
    ray : ADDRESS|local
        Address of the Ray cluster to work on, or local to start Ray on this machine.
    workers : N
        Number of workers with --ray. Default: the number of processors of the cluster.
    """

    panel: ClassVar[str] = "Execution"

    ray: Annotated[str | None, Sets("executor"), Sets("address")] = None
    workers: Annotated[int | None, Sets("n_workers")] = None

    @contextmanager
    def executor(self) -> Generator[Executor | None]:
        """Yield the executor of the cluster; None without --ray."""
        _check.cutoff(self.workers, name="--workers", required=False)
        if self.ray is None:
            if self.workers is not None:
                raise ArgumentError("--workers needs --ray. Without Ray, all processors are used.")
            yield None
            return
        from podium.executors import Ray

        with Ray(self.ray, n_workers=self.workers) as cluster:
            yield cluster


@dataclass(frozen=True)
class Work(Cluster):
    """Options of the cluster, and of resuming an interrupted fit.

    Parameters
    ----------
    resume
        Continue an interrupted fit from MODEL.checkpoint, or an interrupted search from
        MODEL.search. The model is the same as without the interruption.
    """

    resume: bool = False
