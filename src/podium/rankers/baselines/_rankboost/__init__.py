"""RankBoost: thresholds on single features, added up round by round."""

from podium.rankers.baselines._rankboost._ranker import RankBoost

__all__ = ["RankBoost"]
