"""RankBoost: thresholds on single features, added up round by round."""

from podium.papers.xia2009.rankboost.ranker import RankBoost

__all__ = ["RankBoost"]
