"""What must hold of the cluster's metrics, and when: conditions in PromQL."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from highwater_chaos.base.quantities import Duration, format_duration
from highwater_chaos.experiment.assertion_library import LIBRARY
from highwater_chaos.experiment.base import LABEL, WEB_ADDRESS, Model, OneOf

PHASES: Final = ("steady", "fault", "recovered")


class Assertion(OneOf):
    """A condition that holds at an instant where ``promql`` comes to a vector that is not empty, or to a number other
    than 0. ``during`` is the phase in which it must do so ``always`` (the default), ``never``, or at one instant at
    least within a time since the phase began (``eventually``). ``use`` names one of the library
    instead; a validated model has its condition, and no ``use``."""

    use: Annotated[
        str | None,
        Field(
            max_length=63,
            description="An assertion of the library, in place of promql and during; see docs/experiments.md.",
        ),
    ] = None
    within: Annotated[
        Duration | None,
        Field(description="With use: the time of its eventually, in place of the default. A duration."),
    ] = None
    # Not required, since `use` takes their place; what is validated has them all. A factory, so that no schema has an
    # empty default.
    name: Annotated[
        str,
        Field(
            default_factory=str,
            pattern=LABEL,
            max_length=63,
            description="Its name in the verdict; with use: by default the name there.",
        ),
    ]
    promql: Annotated[
        str,
        Field(
            default_factory=str,
            min_length=1,
            max_length=2000,
            description="The condition: an instant vector or a number.",
        ),
    ]
    during: Annotated[
        Literal["steady", "fault", "recovered"],
        Field(
            default_factory=str,
            description="The phase: before the first fault, the schedule, or from the heal until all is whole.",
        ),
    ]
    always: Annotated[Literal[True] | None, Field(description="At every instant of the phase: the default.")] = None
    never: Annotated[Literal[True] | None, Field(description="At no instant of the phase.")] = None
    eventually: Annotated[
        Duration | None,
        Field(description="At one instant at least, within this time since the phase began. A duration."),
    ] = None

    @classmethod
    def common(cls) -> frozenset[str]:
        """What is asked, and when, stands beside the choice."""
        return frozenset({"use", "within", "name", "promql", "during"})

    @classmethod
    def required(cls) -> bool:
        """Without a choice it is ``always``."""
        return False

    @model_validator(mode="before")
    @classmethod
    def _taken_from_library(cls, found: Any) -> Any:
        if not isinstance(found, dict) or found.get("use") is None:
            return found
        ready = LIBRARY.get(str(found["use"]))
        if ready is None:
            raise PydanticCustomError(
                "use",
                "there is no assertion {name} to use; there are: {known}",
                {"name": repr(found["use"]), "known": ", ".join(LIBRARY)},
            )
        if beside := [
            str(field) for field, value in found.items() if value is not None and field not in ("use", "name", "within")
        ]:
            raise PydanticCustomError(
                "use", "`use` has its own condition: leave out {beside}", {"beside": ", ".join(beside)}
            )
        if found.get("within") is not None and ready.within is None:
            raise PydanticCustomError(
                "use", "{name} must hold {must}: it takes no `within`", {"name": found["use"], "must": ready.must}
            )
        within = ready.within if found.get("within") is None else found["within"]
        must: Any = within if ready.must == "eventually" else True
        return {
            "name": found.get("name") or found["use"],
            "promql": ready.promql,
            "during": ready.during,
            ready.must: must,
        }

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if missing := [name for name in ("name", "promql", "during") if not getattr(self, name)]:
            raise PydanticCustomError(
                "use",
                "expected `use`, or name, promql and during; missing: {missing}",
                {"missing": ", ".join(missing)},
            )
        if self.within is not None:
            raise PydanticCustomError("use", "`within` goes with `use` only: say `eventually`")
        return self

    @property
    def must(self) -> str:
        """``always``, ``never`` or ``eventually 60s``."""
        if self.eventually is not None:
            return f"eventually {format_duration(self.eventually)}"
        return "never" if self.never else "always"


class PrometheusServer(Model):
    """A Prometheus that scrapes the cluster: assertions are asked of it, instead of the samples that the harness takes
    itself. ``timeout`` is for each question; ``labels`` tell this cluster's series from those of others."""

    url: Annotated[
        str,
        Field(
            pattern=WEB_ADDRESS,
            max_length=500,
            description="Of the server: http://prometheus.monitoring.svc:9090.",
        ),
    ]
    timeout: Annotated[Duration, Field(description="How long one answer may take. A duration.")] = 10_000_000_000
    labels: Annotated[
        dict[str, Annotated[str, Field(max_length=253)]] | None,
        Field(
            max_length=16,
            description="Asked of every selector that does not name them; absent: namespace and strimzi_io_cluster of"
            " the cluster, on Kubernetes.",
        ),
    ] = None
