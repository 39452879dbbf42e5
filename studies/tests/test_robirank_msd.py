"""The study of the taste profile: its file, and the songs held out."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from studies.tests.record import recipe_data

from podium.errors import DataError
from podium_studies.archive import hold_out
from podium_studies.yun2014 import msd as study
from podium_studies.yun2014.msd import read


@pytest.mark.parametrize("text", [b"a\tb\t1\na\tc\n", b"a,b,1\n"])
def test_file_of_another_form_is_refused(text: bytes) -> None:
    with pytest.raises(DataError):
        read(io.BytesIO(text), "x")


def test_a_share_of_each_users_songs_is_held_out(tmp_path: Path) -> None:
    recipe_data.triplets(tmp_path)
    with (tmp_path / study.FILE).open("rb") as lines:
        plays = read(lines, "x")
    train, test = hold_out(plays, 0.2, np.random.default_rng)
    sizes = np.diff(plays.indptr)
    assert {3, 4, 5, 9, 10} <= set(sizes.tolist())
    np.testing.assert_array_equal(np.diff(test.indptr), sizes // 5)
    both = (train + test).toarray()
    np.testing.assert_array_equal(both, plays.toarray() > 0)  # all, and none in both
