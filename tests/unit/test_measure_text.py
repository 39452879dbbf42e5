"""Measures as text: which texts parse, to which measures, and the message of each error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.raised import raises

import podium
from podium.errors import ArgumentError
from podium.metrics import (
    REGISTRY,
    Measure,
    Metric,
    parse,
    parse_all,
)
from podium.metrics.measures import choices


def values_of(metric: Metric, option: str) -> st.SearchStrategy[Any]:
    default = metric.options[option]
    if isinstance(default, bool):
        return st.booleans()
    if isinstance(default, float):
        return st.floats(1e-6, 0.999999) if option == "p" else st.floats(1e-3, 1e6)
    return st.sampled_from(choices(metric, option))


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A measure's text with any name, alias, options in any order, spaces and cutoff."""
    metric = REGISTRY[draw(st.sampled_from(sorted(REGISTRY)))]
    aliases = [a for a, name in REGISTRY.aliases.items() if name == metric.name]
    name = draw(st.sampled_from([metric.name.removesuffix("@k"), *aliases]))
    chosen = draw(st.permutations(sorted(metric.options)))
    chosen = chosen[: draw(st.integers(0, len(chosen)))]
    space = draw(st.sampled_from(("", " ")))
    inside = f",{space}".join(f"{o}{space}={draw(values_of(metric, o))}" for o in chosen)
    needs_k = metric.cutoff == "required" or (metric.cutoff == "optional" and draw(st.booleans()))
    cutoff = f"{space}@{draw(st.integers(1, 10**6))}" if needs_k else ""
    return f"{space}{name}({inside}){cutoff}" if inside or space else f"{name}{cutoff}"


@given(text=texts())
def test_text_parses_back_to_the_same_measure(text: str) -> None:
    measure = parse(text)
    assert parse(str(measure)) == measure
    assert hash(parse(str(measure))) == hash(measure)
    assert str(measure) == text.strip()
    assert parse(measure.canonical) == measure
    assert parse(measure.canonical).canonical == measure.canonical
    assert " " not in measure.canonical


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@10", Measure("ndcg", 10)),
        ("ndcg", Measure("ndcg")),
        (
            "ndcg(gain=exp2, discount=letor)@5",
            Measure("ndcg", 5, (("discount", "letor"), ("gain", "exp2"))),
        ),
        ("ndcg(gain=linear)@5", Measure("ndcg", 5)),
        ("pap(clip=TRUE)@3", Measure("pap", 3, (("clip", True),))),
        ("rbp(p=0.8)", Measure("rbp")),
        ("err(max_grade=1)", Measure("err", None, (("max_grade", 1.0),))),
        ("auc", Measure("auc")),
        ("auc@5", Measure("auc", 5)),
        ("p@5", Measure("precision", 5)),
        ("prec@5", Measure("precision", 5)),
        ("r@5", Measure("recall", 5)),
        ("hr@5", Measure("hit_rate", 5)),
        ("hit@5", Measure("hit_rate", 5)),
        ("success@5", Measure("hit_rate", 5)),
        ("map@5", Measure("ap", 5)),
        ("average_precision", Measure("ap")),
        ("mrr@5", Measure("rr", 5)),
        ("recip_rank", Measure("rr")),
        ("reciprocal_rank", Measure("rr")),
        ("rprec", Measure("r_precision")),
        ("pAp@4", Measure("pap", 4)),
        ("roc_auc", Measure("auc")),
    ],
)
def test_text_means(text: str, expected: Measure) -> None:
    assert parse(text) == expected


def test_canonical_text_leaves_defaults_out() -> None:
    assert parse("map( norm = min )@10").canonical == "ap(norm=min)@10"
    assert parse("ap(norm=n_pos)@10").canonical == "ap@10"
    assert parse("rbp(p=0.50)").canonical == "rbp(p=0.5)"
    assert parse("pap(clip=true)@2").canonical == "pap(clip=true)@2"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        # trec_eval
        ("ndcg_cut_10", "ndcg@10"),
        ("ndcg_cut.10", "ndcg@10"),
        ("map_cut_100", "ap@100"),
        ("P_10", "precision@10"),
        ("recall_10", "recall@10"),
        ("success_5", "hit_rate@5"),
        ("relative_P_5", "recall(norm=min)@5"),
        ("set_recall", "recall"),
        ("recip_rank", "rr"),
        ("Rprec", "r_precision"),
        ("map", "ap"),
        # ranx
        ("rbp.95", "rbp(p=0.95)"),
        ("ndcg_burges@10", "ndcg(gain=exp2)@10"),
        ("dcg_burges", "dcg(gain=exp2)"),
        ("r-precision", "r_precision"),
        # ir_measures
        ("nDCG@10", "ndcg@10"),
        ("nDCG(dcg='exp-log2')@5", "ndcg(gain=exp2)@5"),
        ("nDCG(dcg='log2')@5", "ndcg@5"),
        ("nDCG(cutoff=5)", "ndcg@5"),
        ("AP", "ap"),
        ("RR@10", "rr@10"),
        ("R@100", "recall@100"),
        ("Success@5", "hit_rate@5"),
        ("ERR@20", "err@20"),
        ("RBP(p=0.9)@10", "rbp(p=0.9)@10"),
        ("P(judged_only=False)@5", "precision@5"),
        # RecBole and RecTools
        ("Hit@10", "hit_rate@10"),
        ("HitRate@10", "hit_rate@10"),
        ("MRR@10", "rr@10"),
        ("GAUC", "auc"),
        ("PartialAUC@5", "pauc@5"),
        ("GiniIndex@10", "gini@10"),
        ("ItemCoverage@10", "coverage@10"),
        ("AveragePopularity@10", "popularity@10"),
        ("IntraListDiversity@10", "diversity@10"),
        # scikit-learn
        ("ndcg_score", "ndcg"),
        ("ndcg_score(k=5)", "ndcg@5"),
        ("dcg_score@5", "dcg@5"),
        ("average_precision_score", "ap"),
        ("roc_auc_score", "auc"),
    ],
)
def test_names_of_other_packages_select_a_metric_and_its_options(text: str, canonical: str) -> None:
    measure = parse(text)
    assert (measure, measure.canonical) == (parse(canonical), canonical)
    assert str(measure) == text


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("map@100-l2", r"Write map@100, and pass min_relevance=2\."),
        ("P(rel=2)@10", r"Write P@10, and pass min_relevance=2\."),
        ("AP(judged_only=True)", r"Write AP, and pass unjudged='skip'\."),
        ("nDCG(gains={0: 0, 1: 3})@5", "has the option gains.*Write the gains as the relevances"),
    ],
)
def test_names_that_state_a_convention_are_refused_with_its_argument(
    text: str, advice: str
) -> None:
    with pytest.raises(ArgumentError, match=advice):
        parse(text)


