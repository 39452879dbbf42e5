"""The command podium recommend: the best items of users, as a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from podium import _check
from podium.cli import _messages
from podium.cli._cluster import Cluster
from podium.cli._messages import Sets, progress
from podium.cli._options import (
    WRITTEN,
    ColumnNames,
    check_new_folder,
    check_target,
    is_folder_target,
)
from podium.cli.rank import RUNS, opened
from podium.errors import ArgumentError, DataError
from podium.types import Progress

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
    if is_folder_target(out):
        check_new_folder(out, "--out")
    else:
        check_target(out, "--out", RUNS)
    cluster.check()
    from podium.data.splitting import task_of
    from podium.recommenders import load

    max_items = _check.cutoff(k, name="-k")
    task = None if users is None or include_seen is not None else task_of(users)
    if task is not None:
        include_seen = task != "new"
        verb = "include" if include_seen else "leave out"
        _messages.say(
            f"the lists {verb} items of the training events (--task {task} of the split)."
        )
    fitted = load(model)
    other = _fallback(fitted, model, fallback)
    items = ("item", columns.name_of("item"), _labels(fitted.item_labels_, fitted.n_items_))
    options: dict[str, Any] = {
        "k": min(max_items, fitted.n_items_),
        "exclude_seen": not (fitted.repeats if include_seen is None else include_seen),
        "allow": _known(allow, *items, model=model, option="--allow"),
        "deny": _known(deny, *items, model=model, option="--deny"),
        "device": device,
    }
    all_users = _labels(fitted.user_labels_, fitted.n_users_)
    of_others = None if other is None else fallback or model
    named = ("user", columns.name_of("user"), all_users)
    known = _known(users, *named, model=model, of_others=of_others)
    user_ids = all_users if known is None else known
    fitted = fitted if other is None else _WithFallback(fitted, other)
    with cluster.executor() as workers, progress("recommending") as show:
        lists = Lists(user_ids, fitted, options, workers, show)
        if out is not None and is_folder_target(out):
            models = [model] if fallback is None else [model, fallback]
            _write_folder(out, _job(models, user_ids, options), lists)
        else:
            size = max(1, min(_MOST_USERS, _ROWS // lists.k))  # lists that fit in memory
            with opened(out) as append:
                starts = range(0, lists.users.size, size)
                lists.write(starts, size, lambda _, rows: append(rows))
    if lists.n_empty:
        written = "" if lists.n_users == user_ids.size else " of this call"
        _messages.say(
            f"{lists.n_empty:,} of {lists.n_users:,} users{written} have no item left to recommend."
        )


@dataclass(frozen=True)
class _WithFallback:
    """A fitted model, and one with a list for the users that the first one does not have."""

    model: Any
    fallback: Any

    def recommend(self, users: NDArray[Any], k: int, **options: Any) -> Any:
        """Return items and scores as a model does."""
        import numpy as np

        labels = _labels(self.model.item_labels_, self.model.n_items_)
        items, scores = np.empty((users.size, k), labels.dtype), np.empty((users.size, k), "f4")
        known_users = _labels(self.model.user_labels_, self.model.n_users_)
        rows = np.isin(users, known_users)
        if rows.any():
            known = users[rows].astype(known_users.dtype)  # numbers beside unknown texts are texts
            items[rows], scores[rows] = self.model.recommend(known, k, **options)
        if not rows.all():
            items[~rows], scores[~rows] = self.fallback.recommend(users[~rows], k, **options)
        return items, scores


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


class Lists:
    """The lists of users of a fitted model, as rows.

    Attributes
    ----------
    users : (n_users,)
    k : int
        The most items of a user.
    n_users, n_empty : int
        The number of users so far, and of those without an item.
    """

    def __init__(
        self,
        users: NDArray[Any],
        fitted: Any,
        options: dict[str, Any],
        workers: Executor | None,
        show: Progress,
    ) -> None:
        from podium.executors import Threads

        self.users, self.k, self.n_users, self.n_empty = users, int(options["k"]), 0, 0
        self._fitted, self._options, self._show = fitted, options, show
        self._executor = Threads(1) if workers is None else workers

    def write(self, starts: Sequence[int], size: int, append: Callable[[int, Rows], None]) -> None:
        """Append the rows of the users from each start, which is passed on with them."""
        parts = [self.users[start : start + size] for start in starts]
        lists = self._executor.map(_lists, parts, self._fitted, self._options)
        for start, users, (items, scores) in zip(starts, parts, lists, strict=True):
            self.n_users += users.size
            is_item = scores > -inf
            n_items = is_item.sum(axis=1)
            self.n_empty += int((n_items == 0).sum())
            rows = {"user": users.repeat(n_items), "item": items[is_item], "score": scores[is_item]}
            append(start, rows)
            self._show(min(start + size, self.users.size), self.users.size, "users")


def _lists(users: NDArray[Any], fitted: Any, options: dict[str, Any]) -> Any:
    return fitted.recommend(users, **options)


def _write_folder(out: Path, job: dict[str, Any], lists: Lists) -> None:
    """Write the lists of _PART users per file; files of an interrupted command are kept."""
    from podium.data.appending import PartFolder

    starts = range(0, max(lists.users.size, 1), _PART)
    with PartFolder(out, job) as folder:
        missing = [start for start in starts if not folder.has(start // _PART)]
        if len(missing) < len(starts):
            n_kept = len(starts) - len(missing)
            _messages.say(f"{n_kept} of {len(starts)} files are there already.")
        lists.write(missing, _PART, lambda start, rows: folder.write(start // _PART, rows))


def _job(models: list[Path], users: NDArray[Any], options: dict[str, Any]) -> dict[str, Any]:
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
        "MODEL": hashlib.sha256(b"".join(path.read_bytes() for path in models)).hexdigest(),
        "--users": checksum(users),
        "-k": options["k"],
        "--include-seen": not options["exclude_seen"],
        "--allow": checksum(options["allow"]),
        "--deny": checksum(options["deny"]),
        "--device": options["device"],
    }


def _known(
    path: Path | None,
    kind: Literal["user", "item"],
    column: str | None,
    labels: NDArray[Any],
    *,
    model: Path,
    option: str = "",
    of_others: Path | None = None,
) -> Any:
    """Return the ids of a file that the model has, each once; print the number of the others.

    If there is a model of the others, they are returned too, after the first ones.
    """
    import numpy as np

    from podium.data.users import known_and_unknown, read_ids

    if path is None:
        return None
    source = f"{option} {path}".strip()
    known, unknown = known_and_unknown(read_ids(path, kind, column), labels)
    if of_others is not None and unknown.size:
        _messages.say(
            f"{path}: {unknown.size:,} of {known.size + unknown.size:,} users have no history in "
            f"{model}; their lists are from {of_others}."
        )
        return np.concatenate([known, unknown]) if known.size else unknown
    if not known.size and option != "--deny":
        raise DataError(
            f"{source}: {model} contains none of its {kind}s, such as {_check.label(unknown[0])}. "
            f"The model has {kind}s such as {_check.label(labels[0])}."
        )
    if unknown.size:
        _messages.say(
            f"{source}: {unknown.size} of {known.size + unknown.size} {kind}s left out, because "
            f"{model} does not contain them{f', first {_check.label(unknown[0])}' * bool(option)}."
        )
    return known


def _labels(labels: Any, n: int) -> NDArray[Any]:
    """Return the ids, or row numbers if the model was fitted to a matrix."""
    import numpy as np

    return np.arange(n) if labels is None else labels
