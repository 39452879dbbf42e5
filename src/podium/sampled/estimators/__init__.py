"""Estimators of the rank's distribution, one file each; `registry` makes them from a text."""
