"""pAp@k: the paper's tables and figures, its data, its theory and its baselines."""
