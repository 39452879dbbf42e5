"""RankBoost: a sum of thresholds on single features, learned round by round."""

from podium_studies.xia2009.rankboost.ranker import RankBoost

__all__ = ["RankBoost"]
