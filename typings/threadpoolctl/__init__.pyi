from contextlib import AbstractContextManager

def threadpool_limits(
    limits: int | None = None, user_api: str | None = None
) -> AbstractContextManager[None]: ...
