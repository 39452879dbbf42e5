"""Estimating the catalogue's metrics from sampled candidates: the paper's tables and figures."""
