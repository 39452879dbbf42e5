"""Ranks of targets by an expensive model that scores few items: those of a proxy, and random ones.

`scan` lets a model score as few items as possible. `draw_strata` chooses all items to score in
advance.
"""
