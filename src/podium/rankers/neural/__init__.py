"""A small neural network as a ranker, trained by torch, stored and evaluated as NumPy arrays."""

from podium.rankers.neural._ranker import NeuralRanker

__all__ = ["NeuralRanker"]
