"""A folder of parquet files that a long command fills, and continues after an interruption."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium._files import replacing
from podium.data.appending import write_table, writing
from podium.errors import DataError

_JOB = "_job.json"  # readers of folders leave out names that begin with "_"


class PartFolder:
    """Writes the parts of a table, and gives the folder its name when all of them are there.

    Until then, finished parts are in a folder beside it with the suffix .partial. The same job
    finds them there. An error before the first part leaves no folder.

    Parameters
    ----------
    target : Path
        The folder, which must not exist.
    job : mapping of str to value
        Everything that the rows depend on, as JSON values.

    Raises
    ------
    DataError
        If the folder exists or can't be written, or the parts are those of another job.

    Examples
    --------
    >>> with PartFolder(Path("lists"), {"k": 10}) as folder:  # doctest: +SKIP
    ...     if not folder.has(0):
    ...         folder.write(0, {"user": [1], "item": [7]})
    """

    def __init__(self, target: Path, job: Mapping[str, Any]) -> None:
        self._target, self._job = target, dict(job)
        self._place = target.with_name(f"{target.name}.partial")

    def __enter__(self) -> PartFolder:
        if self._target.exists():
            raise DataError(f"{self._target} exists. Remove it, or pass another folder.")
        with writing(self._target):
            self._place.mkdir(exist_ok=True)
            if (self._place / _JOB).exists():
                self._refuse_other_job()
            else:
                with replacing(self._place / _JOB) as file:
                    file.write_text(json.dumps(self._job), encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            if not any(self._place.glob("part-*.parquet")):  # no part is finished
                shutil.rmtree(self._place, ignore_errors=True)
            return
        with writing(self._target):
            (self._place / _JOB).unlink()
            self._place.rename(self._target)

    def has(self, number: int) -> bool:
        """Return whether a part has been written."""
        return self._part(number).exists()

    def write(self, number: int, columns: Mapping[str, Any]) -> None:
        """Write a part, completely or not at all."""
        write_table(columns, self._part(number))

    def _part(self, number: int) -> Path:
        return self._place / f"part-{number:05}.parquet"

    def _refuse_other_job(self) -> None:
        job: Any = json.loads((self._place / _JOB).read_text(encoding="utf-8"))
        names = [name for name, value in self._job.items() if job.get(name) != value]
        if not names:
            return
        raise DataError(
            f"{self._place} has parts of a command with another {' and '.join(names)}. Remove it, "
            "repeat that command, or pass another folder."
        )
