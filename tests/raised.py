"""Errors and warnings in tests: their class, and the parameters that their messages name."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from podium.errors import PodiumError, PodiumWarning


@contextmanager
def raises(
    kind: type[PodiumError], *parameters: str
) -> Generator[pytest.ExceptionInfo[PodiumError]]:
    """Assert that the block raises exactly this class, about these parameters."""
    with pytest.raises(kind) as caught:
        yield caught
    assert (caught.type, caught.value.parameters) == (kind, parameters), caught.value


@contextmanager
def warns(kind: type[PodiumWarning], *parameters: str) -> Generator[None]:
    """Assert that the block gives a warning of this class, about these parameters."""
    with pytest.warns(kind) as caught:
        yield
    messages = [warning.message for warning in caught]
    named = [(type(m), m.parameters) for m in messages if isinstance(m, PodiumWarning)]
    assert (kind, parameters) in named, messages
