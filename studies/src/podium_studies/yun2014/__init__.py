"""RoBiRank: the loss with features on LETOR, and the factorization on MovieLens-1M and at scale."""
