"""Errors of the library, in the words of the command line."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from podium.cli import _messages, app
from podium.cli._messages import as_options


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Pass missing='zero' to score them.", "Pass --missing zero to score them."),
        ("Pass undefined='skip', 'zero' or 'one'.", "Pass --undefined skip, zero or one."),
        ("missing='zero' or unjudged='skip'", "--missing zero or --unjudged skip"),
        ("Pass min_relevance=4 (--min-relevance 4).", "Pass --min-relevance 4."),
        ("pass n_items if all", "pass --n-items if all"),
        ("or pass user=.", "or pass --user-col."),
        ("Lower k, pass clip=True, or check", "Lower k, pass --clip, or check"),
        ("eval_set has no group. Give an eval_set", "--valid has no group. Give --valid"),
        ("another eval_metric.", "another --eval-metric."),
        ("stopped at max_iter=5: 0.2 > tol=0.001.", "stopped at --max-iter 5: 0.2 > --tol 0.001."),
        ("Raise max_iter or tol.", "Raise --max-iter or --tol."),
        ("or lower learning_rate or l2.", "or lower --learning-rate or --l2."),
        ("k must be an integer >= 1, got 0.", "-k must be an integer >= 1, got 0."),
        ("level must be a number, got 2.", "--level must be a number, got 2."),
        ("n_factors must be >= 1.", "--factors must be >= 1."),
        ("other settings: n_blocks was 8, is 4.", "other settings: --blocks was 8, is 4."),
        ("pairs that are not in user_items,", "pairs that are not in INTERACTIONS,"),
        ("or start again without resume.", "or start again without --resume."),
        ("address 'a:1': no Ray there", "--ray 'a:1': no Ray there"),
        ("k must be >= 1 or None (the whole list), got 0.", "-k must be >= 1, got 0."),
        ("margin must be a number >= 0, got -1.0.", "--margin must be a number >= 0, got -1.0."),
        ("guard must be MEASURE:LIMIT, got 'x'.", "--guard must be MEASURE:LIMIT, got 'x'."),
        ("guard names recall@5 twice.", "--guard names recall@5 twice."),
        ("measure and guards name rr twice.", "--measure and --guard name rr twice."),
        ("horizon requires sequential=True.", "--horizon requires --sequential."),
        ("sequential=True requires state, the file", "--sequential requires --state, the file"),
        ("dcg has no bounds. Pass a horizon, or", "dcg has no bounds. Pass --horizon, or"),
        ("cluster requires users, a table with", "--cluster requires --users, a table with"),
        ("novelty@5 requires catalogue, a table", "novelty@5 requires --catalogue, a table"),
    ],
)
def test_arguments_read_as_options(text: str, shown: str) -> None:
    assert as_options(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "k must be an integer >= 1, got '0' in 'pap@0'.",
        "a.csv has no column 'n_items': it has 'tol', 'max_iter'.",
        "max_iter.csv is empty.",
        "data/tol/l2 does not exist.",
        "measure 'ap(norm=min)@10' is not known.",
        "state of a gate is damaged.",
    ],
)
def test_what_is_no_argument_stays(text: str) -> None:
    assert as_options(text) == text


def test_every_option_that_a_message_may_name_exists() -> None:
    group: Any = typer.main.get_command(app)
    there = {
        word
        for command in group.commands.values()
        for parameter in command.params
        for word in parameter.opts
    }
    assert set(_messages._OPTIONS.values()) <= there


def test_message_is_one_line() -> None:
    assert _messages.one_line(ValueError("two\n  lines\r\nor three")) == "two lines or three"
