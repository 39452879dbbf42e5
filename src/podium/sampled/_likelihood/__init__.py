"""Sums of chances over a catalogue that is never stored, and what they make likely."""
