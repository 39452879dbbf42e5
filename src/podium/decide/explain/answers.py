"""What a search answers: the causes that fit, users as examples, and what is left open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Match:
    """An answer: causes that give the numbers.

    Attributes
    ----------
    value : float
        The mean of the first measure over users.
    changes : tuple of dict
        The differences from the defaults: conventions, a deviation and a reading. If several causes
        have this value, to 12 digits, each is a dictionary, the most probable one first.
    packages : tuple of str
        The packages with these conventions.
    toml : tuple of str
        The lines of podium.toml to change, for each cause. No line stands for pooled or for a
        deviation.
    protocol : dict
        The stated fields of a protocol with the first cause.
    values : dict of str to float
        The mean of each measure.
    chance : float
        The probability that a cause that isn't searched gives the numbers by chance, if the only
        alternative is this answer.
    share : float
        The probability of this answer among all that fit, and of causes that aren't searched.
    sentence, remedy : str
        The words of the deviations of a cause, and what to do instead; empty without one.
    """

    value: float
    changes: tuple[dict[str, Any], ...]
    packages: tuple[str, ...] = ()
    toml: tuple[str, ...] = ()
    protocol: Mapping[str, Any] = field(default_factory=dict[str, Any])
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    chance: float = 1.0
    share: float = 0.0
    sentence: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Example:
    """A user whose value differs.

    Attributes
    ----------
    user : str
    values : tuple of float
        Podium's value and that of the first answer; or those of the answers.
    items : tuple of str
        The items of the list to rank k, with the relevance of relevant ones.
    """

    user: str
    values: tuple[float, ...]
    items: tuple[str, ...]


@dataclass(frozen=True)
class Search:
    """The causes that give numbers on these data.

    Attributes
    ----------
    measure, value : str
        The first measure, and its number as it was given.
    default : float
        The value under podium's conventions.
    numbers : dict of str to str
        All numbers as they were given.
    defaults : dict of str to float
        Podium's value of each measure.
    matches : tuple of Match
        The answers, the most probable one first.
    is_determined : bool
        Whether the first answer is the cause. Otherwise another one could be, also one that isn't
        searched.
    n_others : int
        The number of further answers.
    nearest : Match
        The answer with the nearest value of the first measure.
    n_combinations : int
        The number of causes that were searched, of all measures.
    without_effect : dict of str to str
        The conventions that have no effect on these data, and data that would show one.
    deciding : dict of str to tuple of float
        A further measure, with its value under each of the first answers, if the cause is not
        determined; empty if no measure separates them.
    examples : tuple of Example
        Users on whom the first answer differs from podium's value; if the cause is not determined,
        those on whom the first two answers differ.
    """

    measure: str
    value: str
    default: float
    numbers: Mapping[str, str]
    defaults: Mapping[str, float]
    matches: tuple[Match, ...]
    is_determined: bool
    n_others: int
    nearest: Match
    n_combinations: int
    without_effect: dict[str, str]
    deciding: Mapping[str, tuple[float, ...]]
    examples: tuple[Example, ...]
