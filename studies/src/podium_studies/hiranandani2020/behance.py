"""The Behance data of hiranandani2020 in its original files: the images that a user will like.

Each line of Behance_appreciate_1M is a like (user, item, time). Each record of
Behance_Image_Features.b is an image: an id of 8 characters and 4096 float32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
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

_BLOCK = 4096  # number of images that are read at once

Floats = NDArray[np.float64]


Images = tuple[NDArray[Any], Floats]
"""The ids of images, ascending, and the reduced features of each, (n_images, n_dimensions)."""


def read(path: Path, *, seed: int = 0, width: int = WIDTH, dimensions: int = DIMENSIONS) -> Rows:
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
    width, dimensions : int
        The number of features per image in the file, and after the reduction.

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
    known, features = read_images(path, width=width, dimensions=dimensions)
    user, item = _likes(path / LIKES, known)
    selected_likes = _likes_of_frequent_users(user)
    if not selected_likes.size:
        raise DataError(
            f"{path / LIKES}: no user has {FEWEST} to {MOST} likes of images with features. "
            "Pass both files as published."
        )
    rng = np.random.default_rng(seed)
    users, starts = np.unique(user[selected_likes], return_index=True)
    rows_by_user = [
        _user_rows(label, liked_images, features, rng)
        for label, liked_images in zip(
            users, np.split(item[selected_likes], starts[1:]), strict=True
        )
    ]
    return Rows(*(np.concatenate(columns) for columns in zip(*rows_by_user, strict=True)))


def reduction(path: Path) -> str:
    """Return a description of how the features that `read` uses were reduced."""
    return f"from {REDUCED}" if (path / REDUCED).exists() else "by principal components"


def read_images(path: Path, *, width: int = WIDTH, dimensions: int = DIMENSIONS) -> Images:
    """Return the features in image_features.npz, or else the principal components of all images."""
    if (path / REDUCED).exists():
        return _reduced(path / REDUCED)
    file = path / IMAGES
    record = np.dtype([("item", "S8"), ("features", "<f4", (width,))])
    if not file.exists():
        raise DataError(
            f"{path} does not contain {IMAGES}. Download it from {URL}, or create {REDUCED}."
        )
    if file.stat().st_size == 0 or file.stat().st_size % record.itemsize:
        raise DataError(
            f"{file} has {file.stat().st_size} bytes, not a multiple of {record.itemsize}, the "
            f"size of an image (an id of 8 characters and {width} float32). Download it again "
            f"from {URL}."
        )
    images = np.memmap(file, record, "r")
    try:
        item, rows = np.unique(np.char.decode(images["item"], "ascii"), return_index=True)
        reduced = principal_components(images["features"], dimensions)
    except ValueError as error:
        raise DataError(
            f"{file} has an id that is not ASCII, or a feature that is not finite ({error}). "
            f"Download it again from {URL}."
        ) from error
    return item, reduced[rows]


def principal_components(features: NDArray[Any], dimensions: int) -> Floats:
    """Project rows on the directions of largest variance, in descending order of variance.

    Parameters
    ----------
    features : (n_rows, n_features)
        The rows. The array may be memory-mapped: it is read block by block, three times.
    dimensions : int
        The number of directions, at most n_features.

    Returns
    -------
    float64, (n_rows, dimensions)

    Notes
    -----
    The largest absolute entry of each direction is positive, which determines the signs. Cost:
    O(n_rows n_features^2). The last bits may depend on the number of threads of BLAS.
    """
    blocks = [slice(i, i + _BLOCK) for i in range(0, len(features), _BLOCK)]
    mean = sum(features[b].sum(axis=0, dtype=np.float64) for b in blocks) / len(features)
    scatter = np.zeros((features.shape[1], features.shape[1]))
    for block in blocks:
        centred = features[block] - mean
        scatter += centred.T @ centred
    last = features.shape[1] - 1
    _, vectors = scipy.linalg.eigh(scatter, subset_by_index=[last + 1 - dimensions, last])
    vectors = vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(dimensions)])
    return np.concatenate([(features[block] - mean) @ vectors for block in blocks])


def _reduced(file: Path) -> Images:
    try:
        with np.load(file, allow_pickle=False) as arrays:
            item, features = arrays["item"].astype(str), arrays["features"].astype(np.float64)
    except Exception as error:  # the archive, its compression and the arrays raise many types
        raise DataError(
            f"{file} must have the arrays 'item' and 'features': {error}. Create it again as .npz."
        ) from error
    has_valid_shape = features.ndim == 2 and len(features) == item.size > 0
    if not has_valid_shape or not np.isfinite(features).all():
        raise DataError(
            f"{file}: features must be finite, with one row for each of the {item.size} items, "
            f"got shape {features.shape}."
        )
    distinct, rows = np.unique(item, return_index=True)
    return distinct, features[rows]


def _likes(file: Path, known: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the user and image index of each first like of a known image, by user and time."""
    user, item, time = _like_columns(file)
    image_index = find(known, item)
    rows = np.flatnonzero(image_index >= 0)
    rows = rows[np.lexsort((time[rows], user[rows]))]
    _, codes = np.unique(user[rows], return_inverse=True)
    pairs = codes * known.size + image_index[rows]
    first_likes = rows[np.sort(np.unique(pairs, return_index=True)[1])]
    return user[first_likes], image_index[first_likes]


def _like_columns(file: Path) -> tuple[NDArray[np.str_], NDArray[np.str_], NDArray[np.int64]]:
    if not file.exists():
        raise DataError(f"{file.parent} does not contain {LIKES}. Download it from {URL}.")
    try:
        columns: Any = np.loadtxt(file, dtype=str, unpack=True, ndmin=2, comments=None)
        user, item, time = columns
        return user, item, time.astype(np.int64)
    except ValueError as error:
        raise DataError(f"{file} must have user, item and time on each line: {error}.") from error


def _likes_of_frequent_users(user: NDArray[Any]) -> NDArray[np.int64]:
    _, codes, counts = np.unique(user, return_inverse=True, return_counts=True)
    return np.flatnonzero(((counts >= FEWEST) & (counts <= MOST))[codes])


def _user_rows(
    label: str, liked: NDArray[np.int64], features: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.float32], Floats, NDArray[Any]]:
    positives = liked[FIRST:]
    unliked = np.setdiff1d(np.arange(len(features)), liked)
    n_drawn = int(rng.choice(NEGATIVES)) * positives.size
    if n_drawn > unliked.size:
        raise DataError(
            f"User {label} needs {n_drawn} images without a like, but only {unliked.size} have "
            "features. Pass the features of all images."
        )
    items = np.concatenate([positives, rng.choice(unliked, n_drawn, replace=False)])
    image_features = features[items]
    user_features = np.broadcast_to(features[liked[:FIRST]].mean(axis=0), image_features.shape)
    X = np.concatenate(
        [user_features, image_features, user_features * image_features], axis=1
    ).astype(np.float32)
    y = np.zeros(items.size)
    y[: positives.size] = 1.0
    return X, y, np.full(items.size, label)
