"""The demo.

``podium.experiments.demo.run`` is the main job on real data: it trains, compares and reports.
"""
