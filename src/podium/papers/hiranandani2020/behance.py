"""The Behance data of hiranandani2020 in its original files: which images a user will like.

Behance_appreciate_1M has a like a line (user, item, time); Behance_Image_Features.b has a record
an image, its id of 8 characters and 4096 float32.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from podium.errors import DataError
from podium.groups import find
from podium.papers.rows import Rows

URL = "https://cseweb.ucsd.edu/~jmcauley/datasets.html#behance"
LIKES, IMAGES, REDUCED = "Behance_appreciate_1M", "Behance_Image_Features.b", "image_features.npz"
WIDTH = 4096  # features of an image as published
DIMENSIONS = 50  # that they are reduced to
FIRST = 50  # likes of a user that describe the user
FEWEST, MOST = 60, 170  # likes of a user that is kept
NEGATIVES = (4, 5, 6)  # by positive, drawn for each user

_BLOCK = 4096  # images that are read at once

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Images:
    """Reduced features of images.

    Attributes
    ----------
    item : (n_images,) of str
        Rising.
    features : float64, (n_images, n_dimensions)
    """

    item: NDArray[Any]
    features: Floats


def read(path: Path, *, seed: int = 0, width: int = WIDTH, dimensions: int = DIMENSIONS) -> Rows:
    """Return all rows, features not scaled: user, image, and their products.

    Parameters
    ----------
    path : Path
        Folder with Behance_appreciate_1M and Behance_Image_Features.b. An image_features.npz
        there takes the place of the latter: arrays "item" (ids as text) and "features", 50 each
        and reduced by any means, such as the paper's UMAP (10 neighbours, min_dist 0.5).
    seed : int
        Of the negatives.
    width, dimensions : int
        Features of an image in the file, and how many they are reduced to.

    Raises
    ------
    DataError
        If a file is absent or malformed, or no user has 60 to 170 likes.

    Notes
    -----
    Without image_features.npz the features are reduced by principal components, where the paper
    has UMAP: it is exact, needs no further library, and takes minutes. Likes of images without
    features, and repeated ones, are dropped. A user's first 50 likes are averaged to describe
    the user (so the reference code; the paper says random ones), the others are positives.
    Negatives are 4, 5 or 6 times as many, drawn from the images that the user never liked; the
    reference code can draw some of the first 50.

    References
    ----------
    hiranandani2020, section 7.3.1; he2016.
    """
    images = read_images(path, width=width, dimensions=dimensions)
    user, item = _likes(path / LIKES, images.item)
    kept = _of_frequent_users(user)
    if not kept.size:
        raise DataError(
            f"{path / LIKES}: no user has {FEWEST} to {MOST} likes of images with features. "
            "Pass both files as they were published."
        )
    rng = np.random.default_rng(seed)
    users, starts = np.unique(user[kept], return_index=True)
    each = [
        _rows_of(label, liked, images.features, rng)
        for label, liked in zip(users, np.split(item[kept], starts[1:]), strict=True)
    ]
    return Rows(*(np.concatenate(part) for part in zip(*each, strict=True)))


def reduction(path: Path) -> str:
    """Return how the features that `read` takes were reduced, in words."""
    return f"as given in {REDUCED}" if (path / REDUCED).exists() else "principal components"


def read_images(path: Path, *, width: int = WIDTH, dimensions: int = DIMENSIONS) -> Images:
    """Return the reduced features of all images: image_features.npz, else principal components."""
    if (path / REDUCED).exists():
        return _reduced(path / REDUCED)
    file = path / IMAGES
    record = np.dtype([("item", "S8"), ("features", "<f4", (width,))])
    if not file.exists():
        raise DataError(f"{path} holds no {IMAGES}. Get it from {URL}, or make {REDUCED}.")
    if file.stat().st_size == 0 or file.stat().st_size % record.itemsize:
        raise DataError(
            f"{file} holds {file.stat().st_size} bytes, no multiple of the {record.itemsize} of "
            f"an image (an id of 8 characters and {width} float32). Get it again from {URL}."
        )
    images = np.memmap(file, record, "r")
    try:
        item, rows = np.unique(np.char.decode(images["item"], "ascii"), return_index=True)
        reduced = principal_components(images["features"], dimensions)
    except ValueError as error:
        raise DataError(
            f"{file} holds an id that is no ASCII, or a feature that is not finite ({error}). Get "
            f"it again from {URL}."
        ) from error
    return Images(item, reduced[rows])


def principal_components(features: NDArray[Any], dimensions: int) -> Floats:
    """Project rows on the directions of largest variance, largest first.

    Parameters
    ----------
    features : (n_rows, n_features)
        May be memory-mapped: it is read twice, block by block.
    dimensions : int
        At most n_features.

    Notes
    -----
    Each direction's largest entry is positive, so that signs are settled. Cost: O(n_rows
    n_features^2); the last bits may depend on the number of threads of BLAS.
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
        with zipfile.ZipFile(file):  # or it is no .npz, whatever NumPy would take it for
            pass
        with np.load(file, allow_pickle=False) as arrays:
            if not {"item", "features"} <= set(arrays.files):
                raise DataError(f"{file} must hold 'item' and 'features', got {arrays.files}.")
            item, features = arrays["item"].astype(str), arrays["features"].astype(np.float64)
    except DataError:
        raise
    except Exception as error:  # of the archive, its packing, or the arrays: there are many
        raise DataError(f"{file} can't be read: {error}. Make it again, as .npz.") from error
    fits = features.ndim == 2 and len(features) == item.size > 0
    if not fits or not np.isfinite(features).all():
        raise DataError(
            f"{file}: features must be finite, a row for each of the {item.size} items, got "
            f"shape {features.shape}."
        )
    distinct, rows = np.unique(item, return_index=True)
    return Images(distinct, features[rows])


