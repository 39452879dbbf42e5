"""Every recipe on small data in its format: its cells, figures, verdict and tables."""

from __future__ import annotations

import importlib.util
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from studies.tests.record import names, recipe_data
from tests.record.text import attempt, bits, digest

# Results that differ between runs, which are replaced by 1.
_TIMES = ("seconds", "trial_seconds", "clock", "first", "cpu", "memory", "before", "drawing")
_CELLS, _FIGURES = 8, 40  # the numbers per recipe that are recorded one by one


@dataclass(frozen=True)
class Small:
    """The small version of a recipe: its parameters, data sets and repeats.

    Attributes
    ----------
    parameters : (parameters) -> mapping
        A function that returns replacements of the recipe's parameters.
    data : dict of str to callable
        The functions that write the data sets, by the name of the folder; "" for all other
        folders.
    repeats : int, optional
        The number of repeats, instead of the recipe's.
    context : callable, optional
        A function that returns the study's context for the recipe, instead of data.
    with_figures : bool
        Whether figures, verdict, tables and plots are recorded.
    """

    parameters: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda given: {}
    data: Mapping[str, Callable[[Path], None]] | None = None
    repeats: int | None = None
    context: Callable[[names.Recipe], Any] | None = None
    with_figures: bool = True


def recipes() -> Iterator[tuple[str, list[str]]]:
    """Yield every recipe: the quick ones as they are, the others in their small versions."""
    warnings.simplefilter("ignore")
    for name in names.recipe_names():
        yield f"{name} as it stands", _described(name)
        yield name, small(name)
    yield "MovieLens-100k prepared", _prepared()


def small(name: str) -> list[str]:
    """Return the lines of a recipe's small version."""
    return attempt(partial(_done, name, SMALL[name]))


def _described(name: str) -> list[str]:
    recipe = names.load(name)
    cells = list(names.study_of(recipe).cells(recipe))
    return [
        f"{recipe.title}; {recipe.where}",
        f"{len(cells)} cells: {digest(repr(cells).encode())} {cells[0]}, …, {cells[-1]}",
        f"{len(recipe.printed)} printed, {len(recipe.claims)} claims, {recipe.repeats} repeats",
    ]


def _done(name: str, small: Small) -> list[str]:
    recipe = _smaller(names.load(name), small)
    study = names.study_of(recipe)
    with tempfile.TemporaryDirectory() as folder:
        context = small.context(recipe) if small.context else None
        if context is None:
            context = study.prepare(recipe, _paths(recipe, small, Path(folder)))
        cells = {cell: _one(study, recipe, context, cell) for cell in study.cells(recipe)}
    lines = [f"{cell}: {_told(result)}" for cell, result in cells.items()]
    rows = [f"{len(cells)} cells {digest(repr(lines).encode())}", *lines[:_CELLS]]
    return rows + (_folded(recipe, study, cells) if small.with_figures else [])


def _smaller(recipe: names.Recipe, small: Small) -> names.Recipe:
    parameters = {**recipe.parameters, **small.parameters(recipe.parameters)}
    recipe = replace(recipe, parameters=parameters)
    return replace(recipe, repeats=small.repeats) if small.repeats else recipe


def _paths(recipe: names.Recipe, small: Small, place: Path) -> dict[str, Path]:
    paths = {data.folder: place / data.folder for data in recipe.data}
    for folder, path in paths.items():
        path.mkdir()
        if small.data:
            small.data.get(folder, small.data.get("", _nothing))(path)
    return paths


def _nothing(place: Path) -> None:
    del place


def _one(study: Any, recipe: names.Recipe, context: Any, cell: str) -> dict[str, Any]:
    """Return a cell's result as a checkpoint stores it."""
    if "scale" in recipe.name:
        settings = names.scale_asked(recipe, **names.parts(cell))
        result = names.scale_measure(**settings)  # in this process
    else:
        result = study.run(recipe, context, **names.parts(cell))
    result = {key: _ones(value) if key in _TIMES else value for key, value in result.items()}
    return json.loads(json.dumps(result, default=lambda value: value.tolist()))


def _ones(value: Any) -> Any:
    return [1.0] * len(value) if isinstance(value, list) else 1.0


