"""One small module for each kind of thing that other packages add; see test_additions."""
