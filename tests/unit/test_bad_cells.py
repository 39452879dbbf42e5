"""The search for bad feature values agrees with NumPy, dense and sparse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from podium import _check


@pytest.mark.parametrize("n_bad", [0, 1, 5])
@pytest.mark.parametrize("shape", [(1, 1), (9000, 7)])  # the second is read in several blocks
def test_bad_cells_are_those_of_numpy(shape: tuple[int, int], n_bad: int) -> None:
    rng = np.random.default_rng(n_bad)
    X = rng.standard_normal(shape)
    X.flat[rng.integers(0, X.size, n_bad)] = np.nan
    cells = np.argwhere(np.isnan(X))
    expected = (len(cells), *(cells[0] if len(cells) else (-1, -1)))
    for features in (X, np.asfortranarray(X), sparse.csr_matrix(X)):
        assert _check.bad_cells(features, _check.not_finite) == expected
