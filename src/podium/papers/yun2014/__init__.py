"""RoBiRank: the loss from features on LETOR, and factors on MovieLens-1M and at scale."""
