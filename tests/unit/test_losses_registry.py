from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.rankers import LightGBMRanker, LinearRanker
from podium.torch import as_torch


def test_get_reads_the_cutoff_from_the_name() -> None:
    assert losses.get("pap-avg@7") == losses.get("pap-avg", k=7) == losses.PApAverage(7)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("pap-avg", True),
        (" pap-avg @7", True),
        ("listmle(head=relevant)@10", True),
        ("listmle(", True),  # what is wrong with it is for parse to say
        ("rank_xendcg", False),
        ("pap", False),
        ("", False),
    ],
)
def test_registered_name_is_seen_in_a_text(text: str, is_one: bool) -> None:
    assert losses.is_registered(text) is is_one


def test_names_are_these() -> None:
    entries = losses.REGISTRY.items()
    assert sorted(name for name, loss in entries if loss.__module__.startswith("podium.")) == [
        "approx-ndcg",
        "group-logistic",
        "lambdarank",
        "listmle",
        "listnet",
        "logistic",
        "pairwise-exponential",
        "pairwise-hinge",
        "pairwise-logistic",
        "pap-avg",
        "pap-logistic",
        "pap-max",
        "pap-ramp",
        "pap-tight-struct",
        "pap-tight-struct-exact",
        "pauc-hinge",
        "rankcosine",
        "robirank",
        "robust-binary",
        "sl",
        "softmax",
        "squared",
    ]


def test_a_name_may_stand_for_parameters() -> None:
    exact = losses.PApTightStruct(7, exact=True)
    assert (
        losses.get("pap-tight-struct-exact@7")
        == exact
        == losses.get("pap-tight-struct@7", exact=True)
    )
    assert (exact.name, losses.PApTightStruct(7).name) == (
        "pap-tight-struct-exact",
        "pap-tight-struct",
    )
    assert losses.spec(exact) == losses.spec(losses.get("pap-tight-struct-exact", k=7, exact=True))
    assert "exact" not in losses.spec(exact)
    assert losses.from_spec(losses.spec(exact)) == exact


def test_a_name_contradicted_says_what_it_stands_for() -> None:
    with pytest.raises(
        ArgumentError, match=r"pap-tight-struct-exact stands for exact=True, got exact=False"
    ):
        losses.get("pap-tight-struct-exact@7", exact=False)


def test_declarations_follow_the_parameters() -> None:
    assert losses.PApTightStruct(7, exact=True).convex
    assert not losses.PApTightStruct(7).convex


@pytest.mark.parametrize("name", ["pap-ramp", "pauc-hinge", "pap-tight-struct"])
def test_clip_must_be_a_flag(name: str) -> None:
    assert "clip=true" in str(losses.get(f"{name}(clip=true)@3"))
    with pytest.raises(ArgumentError, match="clip must be True or False, got 'no'"):
        losses.get(f"{name}(clip=no)@3")


def test_exact_must_be_a_flag() -> None:
    with pytest.raises(ArgumentError, match="exact must be True or False, got 'no'"):
        losses.PApTightStruct(7, exact="no")  # type: ignore[arg-type]


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ArgumentError, match=r"loss must be one of .* Did you mean 'pap-avg'"):
        losses.get("pap-avrg@10")
    with pytest.raises(ArgumentError, match=r"Did you mean 'pap-tight-struct'"):
        losses.get("pap-ts@10")


def test_missing_cutoff_says_how_to_give_it() -> None:
    with pytest.raises(ArgumentError, match="pap-max needs k: write 'pap-max@10', or pass k=10"):
        losses.get("pap-max")


def test_cutoff_given_twice_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="k is given twice"):
        losses.get("pap-avg@10", k=5)


@pytest.mark.parametrize("name", ["pap-avg@0", "pap-avg@-1", "pap-avg@x", "pap-avg@"])
def test_bad_cutoff_names_k(name: str) -> None:
    with pytest.raises(ArgumentError, match="k must be an integer >= 1"):
        losses.get(name)


def test_unknown_parameter_lists_the_known() -> None:
    with pytest.raises(ArgumentError, match="logistic has no parameter 'k'"):
        losses.get("logistic@10")
    with pytest.raises(ArgumentError, match="Did you mean 'clip'"):
        losses.get("pap-tight-struct@10", clp=True)


@pytest.mark.parametrize("name", sorted(losses.REGISTRY))
def test_spec_survives_json(name: str) -> None:
    known = {field.name for field in dataclasses.fields(losses.REGISTRY[name])}
    others = {"k": 3, "clip": True, "per": "group", "weight": 2.0, "temperature": 0.5}
    others |= {"min_relevance": 2.0, "ties": "redrawn", "head": "relevant", "scale": 0.5}
    given = {param: value for param, value in others.items() if param in known}
    loss = losses.get(name, **given)
    text = ",".join(f"{param}={value}" for param, value in given.items())
    assert losses.get(f"{name}({text})") == loss
    assert losses.from_spec(json.loads(json.dumps(losses.spec(loss)))) == loss


