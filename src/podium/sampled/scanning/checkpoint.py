"""Checkpoints of scans: the counts in a file that is replaced after each round."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from podium._arrays import check_arrays, read_arrays, write_arrays
from podium.errors import ArgumentError, DataError, arg
from podium.sampled._draws import DrawPlan
from podium.sampled.scanning.order import ProxyOrder
from podium.sampled.scanning.ranks import Counts

_KIND, _FORMAT = "podium_scan_checkpoint", 1


class ScanCheckpoint:
    """A file with the counts of a scan, and with data that identify the scan.

    The scores of the model are not part of the identity: resume only with the same model.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        plan: DrawPlan,
        order: ProxyOrder,
        settings: Mapping[str, Any],
    ) -> None:
        self._path, self._n_targets = path, plan.targets.size
        digest = blake2b(digest_size=16)
        hidden = plan.hidden
        drawing = (plan.keys, plan.rows, plan.targets, plan.n_items, hidden.offsets, hidden.items)
        for array in (*drawing, order.lists):
            digest.update(np.ascontiguousarray(array).tobytes())
        self._identity = {**settings, "data": digest.hexdigest()}

    def write(self, counts: Counts) -> None:
        """Replace the file by one with these counts."""
        write_arrays(self._path, _KIND, _FORMAT, counts._asdict(), {"of": self._identity})

    def read(self) -> Counts | None:
        """Return the counts in the file, or None if there is no file.

        Raises
        ------
        DataError
            If the file belongs to another scan or is damaged.
        """
        if not os.path.lexists(self._path):
            return None
        header, arrays = read_arrays(self._path, _KIND, _FORMAT, noun="checkpoint")
        if header.get("of") != self._identity:
            raise DataError(
                f"checkpoint {os.fspath(self._path)} belongs to a scan with other targets, lists, "
                "excluded items or options. Pass another path, or start again without "
                f"{arg.resume}."
            )
        try:
            check_arrays(arrays, dict.fromkeys(Counts._fields, ((self._n_targets,), np.int64)))
        except ArgumentError as error:
            raise DataError(
                f"checkpoint {os.fspath(self._path)} is damaged ({error}). "
                f"Start again without {arg.resume}."
            ) from None
        return Counts(*(arrays[name] for name in Counts._fields))
