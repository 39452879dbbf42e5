"""All lists of a catalogue as one Ranking."""

from __future__ import annotations

import sys
from typing import Any

from podium.catalogue import rank_blocks
from podium.ranking import Ranking


def rank_all(scores: Any, truth: Any, **options: Any) -> Ranking:
    (ranking,) = rank_blocks(scores, truth, block_size=sys.maxsize, **options)
    return ranking
