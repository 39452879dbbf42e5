"""XGBoost: the ranking metrics of its training log. Not a value of ``like``."""

from podium.presets.preset import Form, Preset, UsersAndLists

_MINUS = "For `{}@10-`, use `--undefined zero`: lists without a positive have 0 instead of 1."
_BINARY = "XGBoost refuses labels other than 0 and 1."
_TOP_32 = "{0} without a cutoff is {0}@32."

PRESET = Preset(
    name="xgboost",
    package="xgboost-cpu 3.2.0",
    conventions=UsersAndLists(undefined="one", unretrieved="drop", single_precision=True),
    metrics={
        "ndcg@k": Form(
            "ndcg@10",
            {"gain": "exp2", "discount": "log2", "ideal": "best"},
            note=f"For ndcg_exp_gain=false, use gain=linear. {_MINUS.format('ndcg')}",
        ),
        "ap@k": Form("map@10", {"norm": "min"}, note=f"{_BINARY} {_MINUS.format('map')}"),
        "precision@k": Form("pre@10", {"norm": "list"}, {"undefined": "zero"}, _BINARY),
    },
    refused={
        "auc": "auc with groups also counts pairs of items with the same label, in the order of "
        "their rows. It leaves out lists of one or two items.",
        "ndcg": _TOP_32.format("ndcg"),
        "ap": _TOP_32.format("map"),
    },
)
