"""The command lines of the record; later commands read files that earlier ones write."""

from __future__ import annotations

from tests.record.scores import of_package

_FORMATS = ("table", "json", "csv", "latex", "markdown")
_ALL_MEASURES = (
    "-m pap@3 -m 'pap(clip=true)@10' -m ndcg@5 -m 'ndcg(gain=exp2)@10' -m precision@5 -m recall@5 "
    "-m ap -m 'ap(norm=min)@10' -m rr -m hit_rate@3 -m r_precision -m rbp -m err@5 -m dcg@5 "
    "-m auc@5 -m pauc@3 -m topk_loss@3"
)

_GATE = (
    "gate truth.csv a.csv b.csv",
    *(
        f"gate truth.csv a.csv b.csv -m ndcg@5 --margin 0.1 --by engagement --format {each}"
        for each in ("table", "json", "markdown", "junit")
    ),
    (
        "gate truth.csv a.csv b.csv -m rr --guard coverage@3:-0.1 --guard novelty@3:-5 "
        "--guard gini@3:0.1 --guard diversity@3:-0.1 --catalogue past.csv --items kinds.csv"
    ),
    "gate truth.csv a.csv b.csv -m rr --margin 0.9 --by country --users users.csv",
    *(
        f"gate truth.csv a.csv b.csv -m rr --sequential {each}"
        for each in (
            "",
            "--state s",
            "--seed 1 --state s",
            "--state h --horizon 30",
            "--horizon 30",
        )
    ),
    *(
        f"gate truth.csv a.csv b.csv -m rr --unjudged bounds --ties id {each}"
        for each in ("", "--by n_pos --format json", "--format junit", "--labels labels.csv")
    ),
    "gate truth.csv a.csv b.csv -m rr --labels labels.csv",
    "gate truth.csv a.csv b.csv -m rr --unjudged bounds --sequential --state u",
    *(f"gate truth.csv a.csv b.csv -m rr --fail-on {x}" for x in ("inferior", "non-inferior", "x")),
    *(f"gate truth.csv a.csv b.csv -m rr --out gate.{x}" for x in ("md", "xml", "json", "pdf")),
)

