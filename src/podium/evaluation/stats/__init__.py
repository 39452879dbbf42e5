"""Intervals, paired tests and corrections for values that were measured once per group.

A nan is a group for which the measure is undefined: it is left out and counted. Functions take
arrays and return small frozen dataclasses; ``dataclasses.asdict`` gives the JSON form of each.
"""

from podium.evaluation.stats.betting import betting_interval
from podium.evaluation.stats.clustered import ClusteredMean, clustered_mean, crossed_mean
from podium.evaluation.stats.comparing import PairedTest, holm, letters, paired
from podium.evaluation.stats.intervals import Interval, differences
from podium.evaluation.stats.means import Summary, pooled, summarize
from podium.evaluation.stats.spending import repeated_interval, spending_boundaries

__all__ = [
    "ClusteredMean",
    "Interval",
    "PairedTest",
    "Summary",
    "betting_interval",
    "clustered_mean",
    "crossed_mean",
    "differences",
    "holm",
    "letters",
    "paired",
    "pooled",
    "repeated_interval",
    "spending_boundaries",
    "summarize",
]
