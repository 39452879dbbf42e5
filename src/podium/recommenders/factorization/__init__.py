"""Factorization: vectors of users and items whose products rank, learned by ranking losses.

A positive is compared with items drawn at random, and the loss is bent so that the top of the list
counts. Users and items are divided into blocks that share nothing, so that any number of workers
finds the same factors. The model is `podium.recommenders.Factorization`.
"""