def _told(result: Mapping[str, Any]) -> str:
    text = json.dumps(result, sort_keys=True)
    return f"{digest(text.encode())} {_rounded(dict(result))[:100]}"


def _rounded(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_rounded(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_rounded, value)) + "]"
    return str(value)


def _folded(recipe: names.Recipe, study: Any, cells: Mapping[str, Any]) -> list[str]:
    figures = study.fold(recipe, cells)
    rows = [_measured(label, figure) for label, figure in figures.items()]
    rows = [f"{len(rows)} figures {digest(repr(rows).encode())}", *rows[:_FIGURES]]
    printed = {label: value for label, value in recipe.printed.items() if label in figures}
    claims = tuple(claim for claim in recipe.claims if claim.figure in figures)
    recipe = replace(recipe, printed=printed, claims=claims)
    verdict = names.judge(recipe, figures)
    rows += [f"verdict: {verdict.overall}"]
    rows += [f"{standing}: {claim.figure}" for claim, _, standing in verdict.claims]
    shown = [*names.shown(study, recipe, cells, figures)]
    return [*rows, f"{len(shown)} tables and plots"]


def _measured(label: str, found: Any) -> str:
    return f"{label} = {found.value:.9g} ± {found.std_error:.9g}, n {found.n}"


def _prepared() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        recipe_data.movielens_100k(Path(folder))
        ratings = names.read_movielens(folder, "100k")
        rows = names.movielens.prepare(ratings, rank=4, max_iter=20)
    columns = {"X": rows.X, "rating": rows.y, "user": rows.qid, "item": rows.item}
    return [bits(name, value) for name, value in columns.items()]


# The small version of each recipe.


def _objectives(given: Mapping[str, Any]) -> dict[str, Any]:
    changes = {
        "cutoffs": [2, 3],
        "l2": {name: [1e-4, 1e-2] for name in given["l2"]},
        "draws": 50,
    }
    if "trees" in given:
        fixed = {**given["fixed"], "num_iterations": 9}
        changes |= {"trees": given["trees"][:2], "fixed": fixed, "look_every": 4}
    return changes


def _table3(given: Mapping[str, Any], methods: list[str] | None = None) -> dict[str, Any]:
    changes: dict[str, Any] = {"cutoffs": [2, 3], "random_draws": 3}
    final = dict.fromkeys(given["paper"]["final"], 8)
    changes["paper"] = {"learning_rate": [0.1, 0.5], "l2": [0.01], "max_iter": 5, "final": final}
    changes["zero"] = {"learning_rate": [0.5], "l2": [0.0, 0.01], "max_iter": 5}
    changes["C"] = {name: [1.0] for name in given["C"]}
    return changes | ({"methods": methods} if methods else {})


