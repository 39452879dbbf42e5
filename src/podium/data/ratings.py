"""From which relevance an item is positive: ratings say so themselves nowhere."""

from __future__ import annotations

from podium import _check
from podium.errors import ArgumentError


def is_rating(column: str) -> bool:
    """Tell by its name a column of ratings, each of which would be positive from 1."""
    return column.strip().lower() == "rating"


def threshold(name: str, min_relevance: float | None, *, ratings: bool) -> float:
    """Return the relevance from which an item is positive: 1 unless given, which ratings need.

    Parameters
    ----------
    name : str
        What messages call the table.
    min_relevance : float, optional
    ratings : bool
        Whether relevance comes from a column of ratings.

    Returns
    -------
    float
        Above 0.

    Raises
    ------
    ArgumentError
        If ratings come without min_relevance, or min_relevance is not above 0.

    Examples
    --------
    >>> threshold("truth.csv", None, ratings=False), threshold("truth.csv", 4, ratings=True)
    (1.0, 4.0)
    """
    if min_relevance is None and ratings:
        raise ArgumentError(
            f"{name} holds ratings: min_relevance must say from which rating an item is "
            "positive. Pass min_relevance=4 (--min-relevance 4) for ratings from 1 to 5."
        )
    value = 1.0 if min_relevance is None else min_relevance
    return _check.number(value, "min_relevance", low=0.0, strict=True)
