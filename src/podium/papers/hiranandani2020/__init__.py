"""pAp@k: the paper's tables and figures, its data, its theory and what it compares with."""
