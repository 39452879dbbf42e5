"""The conventions of other packages, from the pages `docs/coming-from`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_ABOVE_ZERO = {"score_above": 0.0}
_IN_PYTHON = {"ties": None, "single_precision": False}
_BINARY = {"gain": "binary", "discount": "log2"}
_LINEAR = {"gain": "linear", "discount": "log2"}
_BEST = {**_LINEAR, "ideal": "best"}


@dataclass(frozen=True)
class Package:
    """The conventions of a package.

    Attributes
    ----------
    conventions : mapping
        The conventions of users and lists that the package sets; those left out are podium's.
    metrics : mapping of str to (dict, dict)
        The options of each metric that the package fixes, and its own conventions. "ndcg@k" is the
        metric with a cutoff.
    """

    conventions: Mapping[str, Any]
    metrics: Mapping[str, tuple[dict[str, Any], dict[str, Any]]]
    open_ties: bool = False
    sets: tuple[str, ...] = field(
        default=("undefined", "unjudged", "unretrieved", "single_precision", "score_above")
    )


def _metrics(*plain: str, **others: Any) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    named = {name.replace("_at_k", "@k"): form for name, form in others.items()}
    return {**{name: ({}, {}) for name in plain}, **named}


_TREC = ("rr", "r_precision", "hit_rate@k", "bpref")
_OPEN_WITH_ERROR = {"undefined": "skip", "missing": "error"}

PACKAGES: dict[str, Package] = {
    "trec_eval": Package(
        {"ties": "id", "undefined": "zero", "missing": "skip", "single_precision": True},
        _metrics(
            *_TREC,
            ndcg=(_BEST, {}),
            ndcg_at_k=(_BEST, {}),
            ap=({"norm": "n_pos"}, {}),
            ap_at_k=({"norm": "n_pos"}, {}),
            precision_at_k=({"norm": "k"}, {}),
            recall=({"norm": "n_pos"}, {}),
            recall_at_k=({"norm": "n_pos"}, {}),
        ),
    ),
    "ir_measures": Package(
        {"ties": "id", "undefined": "zero", "missing": "zero", "single_precision": True},
        _metrics(
            *_TREC,
            ndcg=(_BEST, {}),
            ndcg_at_k=(_BEST, {}),
            ap=({"norm": "n_pos"}, {}),
            ap_at_k=({"norm": "n_pos"}, {}),
            precision_at_k=({"norm": "k"}, {}),
            recall=({"norm": "n_pos"}, {}),
            recall_at_k=({"norm": "n_pos"}, {}),
            rr_at_k=({}, _IN_PYTHON),
            judged_at_k=({}, _IN_PYTHON),
            err_at_k=({"max_grade": 4.0}, {"single_precision": False}),
            rbp=({}, _IN_PYTHON),
        ),
    ),
    "sklearn": Package(
        {"ties": "average", "undefined": "zero", "missing": "skip", "unretrieved": "drop"},
        _metrics(
            ndcg=(_BEST, {}),
            ndcg_at_k=(_BEST, {}),
            dcg=(_LINEAR, {}),
            dcg_at_k=(_LINEAR, {}),
            ap=({"norm": "n_pos"}, {"ties": "threshold"}),
            auc=({}, {"undefined": "skip"}),
        ),
    ),
    "ranx": Package(
        {"undefined": "zero", "missing": "error"},
        _metrics(
            *("rr", "rr@k", "f1@k", "r_precision", "hit_rate", "hit_rate@k", "bpref"),
            ndcg=({"discount": "log2", "ideal": "best"}, {}),
            ndcg_at_k=({"discount": "log2", "ideal": "best"}, {}),
            dcg=({"discount": "log2"}, {}),
            dcg_at_k=({"discount": "log2"}, {}),
            ap=({"norm": "n_pos"}, {}),
            ap_at_k=({"norm": "n_pos"}, {}),
            precision_at_k=({"norm": "k"}, {}),
            recall=({"norm": "n_pos"}, {}),
            recall_at_k=({"norm": "n_pos"}, {}),
        ),
        open_ties=True,
    ),
    "rectools": Package(
        {"undefined": "skip", "missing": "zero"},
        _metrics(
            *("rr@k", "f1@k", "hit_rate@k", "pap@k", "pauc@k", "popularity@k", "coverage@k"),
            ndcg_at_k=({**_BINARY, "ideal": "full"}, {}),
            ap_at_k=({"norm": "n_pos"}, {}),
            precision_at_k=({"norm": "k"}, {}),
            recall_at_k=({"norm": "n_pos"}, {}),
        ),
        open_ties=True,
    ),
    "recbole": Package(
        _OPEN_WITH_ERROR,
        _metrics(
            *("rr@k", "hit_rate@k", "popularity@k"),
            ndcg_at_k=({**_BINARY, "ideal": "best"}, {}),
            ap_at_k=({"norm": "min"}, {}),
            precision_at_k=({"norm": "k"}, {}),
            recall_at_k=({"norm": "n_pos"}, {}),
        ),
        open_ties=True,
    ),
    "torchmetrics": Package(
        {
            "undefined": "zero",
            "missing": "skip",
            "unretrieved": "drop",
            "single_precision": True,
        },
        _metrics(
            *("hit_rate", "hit_rate@k", "r_precision", "auc@k"),
            ndcg=(_BEST, {"ties": "average"}),
            ndcg_at_k=(_BEST, {"ties": "average"}),
            ap=({"norm": "retrieved"}, _ABOVE_ZERO),
            ap_at_k=({"norm": "retrieved"}, _ABOVE_ZERO),
            rr=({}, _ABOVE_ZERO),
            rr_at_k=({}, _ABOVE_ZERO),
            precision_at_k=({"norm": "k"}, _ABOVE_ZERO),
            recall=({"norm": "n_pos"}, _ABOVE_ZERO),
            recall_at_k=({"norm": "n_pos"}, _ABOVE_ZERO),
            auc=({}, {"ties": "average"}),
        ),
        open_ties=True,
    ),
}
"""The packages of `like`."""
