"""Polars' threads. What uses them calls `POLARS.enter` first: see `podium._forks`.

They read and write files, collect lazy frames, sort, filter and look into texts. Types of columns
are converted, and strings are numbered, without them.
"""

from podium._forks import Pool, thread_named

POLARS = Pool("Polars", lambda: thread_named("polars-0"))
