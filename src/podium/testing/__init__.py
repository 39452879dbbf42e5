"""Tools for tests of podium and its extensions: oracles, strategies and contract tests.

`oracles` computes every metric by brute force. `strategies` draws ragged, tied, truncated and
empty lists with hypothesis. No other package of podium requires hypothesis.
"""
