"""ir_measures: the providers of its default pipeline, most of all pytrec_eval."""

from podium.presets.preset import Form, Preset, UsersAndLists

_GAINS = {"gain": "linear", "discount": "log2", "ideal": "best"}
_IN_PYTHON = {"ties": None, "single_precision": False}
_FIRST_ID = "Among equal scores, the lowest id ranks first. Ids are compared as text."

PRESET = Preset(
    name="ir_measures",
    package="ir-measures 0.4.3",
    conventions=UsersAndLists(ties="id", missing="zero", single_precision=True),
    metrics={
        "ndcg": Form("nDCG", _GAINS),
        "ndcg@k": Form("nDCG@10", _GAINS),
        "ap": Form("AP", {"norm": "n_pos"}),
        "ap@k": Form("AP@10", {"norm": "n_pos"}),
        "rr": Form("RR"),
        "rr@k": Form("RR@10", conventions=_IN_PYTHON, note=_FIRST_ID),
        "precision@k": Form("P@10", {"norm": "k"}),
        "recall": Form("SetR", {"norm": "n_pos"}),
        "recall@k": Form("R@10", {"norm": "n_pos"}),
        "r_precision": Form("Rprec"),
        "hit_rate@k": Form("Success@10"),
        "bpref": Form("Bpref"),
        "judged@k": Form("Judged@10", conventions=_IN_PYTHON, note=_FIRST_ID),
        "err@k": Form(
            "ERR@10",
            {"max_grade": 4.0},
            {"single_precision": False},
            "The Perl script gdeval computes it, rounded to five decimals. It needs numeric ids of "
            "queries.",
        ),
        "rbp": Form(
            "RBP(rel=1)",
            conventions=_IN_PYTHON,
            note="cwl-eval, an extra of ir_measures, computes it. Equal scores keep the order of "
            "their rows.",
        ),
    },
)
