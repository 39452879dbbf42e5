from podium.evaluation.stats.intervals import Interval


def betting_interval(values, bounds, *, level=0.95):
    return Interval(*bounds)
