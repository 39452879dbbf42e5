"""How other packages compute the metrics: their conventions, as tables.

Each TOML file describes one package. ``like="recbole"`` in `podium.measure` applies its `Preset`.
`lightgbm` and `xgboost` are no values of ``like``: their metrics are those of training logs.
"""

from podium.presets.preset import PACKAGES, Form, Preset, get, read

__all__ = ["PACKAGES", "Form", "Preset", "get", "read"]
