"""The page of the demo: the reports of its results, and what was done."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from podium.data.retail import OnlineRetail
from podium.demo.study import N_PROPOSED, TARGET, WINDOW_DAYS, K, Results, Window
from podium.report import Report, Section, provenance

_SOURCE = (
    "Data: Online Retail, D. Chen, S. L. Sain and K. Guo, Journal of Database Marketing & Customer "
    "Strategy Management 19(3), 2012, doi 10.1057/dbm.2012.17. Customers and products are shown "
    "with the shop's numbers and descriptions."
)
_JOB = (
    f"Three windows of {WINDOW_DAYS // 7} weeks follow each other. Recommenders learn from all "
    f"purchases before a window, and each proposes {N_PROPOSED} products to each customer. The "
    "rankers reorder these products by the scores of the recommenders and by features of the "
    "products. They learn in the first window which products are bought. The validation window "
    "chooses the base, which is the best recommender, and the ranker: the simplest one to which no "
    "other is better there by more than noise (podium.tuning.search). The test window was used "
    "once, for this page."
)
_TRUTH = (
    "Only products that the customer had never bought count: a repeat order needs no "
    "recommendation. New purchases that no recommender proposed count as missed."
)


def summary(results: Results) -> str:
    """Return the result in some sentences, all of them computed from the numbers."""
    claim, base, choice = results.gate.primary, results.base, results.choice
    rivals = sorted(set(results.runs) - {choice}, key=lambda name: -_mean(results, name))
    better = [n for n in rivals if results.comparison.difference(TARGET, n).test.interval.low > 0]
    gain = f"{100 * claim.difference / claim.base:+.0f} %"
    return (
        f"{_capitalized(choice)} against {base}: mean {TARGET} {claim.candidate:.4f} instead of "
        f"{claim.base:.4f} ({gain}) on {claim.n_users:,} customers of the test weeks. Both were "
        f"chosen on the validation weeks, where they had {results.validation[choice]:.4f} and "
        f"{results.validation[base]:.4f}. Of the other methods, {rivals[0]} is best on the test "
        f"weeks: {_mean(results, rivals[0]):.4f}, a difference of {_gap(results, rivals[0])} from "
        f"the choice. Significantly better than the choice: {', '.join(better) or 'none'}."
    )


def _gap(results: Results, method: str) -> str:
    """Return the difference of a method from the choice, with its interval."""
    if method == results.choice:
        return ""
    test = results.comparison.difference(TARGET, method).test
    return f"{test.difference:+.4f} [{test.interval.low:+.4f}, {test.interval.high:+.4f}]"


def report(results: Results) -> Report:
    """Return the content of the page: the gate's decision first, then the other results."""
    compared = results.comparison.to_report(titles=items(results.shop))
    decided = results.gate.to_report()
    (claims,), (means, *others) = decided["sections"], compared["sections"]
    sections: list[Any] = [
        means,
        {**claims, "title": f"May the {results.choice} replace {results.base}?"},
        _job(results),
        *others,
        _audit(results),
    ]
    test, candidates = results.windows["test"], results.candidates["test"]
    dates, share = _dates(results.shop, test), candidates.bought.sum() / test.new.size
    return {
        "title": f"Which {K} products should be recommended to each customer?",
        "subtitle": f"A year of purchases in a gift shop; the test weeks are {dates}",
        "status": decided["status"],
        "summary": [decided["summary"][0], summary(results)],
        "facts": {
            "customers": test.customers.size,
            "new products bought": test.new.size,
            "products proposed to each": round(candidates.row.size / test.customers.size),
            "of the new products proposed": f"{100 * share:.0f} %",
        },
        "sections": sections,
        "conventions": compared["conventions"],
        "provenance": provenance(command="podium demo"),
        "footer": _SOURCE,
    }


def items(shop: OnlineRetail) -> dict[str, Any]:
    """Return the titles of products."""
    return {"item": shop.stock_code, "title": shop.description}


def _job(results: Results) -> Section:
    """Return what was done, and the choice on validation."""
    texts, valid = results.settings, results.validation
    methods = [
        [name, texts[name], valid[name], _mean(results, name), _gap(results, name)]
        for name in results.runs
    ]
    names = list(results.runs)
    return {
        "title": "What was done",
        "text": [_JOB, _TRUTH],
        "tables": [
            {
                "columns": ["method", "model", "validation", "test", "test, minus the choice"],
                "rows": methods,
                "digits": 4,
                "highlight": [(names.index(n), 2) for n in (results.base, results.choice)],
                "caption": f"Mean {TARGET} of the methods. Bold: the base and the ranker that "
                "validation chose",
            },
        ],
    }


def _audit(results: Results) -> Section:
    """Return the findings of the audit; its own page also has their remedies."""
    audited = results.audit.to_report()
    tables = [table for part in audited["sections"] for table in part.get("tables", ())]
    note = "podium audit past.parquet truth.parquet run-*.parquet explains the findings."
    return {"title": "Audit", "text": audited["summary"], "tables": tables, "notes": note}


def _mean(results: Results, method: str) -> float:
    return results.comparison.evaluations[method].means[TARGET]


def _capitalized(name: str) -> str:
    """Return the name with a capital first letter, unless the second one is a capital (pAp)."""
    return name if name[1:2].isupper() else name[:1].upper() + name[1:]


def _dates(shop: OnlineRetail, part: Window) -> str:
    seconds = (shop.epoch0 + minute * 60 for minute in (part.start, part.stop - 1))
    first, last = (datetime.fromtimestamp(second, UTC).date().isoformat() for second in seconds)
    return f"{first} to {last}"
