"""Fuzzing with damaged files, odd options and odd arrays: see `python -m tests.fuzz --help`."""
