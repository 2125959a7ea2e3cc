"""Clients of others as workload: programs that drive a real Kafka client and tell the harness what it did and saw."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from highwater_chaos.base.distribution import installing
from highwater_chaos.machine.kernel.own_program import own_program


@dataclass(frozen=True, slots=True)
class Driver:
    """A program that drives a client. ``command`` takes its settings as one more argument; ``package`` is what has to
    be importable for it, ``extra`` the extra of this distribution that brings it."""

    name: str
    command: tuple[str, ...]
    package: str
    extra: str

    def missing(self) -> str | None:
        """What this installation lacks for it, and what to do; None where it can run."""
        if find_spec(self.package) is not None:
            return None
        return f"needs the package {self.name}, which is not installed: {installing(self.extra)}"


DRIVERS: Final = {
    driver.name: driver
    for driver in (
        Driver(
            "confluent-kafka",
            own_program("highwater_chaos.workload.drivers.confluent"),
            package="confluent_kafka",
            extra="drivers",
        ),
    )
}
"""Drivers by the name that ``workload.driver`` takes, of clients that are not ours."""

OWN: Final = Driver(
    "highwater",
    own_program("highwater_chaos.workload.drivers.highwater"),
    package="highwater_chaos",
    extra="chaos",
)
"""Our own clients, in a process of their own where time is real."""
