"""ranx."""

from podium.presets.preset import Form, Preset, UsersAndLists

_GAINS = {"discount": "log2"}  # gain=exp2 is ndcg_burges and dcg_burges

PRESET = Preset(
    name="ranx",
    package="ranx 0.3.21",
    conventions=UsersAndLists(
        missing="error",  # evaluate(make_comparable=True): zero
    ),
    metrics={
        "ndcg": Form("ndcg", {**_GAINS, "ideal": "best"}, note="gain=exp2 is ndcg_burges."),
        "ndcg@k": Form("ndcg@10", {**_GAINS, "ideal": "best"}, note="gain=exp2 is ndcg_burges@10."),
        "dcg": Form("dcg", _GAINS, note="gain=exp2 is dcg_burges."),
        "dcg@k": Form("dcg@10", _GAINS, note="gain=exp2 is dcg_burges@10."),
        "ap": Form("map", {"norm": "n_pos"}),
        "ap@k": Form("map@10", {"norm": "n_pos"}),
        "rr": Form("mrr"),
        "rr@k": Form("mrr@10"),
        "precision@k": Form("precision@10", {"norm": "k"}),
        "recall": Form("recall", {"norm": "n_pos"}),
        "recall@k": Form("recall@10", {"norm": "n_pos"}),
        "f1@k": Form("f1@10"),
        "r_precision": Form("r-precision"),
        "hit_rate": Form("hit_rate"),
        "hit_rate@k": Form("hit_rate@10"),
        "bpref": Form(
            "bpref",
            note="Users without relevant items, or without other judged items, have no value.",
        ),
    },
    refused={"rbp": "ranx multiplies each relevant item by its grade."},
)
