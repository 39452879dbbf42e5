"""Search for a recipe's data sets below a path, with a check of their files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from podium.errors import DataError
from podium_studies.archive import Member, members, pick
from podium_studies.recipe import DataFile, DataSet, Recipe

_BLOCK = 1 << 20


def locate(recipe: Recipe, data: Path | None) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the path of each data set by its name, and the checksum of each of its files.

    The path is ``data / folder`` if that exists, else `data` itself: a folder, an archive or
    the file. Files may be compressed as .gz; checksums are of the decompressed content.

    Raises
    ------
    DataError
        If a data set is absent (the message has its address and licence), or if a file is not
        the one that the recipe was made for.
    """
    places: dict[str, Path] = {}
    checksums: dict[str, str] = {}
    for data_set in recipe.data:
        if data is None or not data.exists():
            problem = "" if data is None else f"{data} does not exist. "
            raise DataError(
                f"{problem}{recipe.name} needs {_described(data_set)} Download it and pass "
                "data=PATH, the folder that contains it."
            )
        inner = data / data_set.folder
        place = places[data_set.folder] = inner if inner.exists() else data
        files = members(place, data_set.title, data_set.url) if data_set.files else []
        for file in data_set.files:
            member = pick(files, [file.name, *file.also])
            if member is None:
                raise DataError(
                    f"{place} does not contain {file.name}. {recipe.name} needs "
                    f"{_described(data_set)}"
                )
            checksums[f"{data_set.folder}/{file.name}"] = _checksum(member, file, data_set)
    return places, checksums


def _checksum(member: Member, file: DataFile, data_set: DataSet) -> str:
    digest = hashlib.sha256()
    with member.open() as stream:
        for block in iter(lambda: stream.read(_BLOCK), b""):
            digest.update(block)
    checksum = digest.hexdigest()
    if file.sha256 and checksum != file.sha256:
        raise DataError(
            f"{member.name} differs from the {file.name} that the recipe needs: its sha256 is "
            f"{checksum[:12]}…, not {file.sha256[:12]}…. Download it again from {data_set.url}"
        )
    return checksum


def _described(data_set: DataSet) -> str:
    files = f" ({', '.join(file.name for file in data_set.files)})" if data_set.files else ""
    return f"{data_set.title}{files}, {data_set.url} (licence: {data_set.licence})."
