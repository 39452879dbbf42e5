"""Options of estimate and plan that describe samples and columns; and reading their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from podium.cli._messages import Sets
from podium.cli._options import ColumnNames
from podium.errors import ArgumentError

if TYPE_CHECKING:
    from podium.sampled import SampleReader
    from podium.sampled.evaluating import Observations


@dataclass(frozen=True)
class Samples:
    """Options that describe how the items were sampled that each target was ranked among.

    Parameters
    ----------
    items : N
        Number of items to draw from, including the target: the size of the catalogue.
    negatives : N
        Number of items drawn in addition to each target. Default: the column n_negatives of RANKS.
        With SCORES, it is counted, and an error if it is not N.
    no_replacement
        Sample without replacement: no item is drawn twice.
    seen : PAIRS
        Table of pairs (user, item) that were never drawn, such as training data. The pairs of a
        user make the user's catalogue smaller than N. Candidates in PAIRS are an error.
    drop_seen
        Drop candidates that are in --seen. The others are then a sample of the smaller catalogue.
    """

    panel: ClassVar[str] = "Sampling"

    items: Annotated[int, Sets("n_items")]
    negatives: Annotated[int | None, Sets("n_negatives")] = None
    no_replacement: Annotated[bool, Sets("replacement", False)] = False
    seen: Path | None = None
    drop_seen: Annotated[bool, Sets("seen_candidates", "drop")] = False

    def reader(
        self, columns: SampleColumns, measures: Sequence[str], **reading: Any
    ) -> SampleReader:
        """Return a reader of files; the measures are to be estimated from them.

        `reading` are further arguments of `SampleReader`.
        """
        from podium import sampled

        return sampled.SampleReader(
            n_items=self.items,
            n_negatives=self.negatives,
            replacement=not self.no_replacement,
            seen=self.seen,
            seen_candidates="drop" if self.drop_seen else "error",
            columns=columns.names_by_role(),
            k=_largest_cutoff(measures),
            **reading,
        )


@dataclass(frozen=True)
class SampleColumns(ColumnNames):
    """The names of columns of ranks or scores; the user is optional in a file of ranks."""

    roles: ClassVar[tuple[str, ...]] = (
        *("user", "item", "score", "target", "rank", "history", "stratum"),
    )


def read_all(paths: Sequence[Path], reader: SampleReader) -> list[Observations]:
    """Read files of ranks or scores."""
    return [_read(path, reader) for path in paths]


def is_given(value: Any) -> bool:
    """Return whether an option without a default has this value because it was given.

    Examples
    --------
    >>> [is_given(value) for value in (None, False, True, 0, 0.0, "")]
    [False, False, True, True, True, True]
    """
    return value is not None and value is not False


def _largest_cutoff(names: Sequence[str]) -> int:
    """Return the largest cutoff of the measures, to which targets are followed; 1 without any."""
    from podium.metrics.measures import listed_measures
    from podium.sampled.distribution import read_measure

    return max((read_measure(name).k or 1 for name in listed_measures(names)), default=1)


def _read(path: Path, reader: SampleReader) -> Observations:
    from podium._arrays import holds_arrays

    if holds_arrays(path):
        raise ArgumentError(
            f"{path} is a model. Pass a table of ranks or scores. To rank all items with the "
            "model, use podium recommend and podium measure."
        )
    return reader.read(path)
