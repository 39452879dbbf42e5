"""How other packages compute the metrics: their conventions, as tables.

Each module describes one package. ``like="recbole"`` in `podium.measure` applies its `Preset`.
"""

from podium.presets.preset import PACKAGES, Form, Preset, UsersAndLists, get

__all__ = ["PACKAGES", "Form", "Preset", "UsersAndLists", "get"]
