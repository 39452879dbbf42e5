"""XGBoost: the ranking metrics of its training log. Not a value of ``like``."""

from podium.presets.preset import Form, Preset, UsersAndLists

_MINUS = "`{}@10-` gives 0 instead of 1 to lists without a positive: `--undefined zero`."
_BINARY = "Labels other than 0 and 1 are refused."
_TOP_32 = "{0} without a cutoff is {0}@32."

PRESET = Preset(
    name="xgboost",
    package="xgboost-cpu 3.2.0",
    conventions=UsersAndLists(
        ties=None,
        undefined="one",
        missing="skip",
        unjudged="negative",
        unretrieved="drop",
        single_precision=True,
    ),
    metrics={
        "ndcg@k": Form(
            "ndcg@10",
            {"gain": "exp2", "discount": "log2", "ideal": "best"},
            note=f"ndcg_exp_gain=false is gain=linear. {_MINUS.format('ndcg')}",
        ),
        "ap@k": Form("map@10", {"norm": "min"}, note=f"{_BINARY} {_MINUS.format('map')}"),
        "precision@k": Form("pre@10", {"norm": "list"}, {"undefined": "zero"}, _BINARY),
    },
    refused={
        "auc": "auc with groups also counts pairs of items with the same label, in the order of "
        "their rows, and leaves out lists of one or two items.",
        "ndcg": _TOP_32.format("ndcg"),
        "ap": _TOP_32.format("map"),
    },
)
