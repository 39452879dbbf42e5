"""Whole rankings of users whose targets share a sample: every measure, with all their targets."""
