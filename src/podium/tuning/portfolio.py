"""The choice among models of several families on validation data; simple models come first.

A model of a later family is chosen only if it is better than the earlier ones by more than noise.
Models that need more than the budget or the memory are not tried, and named. `of_events` chooses
recommenders and their blends, and `of_features` rankers.
"""

from __future__ import annotations

import abc
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from podium._grammar import write
from podium.data.storage import available_memory
from podium.errors import ArgumentError, PodiumError
from podium.evaluation import stats
from podium.evaluation.stats.comparing import is_greater
from podium.metrics import Measure
from podium.registry import Models
from podium.tuning.results import Interrupted, Search, Trial
from podium.types import PerGroup, Progress

NAME = "auto"
BUDGET = 300.0  # seconds of processor time by default
_CHEAP = 0.01  # of the budget: the changes of a model whose fit takes more are not tried again
_QUICK = 0.04  # of the budget: a family that took more tries no further settings
_NOISE = 2.0  # standard errors of a difference below which the simpler model is chosen


@dataclass(frozen=True)
class Family:
    """Settings of one kind of model, each as the text of a registry.

    All settings are tried, or, if `start` is given, the one at this position and its neighbours as
    long as they are better.
    """

    settings: tuple[str, ...]
    start: int | None = None


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model, or a weighted sum of several, that is fitted to the training data.

    Attributes
    ----------
    models : dict of str to model
        The fitted models by their text.
    values : float64, (n_users,)
        The measure of each user of the validation data; nan if undefined.
    weights : tuple of float
        The weights of the models in the sum.
    """

    models: dict[str, Any]
    values: PerGroup
    weights: tuple[float, ...] = (1.0,)

    @property
    def text(self) -> str:
        """The text from which the registry makes the model."""
        if len(self.models) == 1:
            return next(iter(self.models))
        products = zip(self.weights, self.models, strict=True)
        return f"blend(formula={' + '.join(f'{weight:.4g}*{text}' for weight, text in products)})"

    @property
    def mean(self) -> float:
        """The mean over the users."""
        return float(np.nanmean(self.values))

    def is_better(self, other: Candidate, n_errors: float = _NOISE) -> bool:
        """Return whether the mean difference to another candidate exceeds n standard errors."""
        return is_greater(self.values, other.values, n_errors)


@dataclass(eq=False)
class Portfolio(abc.ABC):
    """The models that are tried within a budget of processor time.

    Attributes
    ----------
    measure : Measure
    budget : float
        The seconds of processor time, the final fit included.
    report : Progress
    trials : list of Trial
        The models that were tried, and those that were not, with the reason.
    best : list of Candidate
        The best candidate of each family so far, in the order of the families.
    """

    registry: ClassVar[Models[Any]]
    """The registry of the models."""
    noise: ClassVar[float] = _NOISE
    """The standard errors by which a model must be better than a simpler one."""

    measure: Measure
    budget: float
    report: Progress
    trials: list[Trial] = field(default_factory=list[Trial], init=False)
    best: list[Candidate] = field(default_factory=list[Candidate], init=False)

    def __post_init__(self) -> None:
        self._start = time.process_time()

    @property
    def left(self) -> float:
        """The seconds of the budget that are left."""
        return self.budget - (time.process_time() - self._start)

    @property
    @abc.abstractmethod
    def families(self) -> tuple[Family, ...]:
        """The families, from the simplest to the most complicated."""

    def cost(self, text: str) -> tuple[float, float]:
        """Return estimates of a fit: the seconds of processor time, and the bytes of memory.

        They are zeros for rows, which are in memory, and whose fits stop early.
        """
        del text
        return 0.0, 0.0

    @abc.abstractmethod
    def fitted(self, text: str) -> Any:
        """Return a model that is fitted to the training data."""

    @abc.abstractmethod
    def values(self, model: Any) -> PerGroup:
        """Return the measure of each user of the validation data."""

    @abc.abstractmethod
    def final(self, chosen: Candidate) -> Any:
        """Return the chosen model, fitted to all data."""

    def settled(self, text: str, model: Any) -> str:
        """Return the text with the values that the fit chose itself."""
        del model
        return text

    def changed(self, text: str, changes: dict[str, Any]) -> str:
        """Return a text with other values of some parameters."""
        name, params = self.registry.split(text)
        return write(name, params | changes, None)

    def axes(self, text: str) -> dict[str, tuple[Any, ...]]:
        """Return further values of parameters to try with the best model of a family."""
        del text
        return {}

    def rivals(self) -> dict[str, Any]:
        """Return the best model of each family by its text, if it is to be kept."""
        return {}

    def combined(self, chosen: Candidate) -> Candidate:
        """Return the choice itself, or a better combination of models."""
        return chosen

    def search(self, *, refit: bool) -> Search:
        """Try all families and, with `refit`, fit the choice to all data.

        Raises
        ------
        ArgumentError
            If no model can be fitted.
        Interrupted
            If Ctrl-C ends the trials after a model was measured. The `estimator` of its search is
            then the best model so far, fitted to the training data.
        """
        try:
            for family in self.families:
                self._try_family(family)
            chosen = self.combined(self.simplest())
        except KeyboardInterrupt:
            if not self.best:
                raise
            chosen = self.simplest()
            raise Interrupted(self._search_of(chosen, chosen.models[chosen.text])) from None
        return self._search_of(chosen, self.final(chosen) if refit else None)

    def simplest(self) -> Candidate:
        """Return the first candidate to which none is better by more than noise."""
        if not self.best:
            reasons = "; ".join(f"{t.params['model']}: {t.error}" for t in self.trials)
            raise ArgumentError(f"No model could be fitted. {reasons}")
        return next(c for c in self.best if not any(o.is_better(c, self.noise) for o in self.best))

    def record(
        self, text: str, start: float, candidate: Candidate | None = None, error: str = ""
    ) -> Candidate | None:
        """Add a trial that began at a processor time, and return its candidate."""
        of_users = stats.summarize(np.empty(0) if candidate is None else candidate.values)
        mean, std_error = of_users.mean, of_users.std_error
        number, seconds = len(self.trials), time.process_time() - start
        params = {"model": text}
        trial = Trial(
            number, params, (mean,), mean, std_error, of_users.n_groups, seconds, error=error
        )
        self.trials.append(trial)
        spent = int(self.budget - max(self.left, 0.0))
        self.report(spent, int(self.budget), f"{text} {error or format(mean, '.4f')}")
        return candidate

    def _try_family(self, family: Family) -> None:
        """Try the settings of a family and changes of the best one, and keep the best of all.

        A costly family is only fitted with the changes that the best earlier model has.
        """
        before, first = self.left, family.settings[family.start or 0]
        changed = [candidate for candidate in self.best if self.axes(candidate.text)]
        is_costly = bool(changed) and self.cost(first)[0] > _CHEAP * self.budget
        changes = self._shared_changes(first, max(changed, key=_mean)) if is_costly else {}
        texts = [self.changed(text, changes) for text in family.settings]
        tried: dict[int, Candidate | None] = {}
        todo = list(range(len(texts))) if family.start is None else [family.start]
        best, is_quick = None, True
        while todo:
            place = todo.pop(0)
            tried[place] = self._try(texts[place])
            at_best = max(tried, key=lambda at: _mean(tried[at]))
            best = tried[at_best]
            is_quick = before - self.left < _QUICK * self.budget
            if family.start is not None and best and is_quick:
                near = (at_best - 1, at_best + 1)
                todo = [at for at in near if 0 <= at < len(texts) and at not in tried]
        if best is not None:
            self.best.append(self._with_changes(best) if is_quick and not is_costly else best)

    def _with_changes(self, best: Candidate) -> Candidate:
        """Return the best candidate with changes of one parameter after the other."""
        for name, values in self.axes(best.text).items():
            texts = [self.changed(best.text, {name: value}) for value in values]
            best = max([best, *filter(None, map(self._try, texts))], key=_mean)
        return best

    def _shared_changes(self, text: str, other: Candidate) -> dict[str, Any]:
        """Return those changes of a model that another one has."""
        known = self.registry.split(other.text)[1]
        axes = self.axes(text).items()
        return {name: known[name] for name, values in axes if known.get(name) in values}

    def _try(self, text: str) -> Candidate | None:
        """Fit and measure a model if the budget and the memory allow it, and record the trial."""
        start = time.process_time()
        try:
            refusal = self._refusal(*self.cost(text))
            if refusal:
                return self.record(text, start, error=refusal)
            model = self.fitted(text)
            candidate = Candidate({self.settled(text, model): model}, self.values(model))
            return self.record(candidate.text, start, candidate)
        except (PodiumError, MemoryError) as error:
            return self.record(text, start, error=str(error))

    def _refusal(self, seconds: float, size: float) -> str:
        """Return the reason why a model can't be tried, or an empty text."""
        left = max(self.left, 0.0)
        if size > available_memory():
            return f"not tried: it needs about {size / 1e9:.3g} GB of memory"
        if not left or 2.0 * seconds > left:  # a fit to all data follows
            return f"not tried: two fits take about {2 * seconds:.0f} s, with {left:.0f} s left"
        return ""

    def _search_of(self, chosen: Candidate, model: Any) -> Search:
        best = next(trial for trial in self.trials if trial.params["model"] == chosen.text)
        return Search(str(self.measure), tuple(self.trials), best, model, self.rivals())


def _mean(candidate: Candidate | None) -> float:
    return -np.inf if candidate is None else candidate.mean
