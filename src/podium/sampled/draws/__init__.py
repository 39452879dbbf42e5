"""Candidates drawn for each target, and the target's rank among them.

`sample_ranks` draws and ranks in one pass, `draw_candidates` keeps what was drawn, and
`simulate_ranks` repeats a sampled evaluation from ranks that are known.
"""

from podium.sampled.draws.candidates import Candidates, draw_candidates
from podium.sampled.draws.sampling import sample_ranks, simulate_ranks

__all__ = ["Candidates", "draw_candidates", "sample_ranks", "simulate_ranks"]
