"""One small module for each kind of object that other packages can add; see test_additions."""
