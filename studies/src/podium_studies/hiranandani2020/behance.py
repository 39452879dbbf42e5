"""The Behance data of hiranandani2020 in its original files: the images that a user will like.

Each line of Behance_appreciate_1M is a like (user, item, time). Each record of
Behance_Image_Features.b is an image: an id of 8 characters and 4096 float32.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import DataError
from podium.groups import find
from podium_studies.rows import Rows

URL = "https://cseweb.ucsd.edu/~jmcauley/datasets.html#behance"
LIKES, IMAGES, REDUCED = "Behance_appreciate_1M", "Behance_Image_Features.b", "image_features.npz"
WIDTH = 4096  # number of published features per image
DIMENSIONS = 50  # number of features after the reduction
FIRST = 50  # number of likes whose mean describes the user
FEWEST, MOST = 60, 170  # range of the number of likes of a user
NEGATIVES = (4, 5, 6)  # negatives per positive; one of the three is drawn for each user

Floats = NDArray[np.float64]


def read(path: Path, *, seed: int = 0) -> Rows:
    """Return all rows with unscaled features: those of user and image, and their products.

    Parameters
    ----------
    path : Path
        The folder with Behance_appreciate_1M and Behance_Image_Features.b. If it contains an
        image_features.npz, that file is read instead of the latter. Its arrays are "item" (ids
        as text) and "features", 50 per image, reduced by any method, such as the paper's UMAP
        (10 neighbours, min_dist 0.5).
    seed : int
        The seed of the drawn negatives.

    Returns
    -------
    Rows

    Raises
    ------
    DataError
        If a file is absent or malformed, or no user has 60 to 170 likes.

    Notes
    -----
    Without image_features.npz, the features are reduced to principal components, whereas the
    paper uses UMAP. Principal components are exact, need no additional library, and take minutes.
    Likes of images without features and repeated likes are dropped. The features of a user are
    the mean over the user's first 50 likes, as in the reference code (the paper uses random
    ones). The other likes are the positives. There are 4, 5 or 6 times as many negatives, drawn
    from the images that the user never liked. The reference code can also draw some of the first
    50 likes.

    References
    ----------
    hiranandani2020, section 7.3.1; he2016.
    """
    rng = np.random.default_rng(seed)
    try:
        known, features = read_images(path)
        user, item = _likes(path / LIKES, known)
        labels, starts, counts = np.unique(user, return_index=True, return_counts=True)
        by_user = zip(labels, np.split(item, starts[1:]), counts, strict=True)
        used = ((label, liked) for label, liked, count in by_user if FEWEST <= count <= MOST)
        rows_by_user = [_user_rows(*user, features, rng) for user in used]
        return Rows(*(np.concatenate(columns) for columns in zip(*rows_by_user, strict=True)))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path} must have the files of {URL} as published, and in them users with {FEWEST} to "
            f"{MOST} likes of images with features: {error}."
        ) from error


def reduction(path: Path) -> str:
    """Return a description of how the features that `read` uses were reduced."""
    return f"from {REDUCED}" if (path / REDUCED).exists() else "by principal components"


def read_images(path: Path) -> tuple[NDArray[Any], Floats]:
    """Return the ids of images, ascending, and the reduced features of each.

    The features are those in image_features.npz, or else the principal components of all images.
    """
    if (path / REDUCED).exists():
        with np.load(path / REDUCED, allow_pickle=False) as arrays:
            item, features = arrays["item"].astype(str), arrays["features"]
    else:
        library = import_module("sklearn.decomposition")
        record = np.dtype([("item", "S8"), ("features", "<f4", (WIDTH,))])
        images = np.memmap(path / IMAGES, record, "r")
        item = np.char.decode(images["item"], "ascii")
        pca = library.PCA(DIMENSIONS, svd_solver="covariance_eigh")
        features = pca.fit_transform(images["features"])
    distinct, rows = np.unique(item, return_index=True)
    return distinct, features[rows].astype(np.float64)


def _likes(file: Path, known: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the user and image index of each first like of a known image, by user and time."""
    columns: Any = np.loadtxt(file, dtype=str, unpack=True, ndmin=2, comments=None)
    user, item, time = columns
    image_index = find(known, item)
    rows = np.flatnonzero(image_index >= 0)
    rows = rows[np.lexsort((time[rows].astype(np.int64), user[rows]))]
    _, codes = np.unique(user[rows], return_inverse=True)
    pairs = codes * known.size + image_index[rows]
    first_likes = rows[np.sort(np.unique(pairs, return_index=True)[1])]
    return user[first_likes], image_index[first_likes]


def _user_rows(
    label: str, liked: NDArray[np.int64], features: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.float32], Floats, NDArray[Any]]:
    positives = liked[FIRST:]
    unliked = np.setdiff1d(np.arange(len(features)), liked)
    n_drawn = int(rng.choice(NEGATIVES)) * positives.size
    items = np.concatenate([positives, rng.choice(unliked, n_drawn, replace=False)])
    image_features = features[items]
    user_features = np.broadcast_to(features[liked[:FIRST]].mean(axis=0), image_features.shape)
    columns = (user_features, image_features, user_features * image_features)
    X = np.concatenate(columns, axis=1).astype(np.float32)
    y = (np.arange(items.size) < positives.size).astype(np.float64)
    return X, y, np.full(items.size, label)
