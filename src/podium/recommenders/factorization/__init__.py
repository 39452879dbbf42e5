"""Factorization: vectors of users and items whose products rank, learned by ranking losses.

`RoBiRank` compares what a user likes with items drawn at random, and bends the loss so that the
top of the list counts. Users and items are divided into blocks that share nothing, so that any
number of workers finds the same factors.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.recommenders.factorization._robirank import RoBiRank

__all__ = ["RoBiRank"]


def __getattr__(name: str) -> Any:
    """Load a model when it is asked for: a worker needs only what a part of one needs."""
    if name == "RoBiRank":
        from podium.recommenders.factorization._robirank import RoBiRank

        return RoBiRank
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
