"""The command podium recommend: the best items of users, as a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.cli import _messages
from podium.cli._messages import progress
from podium.cli._options import (
    WRITTEN,
    ItemColumn,
    UserColumn,
    check_new_folder,
    check_target,
    is_folder_target,
)
from podium.cli.rank import RUN_HELP, RUNS, opened

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 2**18  # rows of the run that are in memory at a time
_MOST_USERS = 2**14
_PART = 2**16  # users per file of a folder


def recommend(
    model: Annotated[
        Path,
        typer.Argument(
            help="Model file that podium train has written for a recommender, or podium factorize.",
            metavar="MODEL",
        ),
    ],
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
    k: Annotated[
        int,
        typer.Option("-k", metavar="K", help="Number of items per user. pap@10 needs at least 19."),
    ] = 20,
    users: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Users to recommend to: a table with a column of users, such as the truth of "
            "podium measure, or a .txt file with one user per line. Default: all users of the "
            "model.",
        ),
    ] = None,
    allow: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The only items to recommend: a table with a column of items, or a .txt file with "
            "one item per line. Default: all items.",
        ),
    ] = None,
    deny: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Items not to recommend, in a file as for --allow."),
    ] = None,
    include_seen: Annotated[
        bool,
        typer.Option(
            "--include-seen", help="Also recommend items that the user has in the training events."
        ),
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Device of PyTorch that scores: cuda, or auto for a GPU if there is one. The "
            "lists of a model with factors are the same. Default: the CPU, by NumPy.",
        ),
    ] = None,
    user_col: UserColumn = None,
    item_col: ItemColumn = None,
) -> None:
    """Write the best items of users as a run: user, item, score, best first within each user.

    Items that a user has in the events that the model was trained on are left out.
    """
    if is_folder_target(out):
        check_new_folder(out, "--out")
    else:
        check_target(out, "--out", RUNS)
    from podium import _check
    from podium.recommenders import load

    max_items = _check.cutoff(k, name="-k")
    fitted = load(model)
    options: dict[str, Any] = {
        "k": min(max_items, fitted.n_items_),
        "exclude_seen": not include_seen,
        "allow": _items(fitted, allow, "--allow", item_col),
        "deny": _items(fitted, deny, "--deny", item_col),
        "device": device,
    }
    user_ids = _users(fitted, users, user_col, model)
    if out is not None and is_folder_target(out):
        _write_folder(out, model, fitted, user_ids, options)
        return
    n_empty_lists = 0
    with progress("recommending") as show, opened(out) as append:
        for users_of_piece in _pieces(user_ids, options["k"], show):
            items, scores = fitted.recommend(users_of_piece, **options)
            append(_rows(users_of_piece, items, scores))
            n_empty_lists += int((~_has_item(scores)).all(axis=1).sum())
    _report_empty(n_empty_lists, user_ids.size)


def _write_folder(
    out: Path, model: Path, fitted: Any, users: NDArray[Any], options: dict[str, Any]
) -> None:
    """Write the lists of _PART users per file; files of an interrupted command are kept."""
    from podium.data.part_folder import PartFolder

    n_empty_lists, starts = 0, range(0, max(users.size, 1), _PART)
    with progress("recommending") as show, PartFolder(out, _job(model, users, options)) as folder:
        n_kept = sum(folder.has(number) for number in range(len(starts)))
        if n_kept:
            _messages.say(f"{n_kept} of {len(starts)} files are there already.")
        for number, start in enumerate(starts):
            if folder.has(number):
                continue
            part = users[start : start + _PART]
            items, scores = fitted.recommend(part, **options)
            folder.write(number, _rows(part, items, scores))
            n_empty_lists += int((~_has_item(scores)).all(axis=1).sum())
            show(min(start + _PART, users.size), users.size, "users")
    _report_empty(n_empty_lists, users.size)


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


def _report_empty(n_empty_lists: int, n_users: int) -> None:
    if n_empty_lists:
        _messages.say(f"{n_empty_lists} of {n_users} users have no item left to recommend.")


def _pieces(users: NDArray[Any], k: int, show: Any) -> Iterator[NDArray[Any]]:
    """Yield pieces of the users whose lists fit in memory."""
    size = max(1, min(_MOST_USERS, _ROWS // k))
    for start in range(0, users.size, size):
        yield users[start : start + size]
        show(min(start + size, users.size), users.size, "users")


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
