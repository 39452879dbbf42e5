"""Top-k consistency of listwise losses: the paper's theory by enumeration, and its tables."""
