"""Blocks of items: their factors, which move between the workers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.recommenders._pairs import Floats
from podium.recommenders.factorization._plan import Blocks

_LINE = 64  # bytes of a cache line


@dataclass(frozen=True, eq=False)
class Block:
    """The factors and biases of some items, in the order of their places."""

    rows: Floats
    bias: Floats

    def is_sound(self, largest: float) -> bool:
        """Return whether the biases are finite and all factors are between -largest and largest."""
        return are_below(largest, self.rows) and are_below(np.inf, self.bias)

    def writeable(self) -> Block:
        """Return the block itself, or a copy if its memory is read-only."""
        if self.rows.flags.writeable and self.bias.flags.writeable:
            return self
        return Block(aligned_copy(self.rows), self.bias.copy())


def aligned(n_rows: int, width: int) -> Floats:
    """Return float32 rows that begin at a cache line, so that a row takes fewer fetches."""
    n_bytes = n_rows * width * 4
    memory = np.empty(n_bytes + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + n_bytes].view(np.float32).reshape(n_rows, width)


def aligned_copy(rows: Floats) -> Floats:
    """Return a copy of the rows that begins at a cache line."""
    copy = aligned(*rows.shape)
    copy[:] = rows
    return copy


def are_below(largest: float, values: Floats) -> bool:
    """Return whether all values are between -largest and largest; nan is not."""
    return bool(-largest < values.min(initial=0.0) and values.max(initial=0.0) < largest)


def regrouped(
    number: int, layout: Blocks, old_layout: Blocks, old_blocks: tuple[Block, ...]
) -> Block:
    """Return a block of a layout; its items are gathered from the blocks of the previous layout."""
    items = layout.items()[number]
    old_block_numbers = old_layout.block_of[items]
    rows = aligned(items.size, old_blocks[0].rows.shape[1])
    bias = np.empty(items.size, np.float32)
    for b, block in enumerate(old_blocks):
        positions = np.flatnonzero(old_block_numbers == b)
        place = old_layout.place[items[positions]] - int(old_layout.bounds[b])
        rows[positions], bias[positions] = block.rows[place], block.bias[place]
    return Block(rows, bias)


def unit_rows(rows: Floats) -> Floats:
    """Return the rows divided by their lengths; a row of zeros stays as it is."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    units = aligned(*rows.shape)
    np.divide(rows, np.where(lengths > 0.0, lengths, 1.0)[:, None], out=units)
    return units


def mean_direction(rows: Floats) -> Floats:
    """Return the direction of the mean of the unit rows; zeros if there is none."""
    return unit_rows(unit_rows(rows).mean(axis=0, dtype=np.float64)[None].astype(np.float32))[0]


def directed(rows: Floats, direction: Floats) -> Floats:
    """Write a direction into the rows of zeros, and return the rows."""
    rows[~rows.any(axis=1)] = direction
    return rows