_MEASURE = (
    "measure truth.csv a.csv",
    f"measure truth.csv a.csv {_ALL_MEASURES}",
    "measure truth.csv a.csv -m auc --n-items 30",
    "measure truth.csv full.csv -m auc -m ndcg",
    *(f"measure truth.csv a.csv -m ndcg@5 -m pap@3 --format {each}" for each in _FORMATS),
    *(f"measure truth.csv a.csv -m ndcg@5 --by engagement --format {each}" for each in _FORMATS),
    "measure truth.csv a.csv -m pap@2 --by n_pos",
    "measure truth.csv a.csv -m pap@2 --by country --by age --users users.csv",
    "measure truth.csv a.csv -m pap@2 --by country --users users.csv --format json",
    *(f"measure truth.csv a.csv -m ndcg@5 -m recall@3 --pooled --format {x}" for x in _FORMATS),
    "measure truth.csv a.csv -m ndcg@5 -m coverage@5 -m gini@5 --catalogue past.csv --by n_pos",
    "measure truth.csv a.csv -m novelty@5 -m arp@5 --catalogue past.csv --format json",
    "measure truth.csv a.csv -m diversity@5 --items kinds.csv",
    "measure truth.csv a.csv -m diversity@5",
    "measure truth.csv a.csv -m ndcg@5 -m pap@3 --interval bootstrap --seed 3",
    "measure truth.csv a.csv -m ndcg@5 --level 0.8",
    *(
        f"measure truth.csv a.csv -m ndcg@5 -m recall@5 --ties {each}"
        for each in ("worst", "best", "average", "id", "random")
    ),
    *(
        f"measure truth.csv a.csv -m recall@5 --undefined {each}"
        for each in ("skip", "zero", "one", "error")
    ),
    *(f"measure truth.csv few.csv -m ndcg@5 --missing {x}" for x in ("error", "zero", "skip")),
    "measure truth.csv a.csv -m pap@3 --set unretrieved=drop --set score_above=0.2",
    "measure truth.csv a.csv -m ndcg_cut_3 -m MAP@3 --set single_precision=true --ties id",
    *(
        f"measure truth.csv a.csv -m ndcg@3 --missing skip --like {x}"
        for x in ("recbole", "sklearn", "none")
    ),
    *(f"measure truth.csv a.csv -m ndcg@3 -m P_3 --like {x}" for x in ("trec_eval", "recbole")),
    "compare truth.csv a.csv b.csv -m map@3 --like ir_measures",
    *(
        f"explain truth.csv a.csv -m ndcg@3 {x}".strip()
        for x in ("", "--value 0.5", "--value 0.5000", "--value 50.00", "--like ranx")
    ),
    "explain truth.csv a.csv --other-run b.csv --other-truth truth.csv",
    "explain truth.csv a.csv -m pap@3 --like ranx --format json",
    *(f"measure truth.csv a.csv -m pap@3 --unjudged {x}" for x in ("negative", "skip", "error")),
    "measure truth.csv a.csv -m pap@3 --unjudged bounds",
    "measure truth.csv a.csv -m ndcg@3 -m recall --unjudged bounds",
    "measure truth.csv a.csv -m ndcg@3 -m recall --unjudged bounds --ties id --by n_pos",
    "measure truth.csv a.csv -m ndcg@3 --unjudged bounds --ties id --format csv",
    "measure truth.csv a.csv -m pap@3 -m auc --n-items 40",
    "measure truth.csv a.csv -m precision@3 --min-relevance 2",
    "measure ratings.csv a.csv -m precision@3",
    "measure ratings.csv a.csv -m precision@3 --min-relevance 3",
    "measure truth.tsv ranked.csv -m ndcg@5",
    "measure truth.trec run.trec -m ndcg@5",
    "measure truth.csv named.csv -m ndcg@5",
    (
        "measure named-truth.csv named.csv -m ndcg@5 --column user=who --column item=what "
        "--column score=how --column relevance=good"
    ),
    *(
        f"measure truth.csv a.csv -m ndcg@5 -m pap@3 --per-user per-user.{each}"
        for each in ("csv", "tsv", "parquet", "arrow", "csv.gz", "xyz")
    ),
    "measure truth.csv a.csv -m ndcg@5 --report page.html",
)

_COMPARE = (
    "compare truth.csv a.csv b.csv",
    *(f"compare truth.csv a.csv b.csv c.csv -m ndcg@5 -m pap@3 --format {x}" for x in _FORMATS),
    "compare truth.csv a.csv b.csv -m ndcg@5 --interval bootstrap --seed 1",
    "compare truth.csv a.csv few.csv -m ndcg@5",
    "compare truth.csv a.csv few.csv -m ndcg@5 --missing zero",
    "compare truth.csv a.csv few.csv -m ndcg@5 --missing skip",
    "compare truth.csv a.csv b.csv -m recall@5 --ties random --seed 2",
    "compare truth.csv a.csv b.csv -m ndcg@5 --per-user compared.csv",
    "compare truth.csv a.csv b.csv -m ndcg@5 --report compared.html",
    "compare truth.csv a.csv",
    "compare truth.csv a.csv a.csv",
)

