"""Factorization: vectors of users and items whose products rank, learned by ranking losses.

`RoBiRank` compares what a user likes with items drawn at random, and bends the loss so that the
top of the list counts. Users and items are divided into blocks that share nothing, so that any
number of workers finds the same factors.
"""

from podium.factorization._robirank import RoBiRank

__all__ = ["RoBiRank"]
