from contextlib import AbstractContextManager
from typing import Any

def threadpool_limits(
    limits: int | None = None, user_api: str | None = None
) -> AbstractContextManager[None]: ...

def threadpool_info() -> list[dict[str, Any]]: ...

class ThreadpoolController:
    def __init__(self) -> None: ...
    def limit(
        self, *, limits: int | None = None, user_api: str | None = None
    ) -> AbstractContextManager[None]: ...
