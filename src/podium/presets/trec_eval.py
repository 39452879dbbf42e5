"""trec_eval, through pytrec_eval."""

from podium.presets.preset import Form, Preset, UsersAndLists

_GAINS = {"gain": "linear", "discount": "log2", "ideal": "best"}

PRESET = Preset(
    name="trec_eval",
    package="pytrec_eval-terrier 0.5.11",
    conventions=UsersAndLists(
        ties="id",
        missing="skip",  # trec_eval -c: zero
        single_precision=True,
    ),
    metrics={
        "ndcg": Form("ndcg", _GAINS),
        "ndcg@k": Form("ndcg_cut_10", _GAINS),
        "ap": Form("map", {"norm": "n_pos"}),
        "ap@k": Form("map_cut_10", {"norm": "n_pos"}),
        "rr": Form("recip_rank"),
        "precision@k": Form("P_10", {"norm": "k"}),
        "recall": Form("set_recall", {"norm": "n_pos"}),
        "recall@k": Form("recall_10", {"norm": "n_pos"}),
        "r_precision": Form("Rprec"),
        "hit_rate@k": Form("success_10"),
        "bpref": Form("bpref"),
    },
)
