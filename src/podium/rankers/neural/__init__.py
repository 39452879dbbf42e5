"""A small neural network as a ranker: trained by torch, stored and scored as NumPy arrays."""

from podium.rankers.neural._ranker import NeuralRanker

__all__ = ["NeuralRanker"]
