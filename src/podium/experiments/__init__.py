"""Experiments: recipes that compose all of podium."""
