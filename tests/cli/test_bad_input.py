"""Wrong words and wrong files: one line on stderr, status 2, nothing on stdout, no file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import data

MEASURE = ("measure", "truth.csv", "a.csv", "-m", "recall@2")
TRAIN = ("train", "rows.csv", "--loss", "pap-avg", "-k", "2", "--out", "model")

RUN = "user,item,score\n"
TRUTH = "user,item,relevance\n"


def refused(done: Any, pattern: str) -> None:
    """Assert that a command said one line that matches, printed nothing, and gave status 2."""
    assert re.search(pattern, done.message), done.message
    assert done.out == ""
    assert done.status == 2


# What a.csv becomes, and what is said of it.
BAD_RUNS = {
    "nan": (RUN + "0,0,1\n1,1,nan\n", r"a\.csv: score has 1 non-finite .* line 3 \(user 1\)"),
    "infinite": (RUN + "0,0,inf\n1,1,2\n", r"a\.csv: score has 1 non-finite .* line 2 \(user 0\)"),
    "text": (RUN + "0,0,best\n", r"a\.csv, line 2: score must be a number, got 'best'"),
    "duplicate": (
        RUN + "0,5,1\n0,6,2\n0,5,3\n1,0,1\n2,0,1\n3,0,1\n",
        r"a\.csv lists item 5 twice for user 0",
    ),
    "empty": ("", r"^a\.csv is empty\."),
    "header only": (RUN, r"^a\.csv has a header but no rows\."),
    "no item": ("user,score\n0,1\n", r"a\.csv has no item column: it has 'user', 'score'\."),
    "no score": ("user,item\n0,1\n", r"a\.csv has no score or rank column"),
    "other users": (RUN + "7,0,1\n8,0,1\n", r"^No user is in both tables: .*truth\.csv and a\.csv"),
    "other items": (
        RUN + "".join(f"{u},i0,1\n{u},i1,2\n" for u in range(4)),
        r"^No item is in both tables: the truth has 0, the run has 'i0'\. .* truth\.csv and a\.csv",
    ),
    "half a rank": (
        "user,item,rank\n0,1,1\n0,0,1.5\n",
        r"a\.csv: rank must be an integer >= 1, got 1\.5 at line 3 \(user 0\)",
    ),
    "rank against score": (
        "user,item,score,rank\n1,5,1,1\n0,1,0.5,1\n0,0,0.9,2\n",
        (
            r"score and rank contradict .* line 3 has score 0\.5 and rank 1, line 4 has 0\.9 and 2 "
            r"\(user 0\)\. Choose one column with --column score=NAME or --column rank=NAME"
        ),
    ),
    "few users": (RUN + "0,0,1\n", r"lacks 3 of 4 users.* Pass --missing zero .* --missing skip"),
    "short row": (RUN + "0,0,1\n0,1\n", r"a\.csv: score has 1 missing value, first at line 3"),
    "long row": (RUN + "0,0,1\n0,1,2,3\n", r"a\.csv, line 3: 3 fields expected"),
    "not text": (RUN + "0,\0\udcff,1\n", r"a\.csv, line 2: not UTF-8"),
}


@pytest.mark.parametrize(("text", "pattern"), BAD_RUNS.values(), ids=BAD_RUNS)
@pytest.mark.parametrize("command", ["measure", "compare"])
def test_bad_run_is_refused(
    podium: Callable[..., Any], command: str, text: str, pattern: str
) -> None:
    Path("a.csv").write_bytes(text.encode(errors="surrogateescape"))
    runs = ("a.csv", "b.csv") if command == "compare" else ("a.csv",)
    refused(podium(command, "truth.csv", *runs, "-m", "recall@2"), pattern)


BAD_TRUTHS = {
    "nan": (TRUTH + "0,0,1\n1,1,nan\n", r"truth\.csv: relevance has 1 non-finite"),
    "duplicate": (TRUTH + "0,0,1\n0,0,1\n", r"truth\.csv lists item 0 twice for user 0"),
    "empty": ("", r"^truth\.csv is empty\."),
    "no user": (
        "usr,item\n0,1\n",
        r"truth\.csv has no user column: .* or pass --column user=NAME\.",
    ),
    "ratings": (
        "user,item,rating\n0,0,2\n",
        r"truth\.csv contains ratings, .* --min-relevance 4\.",
    ),
    "a run": (
        RUN + "0,0,2\n",
        r"Pass the truth first and the run second\. .* pass --column relevance=NAME ",
    ),
}


@pytest.mark.parametrize(("text", "pattern"), BAD_TRUTHS.values(), ids=BAD_TRUTHS)
def test_bad_truth_is_refused(podium: Callable[..., Any], text: str, pattern: str) -> None:
    Path("truth.csv").write_text(text)
    refused(podium(*MEASURE), pattern)


def test_grades_below_0_are_named_in_a_warning(podium: Callable[..., Any]) -> None:
    Path("truth.csv").write_text(TRUTH + "".join(f"{u},0,1\n{u},7,-2\n" for u in range(4)))
    done = podium(*MEASURE)
    assert (done.status, "relevances below 0" in done.err) == (0, True)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv.gz"])
def test_truncated_file_is_refused(podium: Callable[..., Any], suffix: str) -> None:
    run = Path(f"run{suffix}")
    ids = np.arange(500)
    data.write_table({"user": ids, "item": ids, "score": ids * 1.5}, run)
    whole = run.read_bytes()
    run.write_bytes(whole[: len(whole) // 2])
    refused(podium("measure", "truth.csv", str(run)), rf"^run{re.escape(suffix)} can't be read")


BAD_OPTIONS = {
    "cutoff": (("-m", "pap@0"), r"^k must be an integer >= 1, got '0' in 'pap@0'"),
    "measure": (("-m", "ndgc@10"), r"'ndgc' is not known\. Did you mean 'ndcg'\?"),
    "parameter": (("-m", "recall(nrm=min)@3"), r"'nrm'.* Did you mean 'norm'\?"),
    "format": (("--format", "jsno"), r"^--format must be .* Did you mean 'json'\?"),
    "option": (("--fromat", "json"), r"No such option: --fromat .*--format.* See 'podium measure"),
    "ties": (("--ties", "wrost"), r"^--ties must be .* Did you mean 'worst'\?"),
    "missing": (("--missing", "zeor"), r"^--missing must be .* Did you mean 'zero'\?"),
    "unjudged": (("--unjudged", "skp"), r"^--unjudged must be .* Did you mean 'skip'\?"),
    "undefined": (("--undefined", "zer"), r"^--undefined must be .* Did you mean 'zero'\?"),
    "undefined user": (
        ("--undefined", "error", "--min-relevance", "2"),
        r"undefined for 4 of 4 .* Pass --undefined skip, zero or one\.",
    ),
    "unjudged item": (("--unjudged", "error"), r"Pass --unjudged negative .* or --unjudged skip "),
    "level": (("--level", "95"), r"^--level must be a number > 0 and < 1, got 95"),
    "seed": (("--seed", "-1"), r"^--seed must be an integer >= 0, got -1"),
    "threshold": (("--min-relevance", "0"), r"^--min-relevance must be a number > 0"),
    "catalogue size": (("--n-items", "3"), r"^--n-items must be at least the number of items"),
    "not a number": (("--n-items", "many"), r"'--n-items'.* integer.*\. See 'podium measure --h"),
    "segments": (("--by", "engagment"), r"^--by engagment needs --users.* 'engagement'\?"),
    "column": (("--by", "contry", "--users", "users.csv"), r"'contry'.* Did you mean 'country'\?"),
    "users": (("--by", "country", "--users", "none.csv"), r"^none\.csv does not exist\."),
    "score column": (("--column", "score=scroe"), r"a\.csv has no column 'scroe': .* 'score'\?"),
    "pooled": (("--pooled", "-m", "rr"), r"^--pooled: none of .* has a pooled form"),
    "report": (("--report", "page.pdf"), r"^--report must end in '\.html' or '\.htm'"),
    "table": (("--per-user", "users.xls"), r"^--per-user must end in .*got 'users\.xls'"),
    "folder": (("--per-user", "none/users.csv"), r"there is no folder none"),
    "report is a folder": (("--report", "sub.html"), r"^--report must be a file, but sub\.html is"),
}


@pytest.mark.parametrize(("options", "pattern"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_option_is_refused(
    podium: Callable[..., Any], options: tuple[str, ...], pattern: str
) -> None:
    Path("sub.html").mkdir()
    measure = MEASURE[:-2] if "-m" in options else MEASURE
    refused(podium(*measure, *options), pattern)


@pytest.mark.parametrize(
    ("argv", "pattern"),
    [
        (("measur", "truth.csv", "a.csv"), r"'measur'\. Did you mean 'measure'\?"),
        (("measure", "truth.csv"), r"Missing argument 'RUN'\. See 'podium measure --help'\."),
        (("measure", "truth.csv", "none.csv"), r"^none\.csv does not exist\."),
        (("measure", ".", "a.csv"), r"^\. is a folder\."),
        (
            ("measure", "truth.csv", "strange"),
            r"strange has an unknown format.* Give it one of the suf",
        ),
        (("compare", "truth.csv", "a.csv"), r"at least two runs, got 1\. For one run, use podium"),
        (("rank", "none", "rows.csv"), r"^none is not a file\."),
        (("rank", "a.csv", "rows.csv"), r"^a\.csv is truncated or not a model file"),
        (("rank", "none", "rows.csv", "-k", "0"), r"^-k must be an integer >= 1, got 0\.$"),
        (("rank", "none", "rows.csv", "-o", "run.xyz"), r"^--out must end in '\.parquet'"),
        (("train", "none.csv", "--loss", "pap-avg", "-o", "m"), r"^none\.csv does not exist\."),
    ],
)
def test_bad_call_is_refused(
    podium: Callable[..., Any], argv: tuple[str, ...], pattern: str
) -> None:
    Path("strange").write_text("hello\n")
    refused(podium(*argv), pattern)


ROWS = "user,item,relevance,x\n" + "".join(
    f"{u},{i},{i % 2},{i}.5\n" for u in (0, 1) for i in range(8)
)

BAD_ROWS = {
    "negative": (ROWS + "1,9,-1,0\n", r"rows\.csv: relevance must be >= 0, got -1 at line 18"),
    "empty": ("", r"^rows\.csv is empty\."),
    "no label": (
        "user,item,x\n0,1,2\n",
        r"rows\.csv has no relevance column, which .*relevance=NAME",
    ),
    "no user": ("item,label,x\n0,1,2\n", r"rows\.csv has no user column"),
    "no feature": ("user,label\n0,1\n", r"rows\.csv has no feature column"),
    "no negatives": ("user,label,x\n0,1,2\n0,0,1\n", r"pass --clip, or check --min-relevance"),
}


@pytest.mark.parametrize(("text", "pattern"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows_are_refused(podium: Callable[..., Any], text: str, pattern: str) -> None:
    Path("rows.csv").write_text(text)
    refused(podium(*TRAIN), pattern)
    assert not Path("model").exists()


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        (("--loss", "pap-agv"), r"^--loss must be .* Did you mean 'pap-avg'\?"),
        (("-k", "0"), r"^-k must be an integer >= 1"),
        (("--l2", "-1"), r"^--l2 must be a number >= 0"),
        (("--set", "tol=-1"), r"^--set tol must be a number >= 0"),
        (("--max-iter", "0"), r"^--max-iter must be an integer >= 1"),
        (("--learning-rate", "0"), r"^--learning-rate must be a number > 0"),
        (("--patience", "0", "--valid", "rows.csv"), r"^--patience must be an integer >= 1"),
        (("--patience", "9"), r"^--patience needs --valid, --valid-share or --folds\.$"),
        (("--jobs", "2"), r"^--jobs needs --tune or --folds: without them there is one fit\.$"),
        (("--jobs", "1", "--valid-share", "0.5"), r"^--jobs needs --tune or --folds"),
        (("--min-relevance", "0"), r"^--min-relevance must be a number > 0"),
        (("--eval-metric", "rr"), r"^--eval-metric needs --valid"),
        (("--valid", "none.csv"), r"^none\.csv does not exist"),
        (("--valid", "idle.csv"), r"^pap@2 is defined on none .* of --valid: .*--eval-metric"),
        (("--valid", "other.csv"), r"^other\.csv has no column 'x'"),
        (("--features", "x,y"), r"^rows\.csv has no column 'y'"),
        (("--valid", "nan.csv", "--features", "x"), r"^nan\.csv: 1 feature .* first 'x' at row 1 "),
        (("--features", "z"), r"^rows\.csv has no column 'z'"),
        (("--ignore", "zz"), r"^rows\.csv has no column 'zz'"),
        (("--out", "none/model"), r"^--out none/model can't be written: there is no folder none"),
        (
            ("--loss", "logistic", "--clip"),
            r"^--clip has no effect with the loss logistic\. Leave it out, or use it with pap-avg",
        ),
        (
            ("--loss", "pap-logistic", "--clip"),
            r"^--clip has no effect with the loss pap-logistic\. .*-struct-exact",
        ),
        (
            ("--loss", "softmax", "--min-relevance", "2"),
            r"^--min-relevance has no effect with the loss softmax\. Leave it out, .*listmle",
        ),
        (("--loss", "listmle(hed=k)"), r"^listmle has no parameter 'hed'\. Did you mean 'head'\?"),
        (("--loss", "listmle(head=k"), r"^loss 'listmle\(head=k' is not of the form name@k"),
        (("--loss", "listmle@0"), r"^k must be an integer >= 1, got '0' in 'listmle@0'"),
    ],
)
def test_bad_training_option_is_refused(
    podium: Callable[..., Any], options: tuple[str, ...], pattern: str
) -> None:
    Path("rows.csv").write_text(ROWS)
    Path("idle.csv").write_text("user,item,relevance,x\n0,1,0,2\n0,2,0,2\n")
    Path("other.csv").write_text("user,item,relevance,y\n0,1,0,2\n")
    Path("nan.csv").write_text("user,item,relevance,x\n0,1,0,3\n0,2,1,nan\n")
    refused(podium(*TRAIN, *options), pattern)
    assert not Path("model").exists()


def test_feature_that_is_not_finite_is_named(podium: Callable[..., Any]) -> None:
    Path("rows.svmlight").write_text("1 qid:1 1:0.5\n0 qid:7 2:0.25\n0 qid:7 1:3 3:nan\n")
    refused(
        podium("train", "rows.svmlight", "--loss", "logistic", "-o", "model"),
        r"^rows\.svmlight, line 3: .* got '3:nan'",
    )


def test_missing_time_names_file_column_and_line(podium: Callable[..., Any]) -> None:
    lines = ROWS.splitlines()
    lines = [
        f"{lines[0]},when",
        *(f"{line},2020-01-{i + 1:02}" for i, line in enumerate(lines[1:])),
    ]
    lines[4] = lines[4].rpartition(",")[0] + ","
    Path("rows.csv").write_text("\n".join(lines))
    split = ("--split", "time", "--column", "timestamp=when")
    refused(podium(*TRAIN, *split), r"^rows\.csv: when has 1 missing value, first at line 5\.")


@pytest.mark.parametrize("before", [None, "what was there"])
def test_nothing_is_written_after_an_error(podium: Callable[..., Any], before: str | None) -> None:
    """The bad line comes last, so the options were fine and the outputs already known."""
    Path("b.csv").write_text(Path("b.csv").read_text() + "0,7,nan\n")
    Path("rows.csv").write_text(ROWS + "1,9,-1,0\n")
    outputs = [Path(name) for name in ("page.html", "each.csv", "model", "run.csv")]
    if before is not None:
        for path in outputs:
            path.write_text(before)
    there = sorted(Path().iterdir())
    wanted = ("--report", "page.html", "--per-user", "each.csv")
    assert podium("measure", "truth.csv", "b.csv", *wanted).status == 2
    assert podium("compare", "truth.csv", "a.csv", "b.csv", *wanted).status == 2
    assert podium(*TRAIN).status == 2
    assert podium("rank", "a.csv", "rows.csv", "--out", "run.csv").status == 2
    assert sorted(Path().iterdir()) == there
    assert {path.read_text() for path in outputs if path.exists()} == (
        set() if before is None else {before}
    )


def test_debug_shows_where_an_error_came_from(podium: Callable[..., Any]) -> None:
    done = podium("--debug", "measure", "truth.csv", "none.csv")
    assert done.err.startswith("Traceback")
    assert done.err.splitlines()[-1].startswith("podium: error: none.csv does not exist.")
    assert done.status == 2
