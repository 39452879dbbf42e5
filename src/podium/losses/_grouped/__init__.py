"""Logistic losses of whole groups: an intercept for each, minimised over, and pairs at the top."""

from podium.losses._grouped._logistic import GroupLogistic, GroupLogisticTarget
from podium.losses._grouped._pap import PApLogistic, PApLogisticTarget

__all__ = ["GroupLogistic", "GroupLogisticTarget", "PApLogistic", "PApLogisticTarget"]
