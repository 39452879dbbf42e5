"""Parameters of the library in messages, in the words of each command."""

from __future__ import annotations

import inspect

import pytest

from podium.cli import COMMANDS, _messages
from podium.cli._options import expand
from podium.cli._spelling import spelling
from podium.errors import Parameter, arg

BY_NAME = {command.__name__: command for commands in COMMANDS.values() for command in commands}


@pytest.mark.parametrize(
    ("command", "parameter", "shown"),
    [
        ("measure", arg.missing("zero"), "--missing zero"),
        ("measure", arg.undefined("skip", "zero", "one"), "--undefined skip, zero or one"),
        ("measure", arg.min_relevance(4.0), "--min-relevance 4"),
        ("measure", arg.user(), "--column user=NAME"),
        ("measure", arg.truth, "TRUTH"),
        ("measure", arg.format(), None),
        ("measure", arg.n_factors, None),
        ("split", arg.format(), "--format"),
        ("split", arg.timestamp(), "--column timestamp=NAME"),
        ("train", arg.k, "-k"),
        ("train", arg.clip(True), "--clip"),
        ("train", arg.eval_set, "--valid"),
        ("train", arg.fit_intercept(False), "--set fit_intercept=false"),
        ("train", arg.fit_intercept(True), "--set fit_intercept=true"),
        ("train", arg.k(None), None),
        ("train", arg["grid", "loss__k"], "--grid k"),
        ("train", arg.resume, "--resume"),
        ("train", arg.address, "--ray"),
        ("gate", arg.guards, "--guard"),
        ("gate", arg.sequential(True), "--sequential"),
        ("estimate", arg["columns", "user"], "--column user=NAME"),
        ("estimate", arg.n_items, "--items"),
        ("estimate", arg.seen_candidates("drop"), "--drop-seen"),
        ("estimate", arg.scores, None),
        ("plan", arg.n_users, "--users"),
        ("audit", arg.n_negatives, "--negatives"),
    ],
)
def test_parameters_read_as_options(command: str, parameter: Parameter, shown: str | None) -> None:
    options = inspect.signature(expand(BY_NAME[command])).parameters.values()
    assert spelling(options)(parameter) == shown


def test_message_is_one_line() -> None:
    assert _messages.one_line(ValueError("two\n  lines\r\nor three")) == "two lines or three"
