"""Executors: who does the tasks of a fit, and how many at a time.

An executor has three verbs: ``put`` a value where all tasks find it, ``map`` a function over
tasks, ``get`` a value back. How many workers there are never changes a result: a fit divides its
work by the data's shape, and seeds each task by what the task is.
"""

from podium.executors._local import Threads
from podium.executors._protocol import Executor

__all__ = ["Executor", "Threads"]
