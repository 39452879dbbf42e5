"""RecTools: its metrics of recommendations with ranks."""

from podium.presets.preset import Form, Preset, UsersAndLists

_POSITIVES = "Every row of the interactions is a positive."
_CUT = "Items that are not shown count as negative. podium refuses lists where this matters."
_ALL_USERS = "Users who are only in the recommendations count too."

PRESET = Preset(
    name="rectools",
    package="RecTools 0.19.0",
    conventions=UsersAndLists(
        ties=None,  # lists have ranks, no scores
        undefined="skip",
        missing="zero",
    ),
    metrics={
        "ndcg@k": Form(
            "NDCG(k=10)", {"gain": "binary", "discount": "log2", "ideal": "full"}, note=_POSITIVES
        ),
        "ap@k": Form("MAP(k=10)", {"norm": "n_pos"}, note=_POSITIVES),
        "rr@k": Form("MRR(k=10)", note=_POSITIVES),
        "precision@k": Form("Precision(k=10)", {"norm": "k"}, note=_POSITIVES),
        "recall@k": Form("Recall(k=10)", {"norm": "n_pos"}, note=_POSITIVES),
        "f1@k": Form("F1Beta(k=10)", note=_POSITIVES),
        "hit_rate@k": Form("HitRate(k=10)", note=_POSITIVES),
        "pap@k": Form("PAP(k=10)", note=_CUT),
        "pauc@k": Form("PartialAUC(k=10)", note=_CUT),
        "popularity@k": Form("AvgRecPopularity(k=10)", note=_ALL_USERS),
        "coverage@k": Form("CatalogCoverage(k=10, normalize=True)", note=_ALL_USERS),
    },
    refused={
        "novelty@k": "MeanInvUserFreq uses the share of users who know an item. It counts one user "
        "for an unknown item.",
        "diversity@k": "IntraListDiversity takes the distance as an argument.",
    },
)
