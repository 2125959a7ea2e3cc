"""What must hold of the cluster's metrics, and when: conditions in PromQL."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from highwater_chaos.experiment.base import Model
from highwater_chaos.experiment.units import Duration, format_duration

PHASES: Final = ("steady", "fault", "recovered")


class Assertion(Model):
    """A condition that holds at an instant where ``promql`` comes to a vector that is not empty, or to a number other
    than 0. ``during`` is the phase in which it must do so ``always`` (the default), ``never``, or at one instant at
    least within a time since the phase began (``eventually``)."""

    name: Annotated[
        str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63, description="What a verdict calls it.")
    ]
    promql: Annotated[
        str, Field(min_length=1, max_length=2000, description="The condition: an instant vector or a number.")
    ]
    during: Annotated[
        Literal["steady", "fault", "recovered"],
        Field(description="The phase: before the first fault, the schedule, or from the heal until all is whole."),
    ]
    always: Annotated[Literal[True] | None, Field(description="At every instant of the phase: the default.")] = None
    never: Annotated[Literal[True] | None, Field(description="At no instant of the phase.")] = None
    eventually: Annotated[
        Duration | None,
        Field(description="At one instant at least, within this time since the phase began. A duration."),
    ] = None

    @model_validator(mode="after")
    def _at_most_one(self) -> Self:
        given = [name for name in ("always", "never", "eventually") if getattr(self, name) is not None]
        if len(given) > 1:
            raise PydanticCustomError(
                "one_of",
                "expected at most one of always, never, eventually; found {found}",
                {"found": ", ".join(given)},
            )
        return self

    @property
    def must(self) -> str:
        """``always``, ``never`` or ``eventually 60s``."""
        if self.eventually is not None:
            return f"eventually {format_duration(self.eventually)}"
        return "never" if self.never else "always"


class PrometheusServer(Model):
    """A Prometheus that scrapes the cluster: assertions are asked of it, instead of the samples that the harness takes
    itself. ``timeout`` is for each question."""

    url: Annotated[
        str,
        Field(
            pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$",
            max_length=500,
            description="Of the server: http://prometheus.monitoring.svc:9090.",
        ),
    ]
    timeout: Annotated[Duration, Field(description="How long one answer may take. A duration.")] = 10_000_000_000