_MODELS = {
    "neural": "--set max_iter=3 --set hidden=4",
    "lightgbm": "--set n_trees=4",
    "xgboost": "--set n_trees=4",
    "logistic-regression": "",
}
_LOSSES = of_package("podium")
_TRAIN = (
    "train rows.csv --out model",
    "rank model later.csv",
    *(f"train rows.csv --loss {each} -k 3 --set max_iter=9 --out {each}" for each in _LOSSES),
    *(f"rank {each} later.csv -k 2" for each in _LOSSES),
    *(
        f"train rows.csv --model {each} -k 3 {given} --out {each}"
        for each, given in _MODELS.items()
    ),
    *(f"rank {each} later.csv -k 2" for each in _MODELS),
    *(
        f"train rows.csv --model {kind} --loss {loss} -k 3 --set n_trees=3 --out trees"
        for kind in ("lightgbm", "xgboost")
        for loss in ("logistic", "pap-logistic", "robirank", "pap-ramp")
    ),
    *(
        f"train rows.csv --loss pap-avg --set solver={each} --set max_iter=9 -k 3 --out solved"
        for each in ("auto", "subgradient", "stochastic", "lbfgs", "newton")
    ),
    "train rows.csv --loss 'listmle(head=relevant)@5' --set max_iter=5 --seed 3 --out m",
    "train rows.csv --valid later.csv -k 3 --set max_iter=20 --set patience=5 --out m",
    "train rows.csv --valid-share 0.3 --split users -k 3 --set max_iter=9 --seed 2 --out m",
    (
        "train rows-times.csv --valid-share 0.3 --split time --column timestamp=time -k 3 "
        "--set max_iter=9 --out m"
    ),
    (
        "train rows.csv --set solver=subgradient --set start=normal --set learning_rate=0.2 "
        "--set max_iter=9 --set fit_intercept=false --set standardize=false -k 3 --out m"
    ),
    "train rows.csv --set query_norm=true -k 3 --set max_iter=9 --out m",
    "rank m later.csv -k 1 --out normed.csv",
    "rank m later.csv -k 1 --out normed.trec",
    "rank m later.csv -k 1 --out normed.parquet",
    "train rows.csv --features x,z --min-relevance 2 --set l2=0.1 --set max_iter=9 -k 3 --out m",
    "train rows.csv --ignore y --loss 'pap-ramp(clip=true)@3' --set max_iter=9 --out m",
    "train rows.svmlight --set max_iter=9 -k 3 --out m",
    "rank m later.svmlight -k 2",
    "train rows.svmlight later.svmlight --set max_iter=9 -k 3 --out m",
    "train rows.svmlight more-later.svmlight.gz --set max_iter=9 -k 3 --out m",
    "train rows.csv --tune --set max_iter=9 -k 3 --out m --tune-table tried.csv",
    (
        "train rows.csv --tune --folds 3 --grid l2=1e-4,1e-2 --grid loss=logistic,pap-ramp "
        "--set max_iter=9 -k 3 --out m --tune-table tried.tsv"
    ),
    (
        "train rows.csv --tune --grid l2='log(1e-6,1)' --budget 3 --seed 4 --set max_iter=9 -k 3 "
        "--out m"
    ),
    "train rows.csv --tune --model lightgbm --grid n_leaves=3,5 --set n_trees=4 -k 3 --out m",
    "train rows.csv --eval-metric ndcg@3 --valid later.csv --set max_iter=9 --out m",
)

_SPLIT = (
    "split pairs.csv --by random --seed 3 --out parts",
    "split pairs.csv --by user-random --valid 0.2 --out parts",
    "split pairs.csv --by time --out parts",
    "split rows-times.csv --by time --column timestamp=time --out parts",
    "split rows-times.csv --by leave-last --column timestamp=time --least 3 --out parts",
    *(
        line
        for each in ("popularity", "item-knn", "ease")
        for line in (
            f"train pairs.csv --model {each} --out by-{each}",
            f"recommend by-{each} -k 2",
        )
    ),
    "train pairs.csv --model ease --tune --budget 2 --tune-table tried.tsv --out m",
    "train pairs.csv --model ease --set clip=true --out m",
    "train rows.csv --gain one --out m",
)

