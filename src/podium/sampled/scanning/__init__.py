"""Evaluation of models that score few items: `scan`, in rounds, and what scans leave open."""
