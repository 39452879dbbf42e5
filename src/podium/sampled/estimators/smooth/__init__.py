"""The default estimator: a smooth density of the rank's logit, with errors and intervals."""

from podium.sampled.estimators.smooth.estimator import Smooth
from podium.sampled.estimators.smooth.fitted import SmoothFit

__all__ = ["Smooth", "SmoothFit"]