_SMALL = "pairs.csv --model factorization --set n_factors=4 --set n_epochs=3"
_FACTORIZE = (
    f"train {_SMALL} --out factors",
    "recommend factors -k 3",
    *(
        line
        for loss in ("robirank", "type2", "identity", "bpr")
        for line in (
            f"train {_SMALL} --loss {loss} --seed 1 --out by-{loss}",
            f"recommend by-{loss} -k 2",
        )
    ),
    f"train {_SMALL} --set n_blocks=2 --out m",
    f"train {_SMALL} --gain value --min-relevance 2 --set l2=0.1 --out m",
    f"train {_SMALL} --gain one --set decay=none --out m",
    f"train {_SMALL} --valid late.csv --eval-metric recall@5 --set patience=2 --out m",
    "recommend m -k 2 --include-seen",
    (
        f"train {_SMALL.replace('pairs', 'pairs-names')} --set n_negatives=2 "
        "--set learning_rate=0.2 --out m"
    ),
    "recommend m -k 2",
    f"train {_SMALL} --resume --out m",
    f"train {_SMALL} --tune --budget 3 --tune-table tried.tsv --out m",
    (
        f"train {_SMALL} --tune --grid l2=0.01,0.1 --grid loss=robirank,bpr "
        "--valid late.csv --eval-metric recall@5 --seed 2 --out m"
    ),
    "recommend factors -k 2 --users some-users.txt --out best.csv",
    "recommend factors -k 2 --users some-users.txt --allow some-items.txt --out best.trec",
    "recommend factors -k 2 --users late.csv --deny some-items.txt --out best.parquet",
    "recommend factors -k 5 --out best-five.csv",
    "measure late.csv best-five.csv -m recall@5 -m ndcg@5 --missing skip --min-relevance 1",
)

_DESIGN = "--items 200 --negatives 9"
_EXACT = ("auto", "smooth", "bv", "'bv(gamma=0.5)'", "cls", "naive", "unbiased-rank")
_DRAWN = ("mle", "mes", "wmle")
_METHODS = (*_EXACT, *_DRAWN)
_ESTIMATE = (
    f"estimate ranks.csv {_DESIGN}",
    *(f"estimate ranks.csv {_DESIGN} --method bv --format {each}" for each in _FORMATS),
    *(f"estimate ranks.csv {_DESIGN} --method {each} --no-bounds" for each in _METHODS),
    f"estimate ranks.csv {_DESIGN} --method cls -m recall@5 -m rr -m ndcg@20 --level 0.8",
    f"estimate ranks.csv {_DESIGN} --no-replacement --method mle --seed 3",
    f"estimate ranks.csv {_DESIGN} -m pap@3",
    "estimate ranks-sized.csv --items 200 --method bv",
    f"estimate ranks-history.csv {_DESIGN}",
    *(
        f"estimate ranks.csv ranks-b.csv ranks-c.csv {_DESIGN} --method bv --format {each}"
        for each in _FORMATS
    ),
    f"estimate ranks.csv ranks-b.csv {_DESIGN}",
    "estimate scores.csv --items 30 --no-replacement --method bv",
    *(
        f"estimate scores.csv --items 30 --no-replacement --method naive --ties {each} --no-bounds"
        for each in ("worst", "best", "random")
    ),
    "estimate scores.csv --items 30 --method cls --seen seen.csv",
    "estimate scores.csv --items 30 --method cls --seen past.csv",
    "estimate scores.csv --items 30 --method cls --seen drawn.csv",
    "estimate scores.csv --items 30 --method cls --seen drawn.csv --drop-seen",
)

_ASKED = "--items 2000 --users 3000 --error 0.01"
_PLAN = (
    f"plan {_ASKED} --method bv",
    *(f"plan {_ASKED} --method cls --format {each}" for each in _FORMATS),
    f"plan {_ASKED} --pilot ranks.csv --negatives 9 --method bv",
    f"plan {_ASKED} --method naive",
    "plan --items 300 --users 200 --error 0.05 --seed 3",
)

QUICK = (
    *_MEASURE, *_COMPARE, *_GATE, *_TRAIN, *_SPLIT, *_FACTORIZE, *_ESTIMATE, *_PLAN,
)  # fmt: skip

_TRUTH, _RUNS = "demo/truth.parquet", "demo/run-popularity.parquet demo/run-pap-10-ranker.parquet"
DEMO = (
    "demo --out demo",
    f"measure {_TRUTH} {_RUNS.split()[0]} --by engagement --missing zero",
    f"compare {_TRUTH} {_RUNS} --missing zero --format json",
)
