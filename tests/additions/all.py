"""Everything here at once: a plugin of podium and of pytest, which needs it before it collects."""

import tests.additions.estimator
import tests.additions.loss
import tests.additions.metric
import tests.additions.recommender  # noqa: F401
