"""RecBole: its metrics of the top k of a full ranking."""

from podium.presets.preset import Form, Preset, UsersAndLists

_PADDING = "RecBole counts its padding item as an item of the catalogue."
_ROUNDED = "Means are rounded to four decimals."

PRESET = Preset(
    name="recbole",
    package="recbole 1.2.1",
    conventions=UsersAndLists(
        undefined="skip",  # all users of the test data have positives
        missing="error",
    ),
    metrics={
        "ndcg@k": Form(
            "NDCG@10", {"gain": "binary", "discount": "log2", "ideal": "best"}, note=_ROUNDED
        ),
        "ap@k": Form("MAP@10", {"norm": "min"}, note=_ROUNDED),
        "rr@k": Form("MRR@10", note=_ROUNDED),
        "precision@k": Form("Precision@10", {"norm": "k"}, note=_ROUNDED),
        "recall@k": Form("Recall@10", {"norm": "n_pos"}, note=_ROUNDED),
        "hit_rate@k": Form("Hit@10", note=_ROUNDED),
        "popularity@k": Form("AveragePopularity@10", note=_ROUNDED),
    },
    refused={
        "auc": "AUC treats all users as one list. GAUC weights users by their number of positives.",
        "coverage@k": _PADDING,
        "gini@k": _PADDING,
    },
)
