"""For tests of podium and of what is built on it: oracles, strategies, and contract checks.

`oracles` says by brute force what every metric is. `strategies` draws ragged, tied, truncated
and empty lists with hypothesis, which this package needs and no other part of podium does.
"""