def _robirank_letor(given: Mapping[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "collections": {"OHSUMED": {**given["collections"]["OHSUMED"], "queries": 15}}
    }
    steps = {"lbfgs": "max_iter", "subgradient": "max_iter", "rankboost": "n_rounds"}
    for name in ("lbfgs", "stopped", "listnet", "rankcosine", "subgradient", "baselines"):
        grid = {key: values[1:2] or values for key, values in given[name]["grid"].items()}
        changes[name] = {**given[name], "grid": grid}
    for name, step in steps.items():
        settings = changes.get(name, given[name])
        changes[name] = {**settings, "fixed": {**settings["fixed"], step: 40}}
    return changes


def _ml1m(given: Mapping[str, Any]) -> dict[str, Any]:
    left_out = {"WARP"} | ({"ALS", "BPR"} if not importlib.util.find_spec("implicit") else set())
    included = {name: method for name, method in given["methods"].items() if name not in left_out}
    methods = {name: _short(method) for name, method in included.items()}
    return {"methods": methods, "passes": [1, 3], "shape": [], "threads": 1}


def _top_factors(given: Mapping[str, Any]) -> dict[str, Any]:
    methods = [given["methods"][0], given["methods"][1], "EASE", "ItemKNN", "popularity"]
    return {"methods": methods, "search": {"n_trials": 2}, "seeds": 2, "shape": []}


def _top_losses(given: Mapping[str, Any]) -> dict[str, Any]:
    models = {
        "linear": {"fixed": {"max_iter": 5}, "grid": {"l2": [0.1]}},
        "trees": {"fixed": {"n_trees": 5, "n_threads": 1}, "grid": {"n_leaves": [7]}},
    }
    chosen = {"linear": ["softmax"], "trees": ["LightGBM's lambdarank", "softmax"]}
    task = {"collection": "letor-like", "folder": ""}
    return {
        "collections": {
            "synthetic": {**task, "labels": "grades"},
            "synthetic, binary": {**task, "labels": "binary", "least": 1},
        },
        "readers": {"letor-like": {"seed": 0, "queries": 20}},
        "models": models,
        "losses": {"grades": chosen, "binary": chosen},
    }


def _short(method: Mapping[str, Any]) -> dict[str, Any]:
    small_options = {"n_factors": 4, "n_epochs": 4}
    fixed = {name: small_options.get(name, value) for name, value in method["fixed"].items()}
    grid = {
        name: values[: 2 if i == 0 else 1]
        for i, (name, values) in enumerate(method["grid"].items())
    }
    return {"fixed": fixed, "grid": grid, "chosen": {name: v[0] for name, v in grid.items()}}


def _msd(given: Mapping[str, Any]) -> dict[str, Any]:
    methods = {
        name: {**method, "passes": [0] if method["passes"] == [0] else [2, 9]}
        for name, method in given["methods"].items()
    }
    return {"judged": 200, "model": {"n_factors": 8, "gain": "one"}, "methods": methods}


def _scale(given: Mapping[str, Any]) -> dict[str, Any]:
    del given
    vary = {"threads": [1, 2], "blocks": [1], "factors": [2, 4], "shares": [0.5], "workers": []}
    return {"fraction": 0.0002, "factors": 4, "passes": 2, "vary": vary}


_METHODS: dict[str, Any] = {
    "EASE": {"l2": 20.0}, "itemKNN": {"k": 5}, "RoBiRank": {"n_factors": 4, "n_epochs": 3}
}  # fmt: skip
_PROTOCOL = {"format": "lists", "users": 0, "least": 2, "shape": []}


def _sampled_tables(given: Mapping[str, Any]) -> dict[str, Any]:
    del given
    return {"protocol": _PROTOCOL, "methods": _METHODS, "compared": ["EASE", "itemKNN"]}


def _sampled_proxy(given: Mapping[str, Any]) -> dict[str, Any]:
    del given
    proxies = ["popularity", "itemKNN", "random list"]
    changes = {"compared": ["EASE", "itemKNN"], "proxies": proxies, "budget": 20}
    return {"protocol": _PROTOCOL, "methods": _METHODS, **changes}


def _sampled_shared(given: Mapping[str, Any]) -> dict[str, Any]:
    del given
    changes = {"compared": ["EASE", "itemKNN"], "proxies": ["popularity", "itemKNN"]}
    return {"protocol": _PROTOCOL, "methods": _METHODS, "scored": 20, "listed": 10, **changes}


def _sampled_error(given: Mapping[str, Any]) -> dict[str, Any]:
    del given
    return {
        "protocol": _PROTOCOL, "methods": _METHODS, "sizes": [5, 10, 20],
        "few": 10, "timed": [],
    }  # fmt: skip


def _sampled_coverage(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"members": given["members"][:8:3], "measures": ["recall@10", "ap@10"]}


def _sampled_figures(given: Mapping[str, Any]) -> dict[str, Any]:
    del given
    changes = {"n_negatives": 20, "depth": 30, "cutoffs": [5, 20]}
    return {"protocol": _PROTOCOL, "methods": _METHODS, **changes}


def _consistency(given: Mapping[str, Any]) -> dict[str, Any]:
    del given
    return {
        "spaces": 6, "many_spaces": 40, "n_random_scores": 4, "p1": [0.335, 0.995, 5],
        "sizes": [[3, 1], [3, 2], [4, 1]],
        "curves": [["listmle", "original"], ["squared", "top-k"], ["gentle", "original"]],
    }  # fmt: skip


def _topk(given: Mapping[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    queries = {name: {**entry, "queries": 15} for name, entry in given["collections"].items()}
    for name, entry in given.items():
        if isinstance(entry, Mapping) and "grid" in entry:
            fixed = {
                key: min(value, 6) if key in ("max_iter", "n_rounds") else value
                for key, value in entry["fixed"].items()
            }
            changes[name] = {**entry, "grid": _last(entry["grid"]), "fixed": fixed}
            if "of_loss" in entry:
                changes[name]["of_loss"] = _last(entry["of_loss"])
    return {**changes, "collections": queries}


def _last(grid: Mapping[str, Any]) -> dict[str, Any]:
    return {name: column[-1:] for name, column in grid.items()}


def _objectives_context(recipe: names.Recipe) -> Any:
    return names.objective_splits(recipe, recipe_data.rows(with_items=True))


def _table3_context(recipe: names.Recipe) -> Any:
    return names.Table3Context(recipe, recipe_data.rows(with_items=False), "f")


_SHORT = ["GD-avg", "SVM-pAUC", "Greedy", "SGD@k-avg", "Select"]
_TABLES = Small(_sampled_tables, {"": recipe_data.two_tastes}, repeats=3)
_ERROR = Small(_sampled_error, {"": recipe_data.two_tastes}, repeats=2)

SMALL = {
    "pap-figure1": Small(),
    "pap-table1": Small(),
    "pap-table2": Small(repeats=2),
    "pap-slide14": Small(repeats=2),
    "pap-objectives": Small(_objectives, repeats=1, context=_objectives_context),
    "pap-objectives-linear": Small(_objectives, repeats=2, context=_objectives_context),
    "pap-table3-movielens": Small(_table3, repeats=1, context=_table3_context),
    "pap-table3-citation": Small(
        partial(_table3, methods=_SHORT), {"": recipe_data.citations}, repeats=1
    ),
    "pap-table3-behance": Small(
        partial(_table3, methods=_SHORT), {"": recipe_data.images}, repeats=1
    ),
    "robirank-letor": Small(_robirank_letor, {"": recipe_data.graded_parts}),
    "robirank-ml1m": Small(_ml1m, {"": recipe_data.ratings}, repeats=2),
    "robirank-msd": Small(_msd, {"": recipe_data.triplets}, repeats=1),
    "robirank-scale": Small(_scale, repeats=1, with_figures=False),
    "robirank-scale-full": Small(_scale, repeats=1, with_figures=False),
    **dict.fromkeys(
        (
            *("sampled-table2", "sampled-table3", "sampled-table3-210k", "sampled-table4"),
            *("sampled-pinterest", "sampled-amazon", "sampled-yelp"),
        ),
        _TABLES,
    ),
    "sampled-coverage": Small(_sampled_coverage, repeats=2),
    "sampled-error": _ERROR,
    "sampled-error-citeulike": _ERROR,
    **dict.fromkeys(
        ("sampled-proxy", *(f"sampled-proxy-{x}" for x in ("citeulike", "cutoffs", "pinterest"))),
        Small(_sampled_proxy, {"": recipe_data.two_tastes}, repeats=2),
    ),
    **dict.fromkeys(
        ("sampled-shared", "sampled-shared-citeulike"),
        Small(_sampled_shared, {"": recipe_data.two_tastes}, repeats=2),
    ),
    "sampled-figures": Small(_sampled_figures, {"": recipe_data.two_tastes}, repeats=2),
    "topk-consistency": Small(_consistency),
    "topk-factorization-amazon": Small(_top_factors, {"": recipe_data.published_split}),
    "topk-factorization-citeulike": Small(_top_factors, {"": recipe_data.counted_lists}),
    "topk-factorization-ml1m": Small(_top_factors, {"": recipe_data.ratings}),
    "topk-factorization-tweetings": Small(_top_factors, {"": recipe_data.ratings}),
    "topk-factorization-pinterest": Small(_top_factors, {"": recipe_data.published_split}),
    "topk-losses": Small(_top_losses),
    "topk-ohsumed": Small(_topk, {"": recipe_data.folds}, repeats=1),
    "topk-td": Small(
        _topk,
        {"TD2003": recipe_data.folds, "TD2004": partial(recipe_data.folds, shift=100)},
        repeats=1,
    ),
}
