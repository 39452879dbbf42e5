"""The inside of LETOR files: parsed rows and compiled loops, for the modules around."""
