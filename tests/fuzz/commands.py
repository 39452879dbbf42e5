"""Commands that read tables, of which some are damaged."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz import columns, tables
from tests.fuzz.case import Case, Corpus
from tests.fuzz.damage import spoil
from tests.fuzz.tables import Table

_OUTPUTS = ("out.csv", "out.parquet", "out.tsv", "out.arrow", "out.csv.gz")


class Files:
    """The tables of one input; each has its own format, and is intact or damaged."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.case = Case()

    def add(self, name: str, table: Table, *more: str) -> str:
        """Add a table, intact or damaged, in a usual format or one `more`; return its file."""
        rng = self.rng
        format = rng.choice((*tables.TEXTS, *tables.BINARIES, *more))
        damage = rng.choice(("whole", "whole", "cells", "cells", "bytes"))
        data = tables.write(columns.spoil(table, rng) if damage == "cells" else table, format)
        return self.add_bytes(f"{name}.{format}", spoil(data, rng) if damage == "bytes" else data)

    def add_bytes(self, name: str, data: bytes) -> str:
        """Add a file, sometimes with the suffix of another format; return its name."""
        if self.rng.random() < 0.04:
            name = f"{name.partition('.')[0]}{self.rng.choice(('', '.csv', '.parquet', '.gz'))}"
        self.case.files[name] = data
        return name

    def out(self, *names: str) -> str:
        """Return the name of an output file, which sometimes exists already."""
        name = self.rng.choice(names or _OUTPUTS)
        if self.rng.random() < 0.3:
            self.case.files[name] = b"what was there before"
        self.case.outputs.add(name)
        return name

    def maybe(self, *words: str, share: float = 0.3) -> list[str]:
        """Return the words with probability `share`, else []."""
        return list(words) if self.rng.random() < share else []


def _measure(files: Files) -> list[str]:
    truth = tables.truth(files.rng)
    paths = (
        files.add("truth", truth, "trec"),
        files.add("run", tables.run(files.rng, truth), "trec"),
    )
    argv = ["measure", *paths, *files.maybe("--min-relevance", "1")]
    argv += files.maybe("-m", files.rng.choice(("ndcg@3", "pap@2", "ap", "rr", "err@2")))
    argv += files.maybe("--missing", files.rng.choice(("zero", "skip")), share=0.6)
    argv += files.maybe("--ties", files.rng.choice(("best", "average", "id", "random")))
    argv += files.maybe("--n-items", "9") + files.maybe(
        "--interval", files.rng.choice(("wilson", "bootstrap")), share=0.2
    )
    if files.rng.random() < 0.2:
        argv += ["--catalogue", files.add("past", tables.interactions(files.rng))]
        argv += ["-m", files.rng.choice(("coverage@2", "gini@3", "novelty@1", "popularity@2"))]
    if files.rng.random() < 0.1:
        argv += ["--items", files.add("items", tables.truth(files.rng)), "-m", "diversity@3"]
    if files.rng.random() < 0.2:
        argv += ["--users", files.add("people", [*truth, ("country", truth[0][1])])]
        argv += ["--by", files.rng.choice(("country", "relevance", "n_pos", "engagement"))]
    if files.rng.random() < 0.2:
        argv += ["--per-user", files.out()]
    if files.rng.random() < 0.1:
        argv += ["--report", files.out("page.html")]
    return argv


def _compare(files: Files) -> list[str]:
    truth = tables.truth(files.rng)
    runs = [files.add(name, tables.run(files.rng, truth), "trec") for name in ("a", "b")]
    argv = ["compare", files.add("truth", truth, "trec"), *runs, "-m", "ndcg@3"]
    argv += files.maybe("--missing", "zero", share=0.6) + files.maybe("--min-relevance", "1")
    if files.rng.random() < 0.2:
        argv += ["--per-user", files.out()]
    return argv


def _gate(files: Files) -> list[str]:
    rng = files.rng
    truth = tables.truth(rng)
    runs = [files.add(name, tables.run(rng, truth), "trec") for name in ("a", "b")]
    argv = ["gate", files.add("truth", truth, "trec"), *runs, "-m", rng.choice(("ndcg@3", "rr"))]
    argv += files.maybe("--missing", rng.choice(("zero", "skip")), share=0.6)
    argv += files.maybe("--margin", "0.1") + files.maybe("--guard", "recall@2:-0.1")
    argv += files.maybe("--format", rng.choice(("json", "markdown", "junit")))
    if rng.random() < 0.3:
        argv += ["--catalogue", files.add("past", tables.interactions(rng))]
        argv += ["--guard", rng.choice(("coverage@2:-0.5", "novelty@2:-1", "gini@2:1"))]
    if rng.random() < 0.3:
        people = [*truth, ("country", truth[0][1]), ("weight", [1.0] * len(truth[0][1]))]
        argv += ["--users", files.add("people", people), "--by", "country"]
        argv += files.maybe("--weight", "weight") + files.maybe("--cluster", "country")
    if rng.random() < 0.3:
        argv += ["--sequential", "--state", files.out("state"), *files.maybe("--horizon", "9")]
    if rng.random() < 0.3:
        argv += ["--out", files.out("gate.json", "gate.md", "gate.xml")]
    if rng.random() < 0.2:
        argv += ["--unjudged", "bounds", "--ties", "id", "--labels", files.out()]
    return argv


