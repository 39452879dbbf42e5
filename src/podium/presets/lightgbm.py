"""LightGBM: the metrics of its training log. Not a value of ``like``."""

from podium.presets.preset import Form, Preset, UsersAndLists

_ONE_LIST = "{} treats all rows as one list."

PRESET = Preset(
    name="lightgbm",
    package="lightgbm 4.7.0",
    conventions=UsersAndLists(undefined="one", unretrieved="drop"),
    metrics={
        "ndcg@k": Form(
            "ndcg@10",
            {"gain": "exp2", "discount": "log2", "ideal": "best"},
            note="The parameter label_gain replaces the gain. For label_gain=0,1,2,…, use "
            "gain=linear.",
        ),
        "ap@k": Form("map@10", {"norm": "min"}),
    },
    refused={
        "auc": _ONE_LIST.format("auc"),
        "ap": _ONE_LIST.format("average_precision"),
    },
)
