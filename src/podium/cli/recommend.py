"""The command podium recommend: the best items of users, as a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli import _messages
from podium.cli._cluster import Cluster
from podium.cli._messages import progress
from podium.cli._options import (
    WRITTEN,
    ColumnNames,
    check_new_folder,
    check_target,
    is_folder_target,
)
from podium.cli.rank import RUN_HELP, RUNS, opened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.executors import Executor

_ROWS = 2**18  # rows of the run that are in memory at a time
_MOST_USERS = 2**14
_PART = 2**16  # users per file of a folder


def recommend(
    model: Annotated[Path, typer.Argument()],
    cluster: Cluster,
    columns: ColumnNames,
    out: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(
            "--out",
            "-o",
            metavar="RUN",
            help=f"{RUN_HELP} A new folder such as lists/ receives parquet files, and an "
            "interrupted command continues with the next file. Default: CSV to stdout.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k")] = 20,
    users: Path | None = None,
    allow: Path | None = None,
    deny: Path | None = None,
    include_seen: bool = False,
    device: str | None = None,
) -> None:
    """Write the best items of users as a run: user, item, score, best first within each user.

    Items that a user has in the events that the model was trained on are left out.

    Parameters
    ----------
    model : MODEL
        Model file that podium train has written for a recommender.
    k : K
        Number of items per user. pap@10 needs at least 19.
    users : FILE
        Users to recommend to: a table with a column of users, such as the truth of podium measure,
        or a .txt file with one user per line. Default: all users of the model.
    allow : FILE
        The only items to recommend: a table with a column of items, or a .txt file with one item
        per line. Default: all items.
    deny : FILE
        Items not to recommend, in a file as for --allow.
    include_seen
        Also recommend items that the user has in the training events.
    device : NAME
        Device of PyTorch that scores: cuda, or auto for a GPU if there is one. The lists of a model
        with factors are the same. Default: the CPU, by NumPy.
    """
    if is_folder_target(out):
        check_new_folder(out, "--out")
    else:
        check_target(out, "--out", RUNS)
    cluster.check()
    from podium import _check
    from podium.recommenders import load

    max_items = _check.cutoff(k, name="-k")
    fitted = load(model)
    options: dict[str, Any] = {
        "k": min(max_items, fitted.n_items_),
        "exclude_seen": not include_seen,
        "allow": _items(fitted, allow, "--allow", columns.name_of("item")),
        "deny": _items(fitted, deny, "--deny", columns.name_of("item")),
        "device": device,
    }
    user_ids = _users(fitted, users, columns.name_of("user"), model)
    with cluster.executor() as workers:
        lists = Lists(fitted, options, workers)
        if out is not None and is_folder_target(out):
            _write_folder(out, model, user_ids, lists)
        else:
            _write_file(out, user_ids, lists)
    if lists.n_empty:
        written = "" if lists.n_users == user_ids.size else " of this call"
        _messages.say(
            f"{lists.n_empty:,} of {lists.n_users:,} users{written} have no item left to recommend."
        )


class Lists:
    """The lists of a fitted model, as rows.

    Attributes
    ----------
    options : dict of str to value
        The arguments of `recommend`.
    n_users, n_empty : int
        The number of users so far, and of those without an item.
    """

    def __init__(self, fitted: Any, options: dict[str, Any], workers: Executor | None) -> None:
        from podium.executors import Threads

        self._fitted, self.options, self.n_users, self.n_empty = fitted, options, 0, 0
        self._executor = Threads(1) if workers is None else workers

    def of(self, parts: Sequence[NDArray[Any]]) -> Iterator[dict[str, Any]]:
        """Yield the rows of parts of the users."""
        lists = self._executor.map(_lists, parts, self._fitted, self.options)
        for users, (items, scores) in zip(parts, lists, strict=True):
            self.n_users += users.size
            self.n_empty += int((~_has_item(scores)).all(axis=1).sum())
            yield _rows(users, items, scores)


def _lists(users: NDArray[Any], fitted: Any, options: dict[str, Any]) -> Any:
    return fitted.recommend(users, **options)


def _write_file(out: Path | None, users: NDArray[Any], lists: Lists) -> None:
    """Write all lists to one file, or to stdout."""
    size = max(1, min(_MOST_USERS, _ROWS // lists.options["k"]))  # lists that fit in memory
    starts = range(0, users.size, size)
    with progress("recommending") as show, opened(out) as append:
        parts = [users[start : start + size] for start in starts]
        for start, rows in zip(starts, lists.of(parts), strict=True):
            append(rows)
            show(min(start + size, users.size), users.size, "users")


def _write_folder(out: Path, model: Path, users: NDArray[Any], lists: Lists) -> None:
    """Write the lists of _PART users per file; files of an interrupted command are kept."""
    from podium.data.part_folder import PartFolder

    starts = range(0, max(users.size, 1), _PART)
    job = _job(model, users, lists.options)
    with progress("recommending") as show, PartFolder(out, job) as folder:
        missing = [start for start in starts if not folder.has(start // _PART)]
        if len(missing) < len(starts):
            n_kept = len(starts) - len(missing)
            _messages.say(f"{n_kept} of {len(starts)} files are there already.")
        parts = [users[start : start + _PART] for start in missing]
        for start, rows in zip(missing, lists.of(parts), strict=True):
            folder.write(start // _PART, rows)
            show(min(start + _PART, users.size), users.size, "users")


def _job(model: Path, users: NDArray[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return what the lists depend on, large values as checksums."""
    import hashlib

    import numpy as np

    import podium

    def checksum(ids: Any) -> str | None:
        if ids is None:
            return None
        return hashlib.sha256("\n".join(map(str, np.asarray(ids).tolist())).encode()).hexdigest()

    return {
        "podium": podium.__version__,
        "MODEL": hashlib.sha256(model.read_bytes()).hexdigest(),
        "--users": checksum(users),
        "-k": options["k"],
        "--include-seen": not options["exclude_seen"],
        "--allow": checksum(options["allow"]),
        "--deny": checksum(options["deny"]),
        "--device": options["device"],
    }


