"""torchmetrics: its classes of retrieval, with `indexes` as users."""

from podium.presets.preset import Form, Preset, UsersAndLists

_GAINS = {"gain": "linear", "discount": "log2", "ideal": "best"}
_ABOVE_ZERO = {"score_above": 0.0}
_NOT_RETRIEVED = "Items with scores <= 0 are not retrieved."
_SIGMOID = (
    "If a list has a score outside [0, 1], its scores pass through a sigmoid in single precision. "
    "This may make them equal."
)

PRESET = Preset(
    name="torchmetrics",
    package="torchmetrics 1.9.0",
    conventions=UsersAndLists(
        undefined="zero",  # empty_target_action="neg"
        unretrieved="drop",
        single_precision=True,  # preds are converted
    ),
    metrics={
        "ndcg": Form("RetrievalNormalizedDCG", _GAINS, {"ties": "average"}),
        "ndcg@k": Form("RetrievalNormalizedDCG(top_k=10)", _GAINS, {"ties": "average"}),
        "ap": Form("RetrievalMAP", {"norm": "retrieved"}, _ABOVE_ZERO, _NOT_RETRIEVED),
        "ap@k": Form("RetrievalMAP(top_k=10)", {"norm": "retrieved"}, _ABOVE_ZERO, _NOT_RETRIEVED),
        "rr": Form("RetrievalMRR", conventions=_ABOVE_ZERO, note=_NOT_RETRIEVED),
        "rr@k": Form("RetrievalMRR(top_k=10)", conventions=_ABOVE_ZERO, note=_NOT_RETRIEVED),
        "precision@k": Form(
            "RetrievalPrecision(top_k=10)", {"norm": "k"}, _ABOVE_ZERO, _NOT_RETRIEVED
        ),
        "recall": Form("RetrievalRecall", {"norm": "n_pos"}, _ABOVE_ZERO, _NOT_RETRIEVED),
        "recall@k": Form(
            "RetrievalRecall(top_k=10)", {"norm": "n_pos"}, _ABOVE_ZERO, _NOT_RETRIEVED
        ),
        "hit_rate": Form("RetrievalHitRate"),
        "hit_rate@k": Form("RetrievalHitRate(top_k=10)"),
        "r_precision": Form("RetrievalRPrecision"),
        "auc": Form("RetrievalAUROC", conventions={"ties": "average"}, note=_SIGMOID),
        "auc@k": Form("RetrievalAUROC(top_k=10)", note=_SIGMOID),
    },
)
