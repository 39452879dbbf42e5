"""What the robust losses share: rho and sigma by their names, and as the kernels count them."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast

from podium import _check
from podium.errors import ArgumentError

Type: TypeAlias = Literal[1, 2, "identity"]
Sigma: TypeAlias = Literal["logistic", "hinge"]

SIGMAS: tuple[Sigma, ...] = ("logistic", "hinge")
_CODES: dict[Any, int] = {"identity": 0, 1: 1, 2: 2}


def checked_type(given: Any) -> Type:
    """Return 1, 2 or "identity"."""
    if isinstance(given, str | int) and not isinstance(given, bool) and given in _CODES:
        return cast("Type", given)
    raise ArgumentError(f"type must be 1, 2 or 'identity', got {given!r}.")


def checked_sigma(given: Any) -> Sigma:
    """Return "logistic" or "hinge"."""
    return _check.choice(given, "sigma", SIGMAS)


def codes(given_type: Type, sigma: Sigma) -> tuple[int, bool]:
    """Return the kernels' number of rho, and whether sigma is the hinge."""
    return _CODES[given_type], sigma == "hinge"
