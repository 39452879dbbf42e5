"""Experiments: recipes that compose all of podium, and the demo.

``podium.experiments.demo.run`` is the main job on real data: it trains, compares and reports.
"""
