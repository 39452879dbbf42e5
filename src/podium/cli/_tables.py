"""Options of large work: a Ray cluster, the limit of memory, and files of the results."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from podium import _check
from podium.cli import _messages, _reports
from podium.cli._messages import Sets
from podium.cli._options import FORMATS, WRITTEN, Format, check_target, is_folder_target
from podium.cli._reports import ReportFile
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.data.storage import Storage
    from podium.executors import Executor
    from podium.protocol import Protocol


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
class LargeTables(Cluster):
    """Options for tables that are larger than memory, or that a cluster measures.

    Parameters
    ----------
    memory : SIZE
        Memory for tables, such as 4GiB. Parquet and Arrow tables that need more are measured in
        parts, with the same values. Default: half of the available memory.
    """

    panel: ClassVar[str] = "Large tables"

    memory: str | None = None

    @contextmanager
    def storage(self, title: str) -> Generator[Storage]:
        """Yield the limit of memory, with the executor and a progress bar."""
        from podium.data.storage import Storage

        with self.executor() as executor, _messages.progress(title, unit="rows") as show:
            yield Storage(self.memory, executor=executor, progress=show)


@dataclass(frozen=True)
class Output:
    """Options of the printed result and of further files.

    Parameters
    ----------
    per_user : FILE
        File to write the values of every user to; its suffix gives the format (.parquet, .csv,
        .tsv, .arrow). A new folder such as values/ receives parquet files of a million users each.
    """

    panel: ClassVar[str] = "Output"

    format: Format = "table"
    report: ReportFile = None
    per_user: Annotated[Path | None, WRITTEN] = None

    def check(self) -> None:
        """Refuse a format or a file that is not possible, before anything is computed."""
        _check.choice(self.format, "--format", FORMATS)
        _reports.check(self.report)
        check_target(self.per_user, "--per-user", or_folder=True)

    def write_per_user(self, columns: Mapping[str, Any]) -> None:
        """Write the values of every user, if that was requested."""
        from podium import data

        if self.per_user is not None:
            write = data.write_parts if is_folder_target(self.per_user) else data.write_table
            write(columns, self.per_user)


def check_labels(path: Path | None, protocol: Protocol) -> None:
    """Refuse a file of items to judge that can't be written, or that nothing would be in."""
    check_target(path, "--labels")
    if path is not None and protocol.unjudged != "bounds":
        raise ArgumentError(
            "--labels requires --unjudged bounds, which finds the items to judge. Add it, or leave "
            "out --labels."
        )
