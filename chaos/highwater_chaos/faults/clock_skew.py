"""``clockSkew``: a node's clock is off, or runs fast or slow."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Self

from pydantic import Field

from highwater_chaos.backends.primitives import Primitive, SkewsClocks
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.base.quantities import Duration, Nanoseconds
from highwater_chaos.experiment.targets import Target, Victims
from highwater_chaos.faults.base import Drawn, Fault, FaultContext, FaultTarget, ProbeResult, target_of
from highwater_chaos.faults.drawing import Drawing
from highwater_runtime.ports import MS, SECOND

_DRAWN_RATES: Final = (0.9, 0.99, 1.01, 1.1)
_DRAWN_OFFSETS_NS: Final = 60 * SECOND


class ClockSkew(Fault):
    """The target's clock runs at ``rate`` times real time and its wall clock is off by ``offset``."""

    KIND: ClassVar[str] = "clockSkew"
    RANK: ClassVar[int] = 15
    target: Victims
    rate: Annotated[
        float, Field(gt=0, le=100, strict=False, description="Seconds of its clock in a second of real time.")
    ] = 1.0
    offset: Annotated[Duration, Field(description="How far ahead its wall clock is. A duration such as 90s.")] = 0

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({SkewsClocks})

    @classmethod
    def example(cls) -> Self:
        """A skew of nothing would be none."""
        return cls(target=Target(broker=0), offset=Nanoseconds(SECOND))

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw any node, a rate and an offset of less than a minute."""
        node = drawing.node("brokers", "quorum")
        if node is None:
            return None
        rate = drawing.random.choice(_DRAWN_RATES)
        offset = Nanoseconds(drawing.random.randrange(_DRAWN_OFFSETS_NS))
        return Drawn(cls(target=target_of(node), rate=rate, offset=offset), (node,))

    def clock_error_ns(self, within_ns: int) -> int:
        """Of the wall clock, and what the rate makes of it."""
        return self.offset + _drift_ns(self.rate, within_ns)

    @classmethod
    def drawn_clock_error_ns(cls, within_ns: int) -> int:
        return _DRAWN_OFFSETS_NS + max(_drift_ns(rate, within_ns) for rate in _DRAWN_RATES)

    def inject(self, context: FaultContext) -> Process[None]:
        """Skew the clocks. Confirmed by reading each node's clock beside the right one."""
        touched = context.aim_alone(self.target, {self.KIND})
        began_ns = context.backend.now_ns()
        for touch in touched:
            context.using(SkewsClocks).skew_clock(touch.name, self.offset, self.rate)
        yield Sleep(10 * MS)
        for touch in touched:
            offset, rate = context.using(SkewsClocks).clock_error(touch.name)
            seen = self._is_seen(offset, rate, context.backend.now_ns() - began_ns)
            context.record_evidence(
                touch, _text(touch, offset, rate), seen, node=touch.name, offsetNs=offset, rate=rate
            )

    def _is_seen(self, offset: int, rate: float, within_ns: int) -> bool:
        """Whether a clock that is ``offset`` ahead, at most ``within_ns`` after it was set, shows this skew. A right
        clock never does."""
        if self.offset == 0 and self.rate == 1.0:
            return False
        tolerance = min(1_000 * MS, self.offset // 2)
        if self.rate != 1.0:  # it moves the offset while time goes by
            tolerance += MS + round(abs(self.rate - 1.0) * within_ns)
        return abs(rate - self.rate) < 1e-6 and abs(offset - self.offset) <= tolerance

    def heal(self, context: FaultContext) -> Process[None]:
        context.undo_each(lambda touch: context.using(SkewsClocks).skew_clock(touch.name, 0, 1.0))
        yield Sleep(0)

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Read the node's clock beside the right one."""
        offset, rate = context.using(SkewsClocks).clock_error(touch.name)
        return ProbeResult(offset == 0 and rate == 1.0, _text(touch, offset, rate), {"node": touch.name})


def _drift_ns(rate: float, within_ns: int) -> int:
    return round(abs(rate - 1.0) * within_ns)


def _text(touch: FaultTarget, offset: int, rate: float) -> str:
    return f"the clock of {touch.name} is {offset / 1e9:+.3f} s off and runs at rate {rate:g}"