def _train(files: Files) -> list[str]:
    rng = files.rng
    data = files.add("rows", tables.rows_to_learn(rng), "svmlight", "svmlight.gz", "svmlight")
    models = (("--loss", "logistic"), ("--loss", "pap-avg"), ("--loss", "listmle"))
    models += (("--model", "lightgbm", "--set", "n_trees=2"), ("--loss", "softmax"))
    argv = ["train", data, "-k", "2", "--out", files.out("model")]
    argv += [*rng.choice((*models, ("--model", "neural"), ()))]
    argv += ["--set", "max_iter=5"] if "--model" not in argv else []
    if rng.random() < 0.2:
        argv += ["--valid", files.add("valid", tables.rows_to_learn(rng), "svmlight")]
    argv += files.maybe("--set", "query_norm=true", share=0.1)
    argv += files.maybe("--features", "x", share=0.1)
    return argv


def _rank(files: Files) -> list[str]:
    files.case.files["model"] = b""  # a placeholder, replaced by a model of the corpus
    rows = files.add("rows", tables.rows_to_learn(files.rng), "svmlight", "svmlight.gz")
    argv = ["rank", "model", rows, *files.maybe("-k", "3")]
    return argv + (["--out", files.out()] if files.rng.random() < 0.4 else [])


def _factorize(files: Files) -> list[str]:
    rng = files.rng
    argv = ["train", files.add("pairs", tables.interactions(rng)), "--model", "factorization"]
    argv += ["--set", "n_factors=2", "--set", "n_epochs=2"]
    argv += ["--out", files.out("factors")]
    files.case.kept.add("factors.checkpoint")
    argv += files.maybe("--gain", rng.choice(("value", "one")))
    argv += files.maybe("--loss", rng.choice(("bpr", "type2", "identity")))
    if rng.random() < 0.3:
        argv += ["--valid", files.add("valid", tables.interactions(rng))]
    return argv


def _recommend(files: Files) -> list[str]:
    files.case.files["factors"] = b""
    argv = ["recommend", "factors", *files.maybe("-k", "3"), *files.maybe("--include-seen")]
    for option in files.rng.sample(("--users", "--allow", "--deny"), files.rng.randint(1, 2)):
        name = option.strip("-")
        if files.rng.random() < 0.3:
            ids = b"".join(b"%d\n" % files.rng.randrange(20) for _ in range(5))
            argv += [option, files.add_bytes(f"{name}.txt", spoil(ids, files.rng))]
        else:
            argv += [option, files.add(name, tables.interactions(files.rng))]
    return argv + (["--out", files.out()] if files.rng.random() < 0.4 else [])


def _estimate(files: Files) -> list[str]:
    rng = files.rng
    scores = rng.random() < 0.4
    table = tables.candidate_scores(rng) if scores else tables.sampled_ranks(rng)
    argv = ["estimate", files.add("ranks", table), "--items", rng.choice(("40", "60"))]
    argv += [] if scores or table[-1][0] == "n_negatives" else ["--negatives", "20"]
    argv += files.maybe("--method", rng.choice(("naive", "cls", "bv", "mes")), share=0.7)
    argv += files.maybe("--no-bounds", share=0.7)
    argv += files.maybe("--no-replacement") + files.maybe("-m", "recall@3")
    if rng.random() < 0.2:
        argv += ["--seen", files.add("seen", tables.interactions(rng))]
    return argv


def _plan(files: Files) -> list[str]:
    rng = files.rng
    argv = ["plan", "--items", "60", "--users", "40", "--error", rng.choice(("0.05", "0.5"))]
    argv += ["--pilot", files.add("pilot", tables.sampled_ranks(rng)), "--negatives", "20"]
    argv += ["--method", rng.choice(("naive", "cls"))]
    return argv


_COMMANDS: tuple[Callable[[Files], list[str]], ...] = (
    *(_measure,) * 6, _compare, _compare, _gate, _gate, _train, _train, _train, _rank, _rank,
    _factorize, _factorize, _recommend, _estimate, _estimate, _estimate, _plan,
)  # fmt: skip


def tables_of(rng: random.Random, corpus: Corpus) -> Case:
    """Return a command that reads tables, of which some may be damaged."""
    files = Files(rng)
    files.case.argv = rng.choice(_COMMANDS)(files)
    models = {
        "model": rng.choice(("linear", "listmle", "lightgbm", "neural")),
        "factors": "factors",
    }
    for name, key in models.items():
        if files.case.files.get(name) == b"" and name not in files.case.outputs:
            files.case.files[name] = corpus[key]
    return files.case