def test_results_have_the_text_that_was_given_and_are_found_by_every_equivalent_text() -> None:
    truth = {"user": [1, 1, 2], "item": [10, 11, 10]}
    run = {"user": [1, 1, 2], "item": [11, 12, 12], "score": [0.9, 0.1, 0.5]}
    result = podium.measure(truth, run, ["ndcg_cut_2", "Hit@1"])
    assert list(result.means) == list(result.as_json()["measures"]) == ["ndcg_cut_2", "Hit@1"]
    assert "ndcg_cut_2" in str(result)
    for text in ("ndcg@2", "nDCG@2", parse("ndcg(gain=linear)@2")):
        assert result.summary(text) == result.summary("ndcg_cut_2")
    assert result.means["hit_rate@1"] == result.means["Hit@1"] == 1 / 2
    other = podium.compare(truth, {"a": run, "b": run}, "map_cut_2")
    assert other.difference("ap@2", "b").measure == "map_cut_2"


def test_aliases_stand_for_metrics_and_hide_none() -> None:
    assert set(REGISTRY.aliases.values()) <= set(REGISTRY)
    assert not set(REGISTRY.aliases) & {name.removesuffix("@k") for name in REGISTRY}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ndgc@10",
            r"measure 'ndgc' is not known\. Did you mean 'ndcg'\? The measures are: ap, auc, ",
        ),
        ("mapp@10", r"measure 'mapp' is not known\. Did you mean 'map'\?"),
        ("zzz", r"measure 'zzz' is not known\. The measures are: "),
        ("pap", "pap needs a cutoff: write pap@10"),
        ("p", "p needs a cutoff: write p@10"),
        ("topk_loss", "topk_loss needs a cutoff"),
        ("r_precision@5", r"r_precision takes no cutoff, got 'r_precision@5'\. Write r_precision"),
        ("ndcg@0", "k must be an integer >= 1, got '0' in 'ndcg@0'"),
        ("ndcg@-1", "k must be an integer >= 1, got '-1'"),
        ("ndcg@1.5", "k must be an integer >= 1, got '1.5'"),
        ("ndcg@ten", "k must be an integer >= 1, got 'ten'"),
        ("ndcg(gian=exp2)@5", r"ndcg has no parameter 'gian'\. Did you mean 'gain'\? It takes "),
        ("f1(norm=min)@5", r"f1 has no parameter 'norm'.* It takes none"),
        ("ndcg(gain=exp)@5", r"gain must be one of 'linear', .* got 'exp'.*mean 'exp2'\?"),
        ("ap(norm)@5", "measure must have parameters of the form param=value, each once, got 'ap"),
        ("ap(norm=min,norm=n_pos)@5", "parameters of the form param=value, each once"),
        ("pap(clip=yes)@5", "clip must be one of 'true' or 'false', got 'yes'"),
        ("rbp(p=high)", "p must be a number >= 0, got 'high'"),
        ("err(max_grade=-1)", "max_grade must be a number >= 0, got '-1'"),
        ("", "measure '' is not of the form name@k"),
        ("ndcg@10@5", "measure 'ndcg@10@5' is not of the form"),
        ("ndcg@", "k must be an integer >= 1, got '' in 'ndcg@'"),
        ("ndcg(gain=exp2", "is not of the form"),
        ("ndcg 10", "is not of the form"),
        (10, "measure 10 is not of the form"),
        (None, "measure None is not of the form"),
    ],
)
def test_wrong_text_raises_with_advice(text: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ({"ndcg": 10, "rr": 5}, r"list of texts, .*got \{'ndcg': 10.*Write \['ndcg@10', 'rr@5'\]"),
        ({"ndcg": {"k": 10}}, r"Write the cutoff into the text"),
        (10, r"as \['ndcg@10'\], got 10"),
        (None, "got None"),
    ],
)
def test_invalid_lists_of_measures_raise_with_advice(measures: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        parse_all(measures)


def test_a_set_of_measures_is_read_by_its_texts() -> None:
    texts = {"rr", "ndcg@10", "ap@5", "precision@3"}
    assert [str(m) for m in parse_all(texts)] == sorted(texts)


def test_several_measures_must_be_some_and_different() -> None:
    with raises(ArgumentError, "measures"):
        parse_all([])
    with pytest.raises(ArgumentError, match=r"measures names map\(norm=n_pos\)@5 twice"):
        parse_all(["ap@5", "map(norm=n_pos)@5"])