def _likes(file: Path, known: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return user and image number of each first like of a known image, by user and time."""
    user, item, time = _lines(file)
    number = find(known, item)
    rows = np.flatnonzero(number >= 0)
    rows = rows[np.lexsort((time[rows], user[rows]))]
    _, codes = np.unique(user[rows], return_inverse=True)
    pairs = codes * known.size + number[rows]
    once = rows[np.sort(np.unique(pairs, return_index=True)[1])]
    return user[once], number[once]


def _lines(file: Path) -> tuple[NDArray[np.str_], NDArray[np.str_], NDArray[np.int64]]:
    if not file.exists():
        raise DataError(f"{file.parent} holds no {LIKES}. Get it from {URL}.")
    try:
        columns: Any = np.loadtxt(file, dtype=str, unpack=True, ndmin=2, comments=None)
        user, item, time = columns
        return user, item, time.astype(np.int64)
    except ValueError as error:
        raise DataError(f"{file} must hold user, item and time on each line: {error}.") from error


def _of_frequent_users(user: NDArray[Any]) -> NDArray[np.int64]:
    _, codes, counts = np.unique(user, return_inverse=True, return_counts=True)
    return np.flatnonzero(((counts >= FEWEST) & (counts <= MOST))[codes])


def _rows_of(
    label: str, liked: NDArray[np.int64], features: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.float32], Floats, NDArray[Any]]:
    positives = liked[FIRST:]
    never = np.setdiff1d(np.arange(len(features)), liked)
    wanted = int(rng.choice(NEGATIVES)) * positives.size
    if wanted > never.size:
        raise DataError(
            f"User {label} needs {wanted} images without a like, but there are {never.size}. "
            "Pass the features of all images."
        )
    items = np.concatenate([positives, rng.choice(never, wanted, replace=False)])
    image = features[items]
    of_user = np.broadcast_to(features[liked[:FIRST]].mean(axis=0), image.shape)
    X = np.concatenate([of_user, image, of_user * image], axis=1).astype(np.float32)
    y = np.zeros(items.size)
    y[: positives.size] = 1.0
    return X, y, np.full(items.size, label)
