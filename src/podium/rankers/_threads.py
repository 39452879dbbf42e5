"""How the threads of boosting libraries wait for each other."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

_POLICY = "OMP_WAIT_POLICY"


@contextmanager
def idle_threads_sleep() -> Generator[None]:
    """Let threads of libraries that are loaded meanwhile sleep while they wait for work.

    OpenMP's wait in a loop instead, for milliseconds, also while a loss is computed between two
    trees; on a busy machine, two threads so took several times as long as one.
    OpenMP reads the environment once, when it is loaded. What a user has set there stays.
    """
    given = _POLICY in os.environ
    os.environ.setdefault(_POLICY, "passive")
    try:
        yield
    finally:
        if not given:
            del os.environ[_POLICY]
