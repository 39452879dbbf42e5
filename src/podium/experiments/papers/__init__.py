"""Studies of the papers' tables and figures: each module has one or more `Study`."""
