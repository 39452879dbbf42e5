"""Ids of artists by which a plot passes tooltips and halos to its SVG, which has no other ids."""

HINT = "podium-hint:"  # a tooltip follows
HALO = "podium-halo:"  # text with a halo in the background colour; a tooltip may follow
