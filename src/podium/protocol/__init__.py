"""The protocol of an evaluation: everything that defines a number, as one value.

`Protocol` is what a call, a file or a package states. `Conventions` are what it means for one
measure, with nothing left open.
"""

from podium.protocol.conventions import EXCLUSIONS, NO_EFFECT, Conventions
from podium.protocol.protocol import Protocol, ProtocolFields

__all__ = ["EXCLUSIONS", "NO_EFFECT", "Conventions", "Protocol", "ProtocolFields"]
