"""A plugin that imports all modules here, for podium and, before collection, for pytest."""

# ruff: noqa: F401

import tests.additions.deviation
import tests.additions.estimator
import tests.additions.loss
import tests.additions.metric
import tests.additions.recommender
import tests.additions.shown_metric
