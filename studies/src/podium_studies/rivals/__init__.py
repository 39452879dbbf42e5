"""Recommenders of other packages, which the papers' tables compare with, as podium's models."""