def test_spec_of_a_stranger_says_how_to_register_it() -> None:
    with pytest.raises(ArgumentError, match=r"not in the registry.*losses\.register"):
        losses.spec(object())


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("listmle", "listmle", {}),
        ("listmle()", "listmle", {}),
        ("listmle@3", "listmle", {"k": 3}),
        ("listmle(head=relevant)@10", "listmle", {"head": "relevant", "k": 10}),
        (
            " listmle ( ties = averaged , n_orders=4 ) @ 5 ",
            "listmle",
            {"ties": "averaged", "n_orders": 4, "k": 5},
        ),
        ("pap-avg(k=none,clip=TRUE)", "pap-avg", {"k": None, "clip": True}),
        ("listnet(scale=0.5)", "listnet", {"scale": 0.5}),
        ("rank:ndcg", "rank:ndcg", {}),
    ],
)
def test_text_gives_name_and_parameters(text: str, name: str, params: dict[str, object]) -> None:
    assert losses.split(text) == (name, params)


def test_text_makes_the_loss_that_parameters_make() -> None:
    made = losses.ListMLE(k=10, head="relevant", ties="redrawn")
    assert losses.get("listmle(head=relevant,ties=redrawn)@10") == made
    assert losses.get("listmle(head=relevant)@10", ties="redrawn") == made
    assert losses.from_spec(losses.spec(made)) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "listmle(head)@10",
            r"of the form param=value, each once, got 'listmle\(head\)@10'",
        ),
        ("listmle(head=)", r"parameters of the form param=value, each once"),
        ("listmle(head=k,head=k)", r"parameters of the form param=value, each once"),
        ("listmle(head=k", "is not of the form name@k or name"),
        ("", "is not of the form name@k or name"),
        ("listmle(k=3)@10", r"k is given twice in 'listmle\(k=3\)@10'"),
        ("listmle(hed=k)", r"listmle has no parameter 'hed'\. Did you mean 'head'"),
        ("listmle(head=tail)", "head must be one of 'k' or 'relevant', got 'tail'"),
        ("softmax@3", "softmax has no parameter 'k'. It takes none"),
    ],
)
def test_malformed_text_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        losses.get(text)


def test_parameter_in_text_and_beside_it_is_an_error() -> None:
    with pytest.raises(ArgumentError, match=r"head is given twice: as 'k' in .* and as 'relevant'"):
        losses.get("listmle(head=k)", head="relevant")


@pytest.mark.parametrize(
    "written",
    [
        "logistic",
        "pap-ramp@10",
        "listmle(head=relevant,ties=redrawn)@10",
        "listmle(ties=averaged,n_orders=4)",
        "listnet(scale=2.5)@3",
        "pap-logistic",
        "group-logistic(soft=true)",
    ],
)
def test_text_of_a_loss_reads_back(written: str) -> None:
    loss = losses.get(written)
    assert losses.parse(str(loss)) == loss


def test_text_leaves_out_what_is_usual() -> None:
    assert str(losses.get("listmle(ties=fixed)@3")) == "listmle@3"


class _NoSubclass:
    def prepare(self, relevance: Any, groups: Any, *, weights: Any = None, rng: Any = None) -> Any:
        return groups

    def value_and_grad(self, scores: Any, target: Any) -> Any:
        return np.zeros(target.n_groups), np.zeros(scores.size)

    def curvature(self, scores: Any, target: Any) -> Any:
        return np.ones(scores.size)


def _fitted(ranker: Any) -> Any:
    return ranker.fit([[0.0], [1.0]], [0, 1], [0, 0])


@pytest.mark.parametrize(
    "use",
    [
        as_torch,
        lambda loss: _fitted(LinearRanker(loss)),
        lambda loss: _fitted(LightGBMRanker(loss)),
    ],
)
def test_a_loss_that_is_no_subclass_is_refused(use: Any) -> None:
    with raises(ArgumentError, "loss"):
        use(_NoSubclass())


def test_a_loss_of_three_methods_has_every_declaration() -> None:
    class Own(_NoSubclass, losses.Loss):
        pass

    loss = Own()
    assert (loss.name, loss.reads_groups, loss.draws, loss.k) == ("Own", True, False, None)
    target = loss.prepare(np.ones(2), Groups.single(2))
    assert len(loss.value_grad_and_curvature(np.zeros(2), target)) == 3
    assert loss.why_undefined(target).endswith("is defined on no group.")


def test_a_required_k_stays_required() -> None:
    @dataclass(frozen=True)
    class Own(_NoSubclass, losses.Loss):
        k: int

    assert Own(3).k == 3
    with pytest.raises(TypeError, match="k"):
        Own()  # pyright: ignore[reportCallIssue]
