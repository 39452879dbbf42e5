"""Sampled ranks, candidates and seen items from tables and files."""
