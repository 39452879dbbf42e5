"""A record of podium's results, to hold a rearranged podium equal to the one before.

`python -m tests.record` makes all parts again and shows what differs from the text files beside
this one; `--write` replaces them. `names` alone imports podium.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # the order of BLAS's sums depends on it; before numpy is loaded
