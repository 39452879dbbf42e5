"""scikit-learn: ndcg_score, dcg_score, average_precision_score and roc_auc_score of each list."""

from podium.presets.preset import Form, Preset, UsersAndLists

_GAINS = {"gain": "linear", "discount": "log2"}
_ONE_ITEM = "ndcg_score refuses lists of one item."
_LABELS = "{} measures labels, not ranked lists."

PRESET = Preset(
    name="sklearn",
    package="scikit-learn 1.9.1",
    conventions=UsersAndLists(ties="average", unretrieved="drop"),
    metrics={
        "ndcg": Form("ndcg_score", {**_GAINS, "ideal": "best"}, note=_ONE_ITEM),
        "ndcg@k": Form("ndcg_score(k=10)", {**_GAINS, "ideal": "best"}, note=_ONE_ITEM),
        "dcg": Form("dcg_score", _GAINS),
        "dcg@k": Form("dcg_score(k=10)", _GAINS),
        "ap": Form("average_precision_score", {"norm": "n_pos"}, {"ties": "threshold"}),
        "auc": Form(
            "roc_auc_score",
            conventions={"undefined": "skip"},
            note="Its value is nan for lists of only relevant or only irrelevant items.",
        ),
    },
    refused={
        "precision@k": _LABELS.format("precision_score"),
        "recall@k": _LABELS.format("recall_score"),
        "recall": _LABELS.format("recall_score"),
        "f1@k": _LABELS.format("f1_score"),
        "hit_rate@k": _LABELS.format("top_k_accuracy_score"),
        "pauc@k": "roc_auc_score(max_fpr=f) is scaled so that chance has the value 1/2.",
    },
)
