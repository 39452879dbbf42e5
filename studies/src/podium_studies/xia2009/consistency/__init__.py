"""The theory of top-k consistency by enumeration: losses whose minimum has the best top k.

A `Space` has the probability of each order of a few objects. `is_order_preserving` and
`meets_theorem_6` return whether the theory's condition on spaces holds. `sensitivity` searches for
counter-examples to the theory's condition on losses. `minimise` finds the scores with the least
expected loss, and `agreement` compares their top k with that of the Bayes rankers. `Truncated`
modifies any loss on grades for the top k. The page docs/consistency.md has examples.
"""

from podium_studies.xia2009.consistency.cross_entropy import PermutationCrossEntropy
from podium_studies.xia2009.consistency.minimum import (
    Agreement,
    Minimum,
    agreement,
    is_consistent_on,
    minimise,
)
from podium_studies.xia2009.consistency.sensitivity import (
    CONDITIONS,
    CounterExample,
    Sensitivity,
    sensitivity,
)
from podium_studies.xia2009.consistency.space import (
    Space,
    is_order_preserving,
    meets_theorem_6,
    preserved_pairs,
)
from podium_studies.xia2009.consistency.truncated import Truncated

__all__ = [
    "CONDITIONS",
    "Agreement",
    "CounterExample",
    "Minimum",
    "PermutationCrossEntropy",
    "Sensitivity",
    "Space",
    "Truncated",
    "agreement",
    "is_consistent_on",
    "is_order_preserving",
    "meets_theorem_6",
    "minimise",
    "preserved_pairs",
    "sensitivity",
]
