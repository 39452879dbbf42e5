"""Damaged files, odd options and odd arrays for every command: `python -m tests.fuzz --help`."""
