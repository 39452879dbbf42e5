"""The command podium compare: runs on the same users, compared in pairs."""

from __future__ import annotations

import glob
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from podium import _check
from podium._files import Named, refuse_same
from podium.cli import _render, _reports
from podium.cli._options import WRITTEN
from podium.cli._protocol import Columns, Scoring
from podium.cli._tables import LargeTables, Output, check_labels
from podium.cli.measure import DEFAULT_MEASURES
from podium.errors import ArgumentError, DataError


def compare(
    *,
    truth: Annotated[Path, typer.Argument()],
    runs: Annotated[list[Path], typer.Argument()],
    train: Path | None = None,
    users: Path | None = None,
    catalogue: Path | None = None,
    items: Path | None = None,
    pairs: str = "first",
    labels: Annotated[Path | None, WRITTEN, typer.Option(rich_help_panel="Output")] = None,
    scoring: Scoring,
    output: Output,
    columns: Columns,
    large: LargeTables,
) -> None:
    """Compare runs on the same users: differences, intervals, paired tests.

    Runs are named after their files. The p values are those of the paired randomisation test,
    before and after Holm's correction for all tests of the comparison, and of the paired t test.

    Parameters
    ----------
    truth : TRUTH
        Truth, a table of relevant items: user, item, relevance. A quoted path with *, such as
        'split*/truth.csv', is one truth per split.
    runs : RUN_A RUN_B…
        Two or more runs, tables of ranked items: user, item, and score or rank. The first run is
        the baseline. A quoted path with *, such as 'split*/als.csv', is one run per split or seed.
    train : FILE
        Training part, to find leaks and to measure lists of popular, of recent and of the user's
        own items, which is done too if podium split --by time wrote TRUTH.
    pairs : PAIRS
        Pairs of runs to compare: first (each run with the first one) or all. With all, letters show
        which runs do not differ significantly.
    labels : FILE
        File to write items to judge to: measure, baseline, run, user, item. If none of them is
        relevant, it is settled which run is better. Requires --unjudged bounds.
    """
    output.check()
    from podium import data
    from podium.decide import compare as compare_runs
    from podium.evaluation.comparison import PAIRS
    from podium.evaluation.evaluation import per_user_columns
    from podium.results import renderer_of

    if len(runs) < 2:
        raise ArgumentError(
            "RUN_A RUN_B… must be at least two runs, got 1. For one run, use podium measure."
        )
    _check.choice(pairs, "--pairs", PAIRS)
    protocol = scoring.in_force(columns, DEFAULT_MEASURES)
    check_labels(labels, protocol)
    names = run_names(runs)
    splits, (truths, *tables) = _by_split([truth, *runs])
    lists = ([one] if isinstance(one, Path) else one for one in (truths, *tables))
    read = [path for paths in lists for path in paths]
    written = {"--report": output.report, "--per-user": output.per_user, "--labels": labels}
    refuse_same(
        [Named(str(path), path) for path in read],
        [Named(name, path) for name, path in written.items() if path is not None],
    )
    page = output.report
    categories, titles = _reports.divided_items(items, protocol, page)
    with large.storage("comparing") as storage:
        comparison = compare_runs(
            truths,
            dict(zip(names, tables, strict=True)),
            protocol,
            train=train,
            users=users,
            catalogue=catalogue,
            items=categories,
            keep_lists=page is not None,
            pairs=pairs,  # pyright: ignore[reportArgumentType]
            splits=splits,
            storage=storage,
        )
    read += filter(None, (users, catalogue, items, train))
    _reports.write(comparison, page, read, titles=titles, seed=protocol.bootstrap_seed)
    output.write_per_user(per_user_columns(comparison.evaluations))
    if labels is not None:
        data.write_table(comparison.labels(), labels)
    _render.write_result(renderer_of(comparison), output.format)
    scoring.say(protocol, truth)


def _by_split(paths: list[Path]) -> tuple[list[str], list[Path | list[Path]]]:
    """Return the names of splits, and each path, or its files by split if it contains a *.

    Raises
    ------
    DataError
        If a path with * matches no file, or the files of two paths are not of the same splits.
    """
    matches = {path: _matches(path) for path in paths if "*" in str(path)}
    first = next(iter(matches), Path())
    splits = sorted(matches.get(first, ()))
    for path, of_path in matches.items():
        if missing := sorted(of_path.keys() ^ {*splits}):
            raise DataError(
                f"{first} and {path} must match the same splits, but only one of them matches "
                f"{missing[0]!r}."
            )
    by_split = {path: [of_path[name] for name in splits] for path, of_path in matches.items()}
    return splits, [by_split.get(path, path) for path in paths]


def _matches(path: Path) -> dict[str, Path]:
    """Return the files that match a path with one *, by the text that the * stands for."""
    start, _, end = str(path).partition("*")
    if "*" in end:
        raise DataError(f"{path} must contain a single *, which stands for the split.")
    pattern = f"{glob.escape(start)}*{glob.escape(end)}".removeprefix(path.anchor)
    found = [*Path(path.anchor).glob(pattern)]
    files = {str(file)[len(start) : len(str(file)) - len(end)]: file for file in found}
    if len(files) < 2:
        raise DataError(
            f"{path} must match two or more files, one for each split, but matches {len(files)}. "
            "Check the path, or leave out the *."
        )
    return files


def run_names(paths: list[Path]) -> list[str]:
    """Return names of runs: the stem of the file, with the folder or a number if stems are equal.

    Examples
    --------
    >>> run_names([Path("a/als.csv.gz"), Path("b/als.parquet"), Path("pop.csv")])
    ['a/als', 'b/als', 'pop']
    """
    files = [Path(p.stem) if p.suffix.lower() == ".gz" else p for p in paths]
    stems = [file.stem for file in files]
    stem_counts = Counter(stems)
    names = [
        f"{path.absolute().parent.name}/{stem}" if stem_counts[stem] > 1 else stem
        for path, stem in zip(paths, stems, strict=True)
    ]
    return [
        f"{name}#{names[:i].count(name) + 1}" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]
