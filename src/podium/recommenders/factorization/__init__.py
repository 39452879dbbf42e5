"""Factorization: vectors of users and items whose products rank, learned by ranking losses.

A positive is compared with randomly drawn items, and the loss gives most weight to the top of the
list. Users and items are divided into blocks that share nothing, so that the factors do not depend
on the number of workers. The model is `podium.recommenders.Factorization`, and its losses are in
`LOSSES`.
"""

from podium.recommenders.factorization._losses import LOSSES, FactorLoss

__all__ = ["LOSSES", "FactorLoss"]
