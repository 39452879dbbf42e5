from podium.evaluation.stats.intervals import Interval


def spending_boundaries(fractions, alpha):
    import numpy as np

    return np.full(len(fractions), 3.0)


def repeated_interval(mean, std_error, dof, boundary):
    return Interval(mean - boundary * std_error, mean + boundary * std_error)