def _rows(users: NDArray[Any], items: NDArray[Any], scores: NDArray[Any]) -> dict[str, Any]:
    """Return the lists as rows, without empty places."""
    import numpy as np

    is_item = _has_item(scores)
    return {
        "user": np.repeat(users, is_item.sum(axis=1)),
        "item": items[is_item],
        "score": scores[is_item],
    }


def _has_item(scores: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    return scores > -np.inf


def _users(fitted: Any, path: Path | None, column: str | None, model: Path) -> NDArray[Any]:
    """Return the users to recommend to, without repetitions: in the order of the file, or all."""
    from podium import _check
    from podium.data.id_lists import match, read_ids
    from podium.errors import DataError

    labels = _labels(fitted.user_labels_, fitted.n_users_)
    if path is None:
        return labels
    known, unknown = match(read_ids(path, "user", column), labels)
    if not known.size:
        raise DataError(
            f"{path}: {model} contains none of its users, such as {_check.label(unknown[0])}. The "
            f"model has users such as {_check.label(labels[0])}."
        )
    if unknown.size:
        _messages.say(
            f"{path}: {unknown.size} of {known.size + unknown.size} users left out, because "
            f"{model} does not contain them."
        )
    return known


def _items(fitted: Any, path: Path | None, option: str, column: str | None) -> Any:
    """Return the items of a file that the model has; print the number of the others."""
    from podium import _check
    from podium.data.id_lists import match, read_ids
    from podium.errors import DataError

    if path is None:
        return None
    labels = _labels(fitted.item_labels_, fitted.n_items_)
    known, unknown = match(read_ids(path, "item", column), labels)
    if not known.size and option == "--allow":
        raise DataError(
            f"{option} {path}: the model contains none of its items, such as "
            f"{_check.label(unknown[0])}. The model has items such as {_check.label(labels[0])}."
        )
    if unknown.size:
        _messages.say(
            f"{option} {path}: {unknown.size} of {unknown.size + known.size} items left out, "
            f"because the model does not contain them, first {_check.label(unknown[0])}."
        )
    return known


def _labels(labels: Any, n: int) -> NDArray[Any]:
    """Return the ids, or row numbers if the model was fitted to a matrix."""
    import numpy as np

    return np.arange(n) if labels is None else labels
