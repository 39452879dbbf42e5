"""Wrong words and wrong files: one line on stderr, status 2, nothing on stdout, no file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MEASURE = "measure truth.csv a.csv -m recall@2"
TRAIN = "train rows.csv --loss pap-avg -k 2 --out model"

RUN = "user,item,score\n"
TRUTH = "user,item,relevance\n"
ROWS = "user,item,relevance,x\n" + "".join(
    f"{u},{i},{i % 2},{i}.5\n" for u in (0, 1) for i in range(8)
)

# What the error names, and the text of the table.
RUNS = [
    ("a.csv score 1 'line 3' 'user 1'", RUN + "0,0,1\n1,1,nan\n"),
    ("a.csv 'item 5' 'user 0'", RUN + "0,5,1\n0,6,2\n0,5,3\n1,0,1\n2,0,1\n3,0,1\n"),
    ("a.csv item", "user,score\n0,1\n"),
    ("a.csv 'score or rank'", "user,item\n0,1\n"),
    ("truth.csv a.csv user", RUN + "7,0,1\n8,0,1\n"),
    ("truth.csv a.csv i0", RUN + "".join(f"{u},i0,1\n{u},i1,2\n" for u in range(4))),
    ("a.csv rank 1.5 'line 3' 'user 0'", "user,item,rank\n0,1,1\n0,0,1.5\n"),
    (
        "'line 3' 'line 4' 0.5 0.9 'user 0' '--column score=NAME' '--column rank=NAME'",
        "user,item,score,rank\n1,5,1,1\n0,1,0.5,1\n0,0,0.9,2\n",
    ),
    ("'3 of 4' '--missing zero' '--missing skip'", RUN + "0,0,1\n"),
]
TRUTHS = [
    ("truth.csv relevance 1", TRUTH + "0,0,1\n1,1,nan\n"),
    ("truth.csv 'item 0' 'user 0'", TRUTH + "0,0,1\n0,0,1\n"),
    ("truth.csv '--column user=NAME'", "usr,item\n0,1\n"),
    ("truth.csv ratings '--min-relevance 4'", "user,item,rating\n0,0,2\n"),
    ("'--column relevance=NAME'", RUN + "0,0,2\n"),
]
TRAINED = [
    ("rows.csv relevance -1 'line 18'", ROWS + "1,9,-1,0\n"),
    ("rows.csv relevance=NAME", "user,item,x\n0,1,2\n"),
    ("rows.csv user", "item,label,x\n0,1,2\n"),
    ("rows.csv feature", "user,label\n0,1\n"),
    ("clip=True --min-relevance", "user,label,x\n0,1,2\n0,0,1\n"),
]


@pytest.mark.parametrize(
    ("file", "tables", "commands"),
    [
        ("a.csv", RUNS, (MEASURE, "compare truth.csv a.csv b.csv -m recall@2")),
        ("truth.csv", TRUTHS, (MEASURE,)),
        ("rows.csv", TRAINED, (TRAIN,)),
    ],
    ids=["run", "truth", "rows"],
)
def test_bad_table_is_refused(
    refuses: Callable[[str, str], None], file: str, tables: Any, commands: tuple[str, ...]
) -> None:
    for named, text in tables:
        Path(file).write_text(text)
        for command in commands:
            refuses(command, f" | {named}")


def test_grades_below_0_are_named_in_a_warning(podium: Callable[..., Any]) -> None:
    Path("truth.csv").write_text(TRUTH + "".join(f"{u},0,1\n{u},7,-2\n" for u in range(4)))
    done = podium(*MEASURE.split())
    assert (done.status, "relevances below 0" in done.err) == (0, True)


OPTIONS = """
-m ndgc@10 | ndgc ndcg
--format jsno | --format json
--fromat json | --fromat --format 'podium measure'
--undefined error --min-relevance 2 | '4 of 4' '--undefined skip, zero or one'
--unjudged error | '--unjudged negative' '--unjudged skip'
--level 95 | --level
--seed -1 | --seed
--n-items 3 | --n-items
--by engagment | '--by engagment' --users engagement
--by contry --users users.csv | contry country
--by country --users none.csv | none.csv
--column score=scroe | a.csv scroe score
--pooled -m rr | --pooled
--report page.pdf | --report .html
--report sub.html | --report sub.html
--per-user users.xls | --per-user users.xls
--per-user none/users.csv | none
--set unretreived=drop | --set unretrieved
--set score_above=x | --set score_above
--set single_precision=1 | --set single_precision
--set unretrieved | --set
"""
CALLS = """
measur truth.csv a.csv | measur measure
measure truth.csv | RUN 'podium measure --help'
measure truth.csv none.csv | none.csv
measure . a.csv | .
measure truth.csv strange | strange
compare truth.csv a.csv | 1 'podium measure'
rank none rows.csv | none
rank a.csv rows.csv | a.csv
rank none rows.csv -k 0 | -k
rank none rows.csv -o run.xyz | --out .parquet
train none.csv --loss pap-avg -o m | none.csv
train rows.svmlight --loss logistic -o model | 'rows.svmlight, line 3' 3:nan
"""
TRAINING = """
--valid none.csv | none.csv
--valid idle.csv | pap@2 --valid --eval-metric
--valid other.csv | other.csv 'x'
--features x,y | rows.csv 'y'
--valid nan.csv --features x | nan.csv 'x' 'row 1'
--ignore zz | rows.csv zz
--out none/model | --out none/model
--split time --column timestamp=when | rows.csv when 'line 5'
"""


def test_refusals(refuses: Callable[[str, str], None]) -> None:
    Path("sub.html").mkdir()
    Path("strange").write_text("hello\n")
    Path("rows.svmlight").write_text("1 qid:1 1:0.5\n0 qid:7 2:0.25\n0 qid:7 1:3 3:nan\n")
    lines = [f"{line},2020-01-{i:02}" for i, line in enumerate(ROWS.splitlines())]
    lines[0] = "user,item,relevance,x,when"
    lines[4] = lines[4].rpartition(",")[0] + ","
    Path("rows.csv").write_text("\n".join(lines))
    Path("idle.csv").write_text("user,item,relevance,x\n0,1,0,2\n0,2,0,2\n")
    Path("other.csv").write_text("user,item,relevance,y\n0,1,0,2\n")
    Path("nan.csv").write_text("user,item,relevance,x\n0,1,0,3\n0,2,1,nan\n")
    refuses("measure truth.csv a.csv", OPTIONS)
    refuses("", CALLS)
    refuses(TRAIN, TRAINING)


def test_nothing_is_written_after_an_error(refuses: Callable[[str, str], None]) -> None:
    """The bad line comes last, so the options were fine and the outputs already known."""
    Path("b.csv").write_text(Path("b.csv").read_text() + "0,7,nan\n")
    Path("rows.csv").write_text(ROWS + "1,9,-1,0\n")
    for before in (None, "what was there"):
        for name in ("page.html", "each.csv", "model", "run.csv") if before else ():
            Path(name).write_text(str(before))
        for command in (
            "measure truth.csv b.csv --report page.html --per-user each.csv",
            "compare truth.csv a.csv b.csv --report page.html --per-user each.csv",
            TRAIN,
            "rank a.csv rows.csv --out run.csv",
        ):
            refuses(command, " | .csv")


def test_debug_shows_where_an_error_came_from(podium: Callable[..., Any]) -> None:
    done = podium("--debug", "measure", "truth.csv", "none.csv")
    assert done.err.startswith("Traceback")
    assert done.err.splitlines()[-1].startswith("podium: error: none.csv")
    assert done.status == 2
