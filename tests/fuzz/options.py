"""Odd values of every option of a command, with intact files."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer
from tests.fuzz import tables
from tests.fuzz.case import Case, Corpus
from tests.fuzz.damage import ODD_TEXTS

from podium.cli import app

# Options that would run for long, or use other machines, processes or folders.
_LEFT_OUT = {
    *("--ray", "--workers", "--jobs", "--help", "--version", "--tune", "--budget"),
    *("--data", "--debug"),
}
# Options that determine the amount of work, and so may take any time if large.
_WORK = {"--set", "--repeats", "--folds"}
_OUTPUTS = {"--out", "-o", "--report", "--per-user", "--tune-table", "--state", "--labels"}
_OUTPUTS |= {"--lists"}
_READ = {"--seen", "--users", "--allow", "--deny", "--valid", "--catalogue", "--pilot"}
_READ |= {"--items", "--other-truth", "--other-run"}
_FILES = ("truth.csv", "run.csv", "rows.csv", "pairs.csv", "ranks.csv", "scores.csv", "factors")
_FILES += ("linear", "none.csv", ".", "")

_METRICS = ("pap", "ndcg", "recall", "precision", "ap", "rr", "err", "auc", "pauc", "rbp", "dcg")
_METRICS += ("hit_rate", "r_precision", "coverage", "novelty", "topk_loss", "auc_at")
_METRICS += ("gini", "popularity", "diversity", "bpref", "judged", "f1", "ndcg_cut", "MAP")
_PARTS = ("norm=min", "gain=exp2", "gain=linear", "p=0.8", "max_grade=4", "norm=retrieved", "p=")
_LOSSES = ("pap-ramp", "pap-avg", "listmle", "softmax", "logistic", "lambdarank", "robirank")
_LOSSES += ("pairwise-logistic", "listnet", "group-logistic", "squared", "bpr")
_METHODS = ("mle", "bv", "cls", "mes", "wmle", "naive", "smooth", "auto", "unbiased-rank")
_WORDS = ("zero", "skip", "one", "error", "worst", "best", "average", "id", "random", "negative")
_WORDS += ("json", "csv", "latex", "markdown", "table", "value", "exp2", "lbfgs", "time")
_WORDS += ("user-time", "leave-last", "group", "als", "ease", "item-knn", "popularity", "lists")
_WORDS += ("users", "rows", "user", "item", "x", "relevance", "engagement", "n_pos", "neural")
_WORDS += ("bounds", "threshold", "binary", "full", "list", "min", "count", "drop", "0.312")
_WORDS += ("recbole", "trec_eval", "sklearn", "torchmetrics")
_SETS = ("n_trees=2", "n_trees=0", "xi_rate=0.2", "decay=none", "decay=x", "n_leaves=1")
_SETS += ("a=b=c", "=", "random_state=1", "l2=nan", "l2=1e308", "loss=3", "hidden=[]", "options={}")
_SETS += ("l2=1e-4,1e-2", "l2='log(1e-6,1)'", "l2=log(0,1)", "loss=logistic,x", "k=1,2", "l2=")

# Arguments with which each command succeeds.
_BASES: dict[str, tuple[str, ...]] = {
    "split": ("pairs.csv", "--by", "random", "--out", "made"),
    "measure": ("truth.csv", "run.csv"),
    "compare": ("truth.csv", "run.csv", "run.csv"),
    "gate": ("truth.csv", "run.csv", "run.csv"),
    "audit": ("pairs.csv", "truth.csv", "run.csv", "--fail-on", "never"),
    "explain": ("truth.csv", "run.csv"),
    "train": ("rows.csv", "--set", "max_iter=3", "--out", "made"),
    "rank": ("linear", "rows.csv"),
    "recommend": ("factors",),
    "estimate": ("ranks.csv", "--items", "60", "--negatives", "20", "--method", "naive"),
    "plan": ("--items", "60", "--users", "9", "--error", "0.5", "--method", "naive"),
    "reproduce": ("list",),
}


def options(rng: random.Random, corpus: Corpus) -> Case:
    """Return a command in which one to three options have odd values."""
    command = rng.choice(list(_BASES))
    argv = [command, *_BASES[command]]
    case = Case(files=_files(rng, corpus))
    for _ in range(rng.choice((1, 1, 2, 3))):
        name, is_flag = rng.choice(_options(command))
        argv += [name] if is_flag else _given(rng, name)
    if rng.random() < 0.1:
        argv[rng.randrange(len(argv))] = _text(rng)
    if rng.random() < 0.1:
        argv.insert(rng.randrange(1, len(argv) + 1), _text(rng))
    case.argv = argv
    case.outputs = {word for option, word in pairwise(argv) if option in _OUTPUTS}
    case.kept = {f"{name}.checkpoint" for name in case.outputs}
    read = {word for option, word in pairwise(argv) if option in _READ}
    case.outputs -= case.files.keys() & {*_BASES[command], *read}
    if command == "split":
        folders = ("made", *case.outputs)
        parts = ("train.parquet", "test.parquet", "valid.parquet", "split.json")
        case.kept |= {*folders, *(Path(f, part).as_posix() for f in folders for part in parts)}
    if command == "recommend":
        case.outputs |= {f"{name}/part-00000.parquet" for name in case.outputs}
    if command == "reproduce":
        case.kept |= {"reproduce"}
    return case


def _given(rng: random.Random, name: str) -> list[str]:
    """Return an option with a value; an output file may also be an input."""
    if name in _OUTPUTS:
        suffix = rng.choice(
            (".csv", ".parquet", ".tsv", ".html", ".trec", ".xyz", "", ".csv.gz", ".md", ".xml")
        )
        path = rng.choice((f"made{suffix}", f"made{suffix}", f"no/made{suffix}", *_FILES))
        return [name, path]
    if name in _WORK:
        return [name, rng.choice(("0", "1", "2", "-1", "1.5", "nan", "", "many", "9" * 30))]
    return [name, _value(rng)] if rng.random() < 0.9 else [f"{name}={_value(rng)}"]


def _value(rng: random.Random) -> str:
    kinds = (_text(rng), _number(rng), _measure(rng), *map(rng.choice, (_WORDS, _FILES, _SETS)))
    return rng.choice(kinds)


def _text(rng: random.Random) -> str:
    """Return a text without a slash, so that it is no path outside the folder."""
    if rng.random() < 0.7:
        text = rng.choice(ODD_TEXTS)
    else:
        text = "".join(chr(rng.choice((rng.randrange(32, 127), 0xE9, 0x4E2D))) for _ in range(6))
    return text.replace("/", "").replace("\x00", "").replace("..", "")


def _number(rng: random.Random) -> str:
    numbers = ("0", "1", "2", "3", "-1", "0.5", "1e-300", "1e300", "nan", "inf", "1e9", "10,20,40")
    return rng.choice((*numbers, str(2**31), str(2**63), "9" * 30, "1000000000", "0.999999"))


def _measure(rng: random.Random) -> str:
    """Return the text of a measure, loss or method, sometimes with a mistake."""
    name = rng.choice(rng.choice((_METRICS, _LOSSES, _METHODS)))
    inside = ", ".join(rng.choice(_PARTS) for _ in range(rng.choice((0, 0, 1, 2))))
    text = f"{name}({inside})" if inside else name
    text += rng.choice(("", "@1", "@10", "@0", "@", f"@{2**40}", "@@2", "@1.5", "(", ")", "@-1"))
    return text if rng.random() < 0.8 else text[:-1]


@cache
def _options(command: str) -> list[tuple[str, bool]]:
    """Return the names of a command's options, and whether they are flags."""
    group: Any = typer.main.get_command(app)
    names = [
        (name, bool(getattr(parameter, "is_flag", False)))
        for parameter in group.commands[command].params
        for name in parameter.opts
    ]
    return [(name, flag) for name, flag in names if name[0] == "-" and name not in _LEFT_OUT]


def _files(rng: random.Random, corpus: Corpus) -> dict[str, bytes]:
    truth = tables.truth(rng)
    tables_by_name = {
        "truth": truth, "run": tables.run(rng, truth), "ranks": tables.sampled_ranks(rng),
        "scores": tables.candidate_scores(rng),
    }  # fmt: skip
    corpus_names = ("rows.csv", "pairs.csv", "factors", "linear")
    return {
        **{f"{name}.csv": tables.write(table, "csv") for name, table in tables_by_name.items()},
        **{name: corpus[name] for name in corpus_names},
    }
