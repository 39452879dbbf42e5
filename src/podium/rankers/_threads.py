"""A context in which the threads of boosting libraries sleep while they wait for work."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

_POLICY = "OMP_WAIT_POLICY"


@contextmanager
def idle_threads_sleep() -> Generator[None]:
    """Make the threads of libraries that are loaded in this context sleep while they wait.

    By default, OpenMP threads spin for milliseconds, also while a loss is computed between two
    trees; on a busy machine two threads then took several times as long as one. OpenMP reads the
    environment once, when it is loaded. A value that the user has set there is kept.
    """
    was_set = _POLICY in os.environ
    os.environ.setdefault(_POLICY, "passive")
    try:
        yield
    finally:
        if not was_set:
            del os.environ[_POLICY]
