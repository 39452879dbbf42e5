"""A record of podium's results, to check that a change of the code changes no result.

`python -m tests.record` computes all parts and prints the differences from the text files in this
folder; `--write` replaces these files. Only the module `names` imports podium.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # BLAS's sums depend on it; must precede the import of numpy
