"""Readers and writers of tables, and the join of a run with its truth.

A source is a path (.parquet, .csv, .tsv, .arrow, .feather, .jsonl, TREC run or qrels, svmlight with
qid, or lines with a user and the user's items; text also .gz), a pipe with the content of such a
file, a Polars, pandas or Arrow table, a mapping of column name to array, a tuple of arrays, a
mapping ``{user: {item: value}}`` as for ranx and pytrec_eval, a mapping ``{user: [item, …]}``, best
first, or a sparse matrix with users as rows. In a mapping of users, no key is a usual name of a
column of users or items. Ids are integers or strings. Document ids of TREC files are always
strings, as in trec_eval. Lines without any value are skipped. Columns are recognised by their usual
names. Case, "_" and "-" make no difference, so that userId is user_id:

========== ============================================
user       user, user_id, qid, query_id, q_id
item       item, item_id, doc_id
score      score, prediction; or rank
relevance  relevance, rating, label
value      value, rating, relevance, label
timestamp  timestamp, time
========== ============================================

In a table without these, names of published data sets are recognised, such as movieId, asin,
reviewerID, overall and datetime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.data import splits
    from podium.data.appending import to_frame, write_parts, write_table
    from podium.data.build import ranking
    from podium.data.features import Features, normalize_by_query, read_features
    from podium.data.interactions import Interactions, read_interactions
    from podium.data.items import ItemTable, read_items
    from podium.data.pooling import pooled_relevance
    from podium.data.retail import load_onlineretail
    from podium.data.runs import Run, Truth, read_run, read_truth
    from podium.data.storage import Storage
    from podium.data.unjudged import pool_unjudged

_HOME = {
    "appending": ("to_frame", "write_parts", "write_table"),
    "build": ("ranking",),
    "features": ("Features", "normalize_by_query", "read_features"),
    "interactions": ("Interactions", "read_interactions"),
    "items": ("ItemTable", "read_items"),
    "pooling": ("pooled_relevance",),
    "retail": ("load_onlineretail",),
    "runs": ("Run", "Truth", "read_run", "read_truth"),
    "storage": ("Storage",),
    "unjudged": ("pool_unjudged",),
}
_MODULE = {name: f"podium.data.{module}" for module, names in _HOME.items() for name in names}

__all__ = [
    "Features",
    "Interactions",
    "ItemTable",
    "Run",
    "Storage",
    "Truth",
    "load_onlineretail",
    "normalize_by_query",
    "pool_unjudged",
    "pooled_relevance",
    "ranking",
    "read_features",
    "read_interactions",
    "read_items",
    "read_run",
    "read_truth",
    "splits",
    "to_frame",
    "write_parts",
    "write_table",
]


def __getattr__(name: str) -> Any:
    """Load the module of a public name at first use, because importing Polars is slow."""
    if name == "splits":
        return import_module("podium.data.splits")
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE[name]), name)


def __dir__() -> list[str]:
    return __all__
