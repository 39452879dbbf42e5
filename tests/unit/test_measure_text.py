"""Measures as text: which texts parse, to which measures, and the message of each error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from podium.errors import ArgumentError
from podium.metrics import REGISTRY, Metric, parse, parse_all
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


NAMES: dict[str, list[str]] = {
    "ndcg": ["ndcg(gain=linear)", "ndcg_score"],
    "ndcg@5": ["ndcg_cut_5", "ndcg_cut.5", "nDCG@5", "nDCG(dcg='log2')@5", "ndcg_score(k=5)"],
    "ndcg@10": ["nDCG(cutoff=10)"],
    "ndcg(gain=exp2)@5": ["nDCG(dcg='exp-log2')@5", "ndcg_burges@5"],
    "dcg@5": ["dcg_score@5"],
    "dcg(gain=exp2)": ["dcg_burges"],
    "ap": ["map", "AP", "average_precision", "average_precision_score"],
    "ap@10": ["map_cut_10", "map@10", "ap(norm=n_pos)@10"],
    "ap(norm=min)@10": ["map( norm = min )@10"],
    "precision@5": ["p@5", "prec@5", "P_5", "P(judged_only=False)@5"],
    "recall@5": ["r@5", "recall_5", "R@5"],
    "recall": ["set_recall"],
    "recall(norm=min)@5": ["relative_P_5"],
    "hit_rate@5": ["hr@5", "hit@5", "success@5", "success_5", "Success@5", "Hit@5", "HitRate@5"],
    "rr": ["recip_rank", "reciprocal_rank"],
    "rr@5": ["mrr@5", "RR@5", "MRR@5"],
    "r_precision": ["rprec", "Rprec", "r-precision"],
    "pap@4": ["pAp@4"],
    "pap(clip=true)@2": ["pap(clip=TRUE)@2"],
    "err(max_grade=1)": ["err(max_grade=1)"],
    "ndcg(discount=letor,gain=exp2)@5": ["nDCG( gain=exp2, discount=letor ) @5"],
    "pauc@5": ["PartialAUC@5"],
    "auc": ["roc_auc", "GAUC", "roc_auc_score"],
    "rbp": ["rbp(p=0.8)"],
    "rbp(p=0.5)": ["rbp(p=0.50)"],
    "rbp(p=0.95)": ["rbp.95"],
    "rbp(p=0.9)@10": ["RBP(p=0.9)@10"],
    "err@20": ["ERR@20"],
    "gini@10": ["GiniIndex@10"],
    "coverage@10": ["ItemCoverage@10"],
    "popularity@10": ["AveragePopularity@10"],
    "diversity@10": ["IntraListDiversity@10"],
}


@pytest.mark.parametrize("canonical", NAMES)
def test_names_and_those_of_other_packages_select_a_metric_and_its_options(canonical: str) -> None:
    for text in NAMES[canonical]:
        measure = parse(text)
        assert (measure, measure.canonical) == (parse(canonical), canonical)
        assert str(measure) == text


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
    ("text", "advice"),
    [
        ("map@100-l2", "map@100, .* min_relevance=2"),
        ("P(rel=2)@10", "P@10, .* min_relevance=2"),
        ("AP(judged_only=True)", "AP, .* unjudged='skip'"),
        ("nDCG(gains={0: 0, 1: 3})@5", "gains"),
        ("ndgc@10", "mean 'ndcg'"),
        ("mapp@10", "mean 'map'"),
        ("ndcg(gian=exp2)@5", "mean 'gain'"),
        ("ndcg(gain=exp)@5", "mean 'exp2'"),
        ("pap", "pap@10"),
        ("dyversity@3", "mean 'diversity'"),
    ],
)
def test_wrong_text_is_refused_with_what_was_meant(text: str, advice: str) -> None:
    with pytest.raises(ArgumentError, match=advice):
        parse(text)


WRONG = """
zzz p topk_loss gini novelty r_precision@5 ndcg@0 ndcg@-1 ndcg@1.5 ndcg@ten f1(norm=min)@5
ap(norm)@5 ap(norm=min,norm=n_pos)@5 pap(clip=yes)@5 rbp(p=high) err(max_grade=-1) ndcg@10@5
ndcg@ ndcg(gain=exp2 1ndcg@5 ndcg)5( ndcg(gain=exp2))@5 precision@100000000000000000000
"""


@pytest.mark.parametrize("text", [*WRONG.split(), "", "ndcg 10", 10, None])
def test_wrong_text_is_refused(text: Any) -> None:
    with pytest.raises(ArgumentError):
        parse(text)


@pytest.mark.parametrize(
    "measures", [{"ndcg": 10, "rr": 5}, {"ndcg": {"k": 10}}, 10, None, [], ["ap@5", "map@5"]]
)
def test_invalid_lists_of_measures_are_refused(measures: Any) -> None:
    with pytest.raises(ArgumentError):
        parse_all(measures)


def test_a_set_of_measures_is_read_by_its_texts() -> None:
    texts = {"rr", "ndcg@10", "ap@5", "precision@3"}
    assert [str(m) for m in parse_all(texts)] == sorted(texts)
