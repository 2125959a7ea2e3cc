"""What the seeds of one experiment came to: how many failed, and how many are needed until one does."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Self

from highwater_chaos.base.words import counted
from highwater_chaos.campaign.seed import Outcome

_Z: Final = 1.959964
"""95 %."""


class Interval(NamedTuple):
    """An estimate and its 95 % confidence interval. Infinite where nothing was found."""

    estimate: float
    least: float
    most: float


def rate_of(failed: int, seeds: int) -> Interval:
    """The share of failing seeds, with Wilson's interval, which holds for few seeds and for none that failed."""
    if seeds == 0:
        return Interval(0.0, 0.0, 1.0)
    share, square = failed / seeds, _Z * _Z
    middle = (share + square / (2 * seeds)) / (1 + square / seeds)
    half = _Z * math.sqrt(share * (1 - share) / seeds + square / (4 * seeds * seeds)) / (1 + square / seeds)
    return Interval(share, max(0.0, middle - half) if failed else 0.0, min(1.0, middle + half))


def seeds_needed(failed: int, seeds: int) -> Interval:
    """How many seeds it takes on average until one fails."""
    rate = rate_of(failed, seeds)
    return Interval(*(1 / share if share > 0 else math.inf for share in (rate.estimate, rate.most, rate.least)))


@dataclass(frozen=True)
class Row:
    """One experiment, on one variant of the runtime, over all its seeds. ``seconds`` are of processor time."""

    variant_is: ClassVar[str] = "variant"
    """What a variant is called: the head of its column."""

    experiment: str
    variant: str
    expected: str
    """pass, or fail: then one seed that fails is enough."""
    seeds: int
    verdicts: dict[str, int]
    first_failing: int | None
    until_found: int | None
    """How many seeds were run, in order, up to the first that failed."""
    seconds_until_found: float | None
    seconds: float
    anomalies: dict[str, int]
    """In how many seeds each was found."""
    failing: tuple[int, ...]
    errors: tuple[int, ...]
    inconclusive: tuple[int, ...]
    reached: int
    """In how many seeds the variant could make a difference; all of them where there is none."""
    changed: int
    """In how many seeds it made one, to the run or to its verdict; all of them where there is none."""
    lost: int | None
    """Acknowledged records that its seeds lost; None: of no seed it is known."""

    @classmethod
    def of(cls, experiment: str, variant: str, expected: str, outcomes: Sequence[Outcome]) -> Self:
        """The row of these outcomes, which are of one experiment and one variant."""
        ordered = sorted(outcomes, key=lambda one: one.seed)
        by_verdict = {
            verdict: tuple(one.seed for one in ordered if one.verdict == verdict)
            for verdict in ("fail", "error", "inconclusive")
        }
        place = next((place for place, one in enumerate(ordered) if one.verdict == "fail"), None)
        found = Counter(name for one in ordered for name in one.anomalies)
        return cls(
            experiment,
            variant,
            expected,
            len(ordered),
            dict(sorted(Counter(one.verdict for one in ordered).items())),
            None if place is None else ordered[place].seed,
            None if place is None else place + 1,
            None if place is None else sum(one.cpu_seconds for one in ordered[: place + 1]),
            sum(one.cpu_seconds for one in ordered),
            dict(sorted(found.items(), key=lambda one: (-one[1], one[0]))),
            by_verdict["fail"],
            by_verdict["error"],
            by_verdict["inconclusive"],
            sum(one.reached for one in ordered),
            sum(one.changed for one in ordered),
            sum(known) if (known := [one.lost for one in ordered if one.lost is not None]) else None,
        )

    @property
    def name(self) -> str:
        """The experiment, and the variant if there is one."""
        return f"{self.experiment}{' ' if self.variant else ''}{self.variant}"

    @property
    def found(self) -> bool:
        """Return whether some seed failed."""
        return self.first_failing is not None

    @property
    def verdict(self) -> str:
        """Of the row: error, fail, inconclusive or pass, the worst of its seeds."""
        worst = next((one for one in ("error", "fail", "inconclusive") if self.verdicts.get(one)), "pass")
        return worst if self.seeds else "inconclusive"

    @property
    def as_expected(self) -> bool:
        """Whether all seeds passed, or, where a fail is expected, one failed; and none is in question."""
        if self.errors:
            return False
        return self.found if self.expected == "fail" else self.verdicts.get("pass", 0) == self.seeds > 0

    @property
    def note(self) -> str:
        """What there is to say of the variant, on the page."""
        return ""

    @property
    def figures(self) -> dict[str, int]:
        """Further columns of the page, by their heads."""
        return {}

    def line(self, outcomes: Sequence[Outcome]) -> str:
        """The row in a line of text; ``outcomes`` are those that it counts."""
        seeds = counted(self.seeds, "seed")
        verdicts = ", ".join(f"{verdict} {count}" for verdict, count in self.verdicts.items()) or "none was run"
        if self.expected == "fail" and self.until_found is not None:
            anomalies = next(one.anomalies for one in outcomes if one.verdict == "fail")
            return (
                f"FOUND: {self.name}: after {counted(self.until_found, 'seed')} (seed {self.first_failing}),"
                f" {self.seconds_until_found:.1f} s, by {', '.join(anomalies)}; {verdicts}"
            )
        if self.expected == "fail":
            word = "NOT FOUND" if self.seeds else "NOT RUN"
            return f"{word}: {self.name}: {seeds}, {self.seconds:.1f} s"
        return f"{'OK' if self.as_expected else self.verdict.upper()}: {self.name}: {seeds}: {verdicts}"

    def to_dict(self) -> dict[str, Any]:
        needed = seeds_needed(len(self.failing), self.seeds)
        return {
            "experiment": self.experiment,
            "expected": self.expected,
            "asExpected": self.as_expected,
            "seeds": self.seeds,
            "verdicts": self.verdicts,
            "anomalies": self.anomalies,
            "failingSeeds": list(self.failing),
            "errorSeeds": list(self.errors),
            "inconclusiveSeeds": list(self.inconclusive),
            "seedsUntilFound": self.until_found,
            "secondsUntilFound": None if self.seconds_until_found is None else round(self.seconds_until_found, 2),
            "seedsNeeded": [round(one, 2) if math.isfinite(one) else None for one in needed],
            "lost": self.lost,
            "cpuSeconds": round(self.seconds, 2),
        }
