"""The command podium recommend: the best items of users, as a run."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from podium import _check
from podium.cli import _messages
from podium.cli._messages import Sets, progress
from podium.cli._options import WRITTEN, ColumnNames, check_target, is_folder_target
from podium.cli._tables import Cluster
from podium.cli.rank import RUNS, opened
from podium.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.executors import Executor

Rows: TypeAlias = "dict[str, NDArray[Any]]"
_ROWS = 2**18  # rows of the run that are in memory at a time
_MOST_USERS = 2**14
_PART = 2**16  # users per file of a folder
_SEEN = typer.Option("--include-seen/--exclude-seen")


def recommend(
    *,
    model: Annotated[Path, typer.Argument()],
    out: Annotated[Path | None, WRITTEN, typer.Option("--out", "-o")] = None,
    k: Annotated[int, typer.Option("-k")] = 20,
    users: Path | None = None,
    allow: Path | None = None,
    deny: Path | None = None,
    fallback: Path | None = None,
    include_seen: Annotated[bool | None, _SEEN, Sets("exclude_seen", False)] = None,
    device: str | None = None,
    cluster: Cluster,
    columns: ColumnNames,
) -> None:
    """Write the best items of users as a run: user, item, score, best first within each user.

    Items that a user has in the events that the model was trained on are left out, except by
    own-history, unless the task of the split includes them.

    Parameters
    ----------
    model : MODEL
        Model file that podium train has written for a recommender.
    out : RUN
        File to write the run to; its suffix gives the format (.parquet, .csv, .tsv, .arrow, .trec).
        A new folder such as lists/ receives parquet files, and an interrupted command continues
        with the next file. Default: CSV to stdout.
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
    fallback : MODEL
        Model file of popularity, recent or own-history, trained on the same events, whose list is
        written for users that MODEL does not have. Default: MODEL itself if it is one of these;
        otherwise such users are left out.
    include_seen
        Whether to recommend items that the user has in the training events. Default: by the --task
        of podium split, if it has written --users; otherwise only own-history does so.
    device : NAME
        Device of PyTorch that scores: cuda, or auto for a GPU if there is one. The lists of a model
        with factors are the same. Default: the CPU, by NumPy.
    """
    check_target(out, "--out", RUNS, or_folder=True)
    import numpy as np

    from podium.recommenders import load

    max_items = _check.cutoff(k, name="-k")
    include_seen = _by_task(users) if include_seen is None else include_seen
    fitted = load(model)
    other = _fallback(fitted, model, fallback)
    items = ("item", columns.name_of("item"), _labels(fitted.item_labels_, fitted.n_items_), model)
    options: dict[str, Any] = {
        "k": min(max_items, fitted.n_items_),
        "exclude_seen": not (fitted.repeats if include_seen is None else include_seen),
        "allow": None if allow is None else _known(allow, *items)[0],
        "deny": None if deny is None else _known(deny, *items, required=False)[0],
        "device": device,
    }
    ids = [_labels(fitted.user_labels_, fitted.n_users_)]
    if users is not None:
        of_others = None if other is None else fallback or model
        ids = _known(users, "user", columns.name_of("user"), ids[0], model, of_others=of_others)
    size = _PART if is_folder_target(out) else max(1, min(_MOST_USERS, _ROWS // options["k"]))
    parts = [
        (part[start : start + size], place)
        for place, part in enumerate(ids)
        for start in range(0, part.size, size)
    ]
    job = partial(_job, [model] if fallback is None else [model, fallback], ids, options)
    n_users = n_empty = 0
    with cluster.executor() as workers, _opened(out, len(parts), job) as (numbers, write):
        # Numbers beside the texts of unknown users are texts.
        dtype = np.concatenate([users[:0] for users in ids]).dtype
        asked = [parts[number] for number in numbers]
        lists = _lists(asked, [fitted, other], options, workers, dtype)
        for number, (n_items, rows) in zip(numbers, lists, strict=True):
            write(number, rows)
            n_users, n_empty = n_users + n_items.size, n_empty + int((n_items == 0).sum())
    if n_empty:
        written = "" if len(numbers) == len(parts) else " of this call"
        _messages.say(f"{n_empty:,} of {n_users:,} users{written} have no item left to recommend.")


def _by_task(users: Path | None) -> bool | None:
    """Return whether the task of the split includes seen items; None without such a task."""
    from podium.data.splitting import task_of

    task = None if users is None else task_of(users)
    if task is None:
        return None
    verb = "leave out" if task == "new" else "include"
    _messages.say(f"the lists {verb} items of the training events (--task {task} of the split).")
    return task != "new"


def _fallback(fitted: Any, model: Path, fallback: Path | None) -> Any:
    """Return the model of users that the fitted one does not have, or None if they have no list."""
    import numpy as np

    from podium.recommenders import load

    if fallback is None:
        return fitted if fitted.serves_unknown else None
    other = load(fallback)
    if not other.serves_unknown:
        raise ArgumentError(
            f"--fallback needs a model with a list for any user, such as recent or popularity, but "
            f"{fallback} is a {type(other).__name__}."
        )
    items, others = (_labels(m.item_labels_, m.n_items_) for m in (fitted, other))
    if not np.array_equal(items, others):
        raise ArgumentError(
            f"--fallback needs a model of the same items, but {fallback} has {other.n_items_} and "
            f"{model} has {fitted.n_items_}. Train both on the same events."
        )
    return other


def _known(
    path: Path,
    kind: Literal["user", "item"],
    column: str | None,
    labels: NDArray[Any],
    model: Path,
    *,
    required: bool = True,
    of_others: Path | None = None,
) -> list[NDArray[Any]]:
    """Return the ids of a file that the model has, each once; print the number of the others.

    If there is a model of the others, they are returned too.
    """
    from podium.data.users import known_and_unknown, read_ids

    known, unknown = known_and_unknown(read_ids(path, kind, column), labels)
    n_ids = known.size + unknown.size
    if of_others is not None:
        if unknown.size:
            _messages.say(
                f"{path}: {unknown.size:,} of {n_ids:,} users have no history in {model}; their "
                f"lists are from {of_others}."
            )
        return [known, unknown]
    if required and not known.size:
        raise DataError(
            f"{path}: {model} contains none of its {kind}s, such as {_check.label(unknown[0])}. "
            f"The model has {kind}s such as {_check.label(labels[0])}."
        )
    if unknown.size:
        _messages.say(
            f"{path}: {unknown.size:,} of {n_ids:,} {kind}s left out, because {model} does not "
            "contain them."
        )
    return [known]


def _lists(
    parts: list[tuple[NDArray[Any], int]],
    models: list[Any],
    options: dict[str, Any],
    workers: Executor | None,
    dtype: Any,
) -> Iterator[tuple[NDArray[Any], Rows]]:
    """Yield the number of items of each user, and the rows, for each part of the users."""
    from podium.executors import Threads

    with progress("recommending") as show:
        lists = (workers or Threads(1)).map(_of_users, parts, models, options)
        for done, ((users, _), (items, scores)) in enumerate(zip(parts, lists, strict=True), 1):
            is_item = scores > -inf
            n_items = is_item.sum(axis=1)
            user = users.astype(dtype).repeat(n_items)
            yield n_items, {"user": user, "item": items[is_item], "score": scores[is_item]}
            show(done, len(parts), "parts")


def _of_users(part: tuple[NDArray[Any], int], models: list[Any], options: dict[str, Any]) -> Any:
    users, place = part
    return models[place].recommend(users, **options)


@contextmanager
def _opened(
    out: Path | None, n_parts: int, job: Callable[[], dict[str, Any]]
) -> Generator[tuple[list[int], Callable[[int, Rows], None]]]:
    """Yield the numbers of the parts to write, and a function that writes one.

    Files of an interrupted command are kept in the folder of lists.
    """
    from podium.data.appending import PartFolder

    if out is None or not is_folder_target(out):
        with opened(out) as append:
            yield list(range(n_parts)), lambda _, rows: append(rows)
        return
    with PartFolder(out, job()) as folder:
        missing = [number for number in range(n_parts) if not folder.has(number)]
        if len(missing) < n_parts:
            _messages.say(f"{n_parts - len(missing)} of {n_parts} files are there already.")
        yield missing, folder.write


def _job(models: list[Path], users: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return what the lists depend on, large values as checksums."""
    import hashlib

    import podium

    def checksum(content: bytes) -> str:
        return hashlib.sha256(content).hexdigest()

    def of_ids(parts: list[Any]) -> str:
        texts = ("None" if part is None else str(part.tolist()) for part in parts)
        return checksum("".join(texts).encode())

    return {
        "podium": podium.__version__,
        "MODEL": checksum(b"".join(path.read_bytes() for path in models)),
        "-k": options["k"],
        "--include-seen": not options["exclude_seen"],
        "--device": options["device"],
        "--users": of_ids(users),
        "--allow": of_ids([options["allow"]]),
        "--deny": of_ids([options["deny"]]),
    }


def _labels(labels: Any, n: int) -> NDArray[Any]:
    """Return the ids, or row numbers if the model was fitted to a matrix."""
    import numpy as np

    return np.arange(n) if labels is None else labels
