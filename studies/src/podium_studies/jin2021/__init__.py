"""Estimation of catalogue metrics from sampled candidates: the paper's tables and figures."""
