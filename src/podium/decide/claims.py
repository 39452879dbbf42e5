"""Claims about the difference between two runs, and the verdict that an interval allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from podium._json import plain
from podium._numbers import measured
from podium.evaluation import UnjudgedRange
from podium.evaluation.segments import BUILT_IN
from podium.evaluation.stats import Interval

Verdict: TypeAlias = Literal["superior", "equal", "non-inferior", "inferior", "cannot tell"]
Role: TypeAlias = Literal["primary", "guard", "floor", "segment"]

_POWER_QUANTILE = 0.8416  # the standard normal quantile of 80 % power
_MOST_USERS = 1e12  # more users than anyone has
_ROUNDING = 1e-12  # a difference that is this close to the limit is the limit


@dataclass(frozen=True)
class Claim:
    """The difference between candidate and base in one measure, and its verdict.

    A floor is a value that the candidate must reach. It takes the place of the base's values.

    Attributes
    ----------
    role : {"primary", "guard", "floor", "segment"}
    measure : str
    by, segment : str
        The division of the users and the name of the part; empty for all users.
    higher_is_better : bool
    base, candidate : float
        The means of the two runs, in units of the measure.
    difference : float
        candidate - base.
    std_error : float
        The standard error of the difference; nan with fewer than two users.
    interval : Interval
        The confidence interval of the difference.
    level : float
        The level of the interval. It is higher in segments, so that all their intervals hold
        together.
    limit : float
        The difference that the candidate must not reach; for the primary measure, -margin if
        higher values are better and margin otherwise.
    n_users, n_undefined : int
        The users in the means, and those for whom the measure is undefined.
    unjudged : UnjudgedRange or None
        The range of the difference over all judgements of unjudged items. None without
        unjudged="bounds", and for measures of the items shown.
    is_equal : bool
        Whether the runs have the same lists, so that the difference is 0 and was not tested.
    """

    role: Role
    measure: str
    by: str
    segment: str
    higher_is_better: bool
    base: float
    candidate: float
    difference: float
    std_error: float
    interval: Interval
    level: float
    limit: float
    n_users: int
    n_undefined: int
    unjudged: UnjudgedRange | None = None
    is_equal: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict that the interval allows.

        "superior" and "non-inferior" if the whole interval is better than the limit, and "superior"
        if it is also better than 0; "inferior" if the whole interval is worse than the limit. It is
        "cannot tell" if the intervals of two looks contradict each other. "equal" if the runs have
        the same lists, unless the limit requires a gain. A floor is reached, "superior", if the
        whole interval is at the floor or better.
        """
        low, high = self._gains
        limit = self._oriented(self.limit)
        if self.is_equal and limit <= 0:
            return "equal"
        if low > high:
            return "cannot tell"
        if self.role == "floor" and low >= limit:
            return "superior"
        if low > limit + _ROUNDING:
            return "superior" if low > _ROUNDING else "non-inferior"
        return "inferior" if high < limit - _ROUNDING else "cannot tell"

    @property
    def holds(self) -> bool:
        """Whether the verdict is "superior", "equal" or "non-inferior"."""
        return self.verdict in ("superior", "equal", "non-inferior")

    @property
    def users_needed(self) -> int | None:
        """The number of users that would probably suffice for a verdict (80 % power).

        It assumes that the true difference is the observed one, and it ignores a horizon. None if
        the verdict is known, if the observed difference is the limit or outside the interval, if
        the interval is infinite, if no user's values differ, or if more than 10 ** 12 users would
        be needed.
        """
        low, high = self._gains
        gain = self._oriented(self.difference)
        gap = gain - self._oriented(self.limit)
        is_open = self.verdict == "cannot tell" and low <= gain <= high  # False with nan, too
        if (
            not is_open
            or self.has_no_spread
            or abs(gap) < _ROUNDING
            or not math.isfinite(low + high + self.std_error)
        ):
            return None
        half_width = gain - low if gap > 0 else high - gain
        # Half widths and standard errors fall with the root of the number of users.
        ratio = (half_width + _POWER_QUANTILE * self.std_error) / abs(gap)
        n_needed = self.n_users * ratio * ratio
        return math.ceil(n_needed) if n_needed <= _MOST_USERS else None

    @property
    def has_no_spread(self) -> bool:
        """Whether each user has the same value in both runs."""
        return self.role != "floor" and self.difference == 0 and self.std_error == 0

    @property
    def place(self) -> str:
        """The users of the claim in words, such as "all", "n_pos <= 10" or "country FR"."""
        if not self.by:
            return "all"
        return self.segment if self.by in BUILT_IN else f"{self.by} {self.segment}"

    def sentence(self, base: str = "base", candidate: str = "candidate") -> str:
        """Return the verdict as a sentence, with the interval and the users that would suffice."""
        low, high = self.interval
        if self.verdict == "equal":
            return f"{self._subject}: the runs are equal."
        if math.isnan(low):
            return f"{self._subject}: can't tell, because {self._lack}."
        if self.role == "floor":
            return self._floor_sentence(candidate)
        limit = f"{self.limit:+.4g}" if self.limit else "0"
        interval = (
            f"({measured(self.difference, '+')}, {self.level:.4g} gate interval "
            f"[{measured(low, '+')}, {measured(high, '+')}], limit {limit})"
        )
        if self.verdict == "cannot tell":
            return f"{self._subject}: can't tell {interval}.{self._advice}"
        if self.role == "guard":
            return f"{self._subject} {'holds' if self.holds else 'is broken'} {interval}."
        return f"{self._subject}: {candidate} is {self.verdict} to {base} {interval}."

    def _floor_sentence(self, candidate: str) -> str:
        low, high = (measured(self.base + end) for end in self.interval)
        value = f"({measured(self.candidate)}, {self.level:.4g} gate interval [{low}, {high}])"
        if self.verdict == "cannot tell":
            return f"{self._subject}: can't tell {value}.{self._advice}"
        return (
            f"{self.measure} is {'' if self.holds else 'not '}{self.floor} for {candidate} {value}."
        )

    @property
    def floor(self) -> str:
        """The floor in words, such as "at least 0.8"; empty for other claims."""
        if self.role != "floor":
            return ""
        return f"{'at least' if self.higher_is_better else 'at most'} {self.base:.4g}"

    @property
    def _subject(self) -> str:
        if self.role == "guard":
            return f"guard {self.measure}"
        if self.role == "floor":
            return f"{self.measure} {self.floor}"
        return f"{self.measure} in {self.place}" if self.by else self.measure

    @property
    def _lack(self) -> str:
        """Why there is no interval."""
        if self.n_users > 1:
            return f"the {self.n_users} users are in too few clusters for an interval"
        undefined = f" ({self.n_undefined} undefined)" if self.n_undefined else ""
        return f"an interval requires two users, got {self.n_users}{undefined}"

    @property
    def _advice(self) -> str:
        low, high = self.interval
        if low > high:
            return (
                " The intervals of two looks contradict each other, so later users probably differ "
                "from earlier ones."
            )
        if self.has_no_spread:
            return " Each user has the same value in both runs."
        if self.users_needed is None:
            return ""
        is_loss = self._oriented(self.difference) < self._oriented(self.limit)
        return (
            f" About {_rounded_up(self.users_needed):,} users (now {self.n_users:,}) would "
            f"probably suffice{' for a fail' if is_loss else ''}, if the true difference is the "
            "observed one."
        )

    def as_json(self, base: str = "base", candidate: str = "candidate") -> dict[str, Any]:
        """Return the JSON form; nan and infinity become None."""
        values = {name: value for name, value in vars(self).items() if name != "is_equal"}
        return {
            **plain(values),
            "unjudged": None if self.unjudged is None else self.unjudged.as_json(),
            "place": self.place,
            "floor": self.floor,
            "verdict": self.verdict,
            "users_needed": self.users_needed,
            "sentence": self.sentence(base, candidate),
        }

    @property
    def _gains(self) -> tuple[float, float]:
        """The interval of the improvement, which is positive if the candidate is better."""
        low, high = self.interval
        return (low, high) if self.higher_is_better else (-high, -low)

    def _oriented(self, difference: float) -> float:
        return difference if self.higher_is_better else -difference


def _rounded_up(n: int) -> int:
    """Return a number rounded up to two digits."""
    unit = 10 ** max(len(str(n)) - 2, 0)
    return -(-n // unit) * unit
