"""Distributions of ranks that fit what was observed, and proofs that none is beyond."""
