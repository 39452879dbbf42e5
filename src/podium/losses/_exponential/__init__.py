"""Exponentials of many differences at once: the greatest cost of the listwise losses."""
