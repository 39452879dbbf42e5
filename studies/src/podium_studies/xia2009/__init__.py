"""Top-k consistency of listwise losses: the theory of the paper by enumeration, and its tables."""
