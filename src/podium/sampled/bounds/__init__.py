"""What sampled ranks leave open about a measure, and proofs that no distribution is beyond."""

from podium.sampled.bounds.identification import (
    Bounds,
    identification_bounds,
    most_of_first,
    population_bounds,
)

__all__ = ["Bounds", "identification_bounds", "most_of_first", "population_bounds"]
