"""The theory of top-k consistency by enumeration: losses whose minimum has the best top k.

A `Space` has the probability of each order of a few objects. `preserved_pairs` and
`meets_theorem_6` return whether the theory's condition on spaces holds. `sensitivity` searches for
counter-examples to the theory's condition on losses. `minimise` finds the scores with the least
expected loss, and compares their top k with that of the Bayes rankers. `Truncated` modifies any
loss on grades for the top k. The page consistency.md has examples.
"""

from podium_studies.xia2009.consistency.minimum import Truncated, minimise
from podium_studies.xia2009.consistency.sensitivity import sensitivity
from podium_studies.xia2009.consistency.space import Space, meets_theorem_6, preserved_pairs

__all__ = [
    "Space",
    "Truncated",
    "meets_theorem_6",
    "minimise",
    "preserved_pairs",
    "sensitivity",
]
