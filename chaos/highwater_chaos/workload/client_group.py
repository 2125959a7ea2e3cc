"""Clients that live together: which ones, how they stand, and the protocol of their host.

In the simulator all clients of a run are one group, in the harness's own process. Where time is real each group is a
process (:mod:`highwater_chaos.workload.drivers`), so that what clients cost is not the harness's to pay. Both host the
same cores, and both say the same of them: a :class:`ClientStatus`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, Protocol

import msgspec

from highwater_chaos.workload.consumer import ConsumerOptions, RecordingConsumer
from highwater_chaos.workload.group_member import GroupMember, MemberOptions
from highwater_chaos.workload.history import HistoryRecorder, Tried
from highwater_chaos.workload.lookups import LookupClient, LookupOptions
from highwater_chaos.workload.producer import ProducerOptions, RecordingProducer
from highwater_chaos.workload.registers import RegisterClient, RegisterOptions
from highwater_runtime.ports import InboundRequest, NodeCore, Ports

Role = Literal["producer", "register", "consumer", "group-member"]
"""Clients that are asked to finish together."""

ROLES: Final[tuple[Role, ...]] = ("producer", "register", "consumer", "group-member")


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The clients of one group, started in the order of the fields."""

    producers: tuple[ProducerOptions, ...] = ()
    consumers: tuple[ConsumerOptions, ...] = ()
    registers: tuple[RegisterOptions, ...] = ()
    members: tuple[MemberOptions, ...] = ()
    lookups: tuple[LookupOptions, ...] = ()

    @property
    def names(self) -> list[str]:
        every: Sequence[Any] = (
            *self.producers,
            *self.consumers,
            *self.registers,
            *self.members,
            *self.lookups,
        )
        return [options.name for options in every]


class ClientStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the clients of a group have come to so far.

    ``offered`` and ``acknowledged`` count records, since ``first_offered_ns`` of run time. Each of the latter waited
    from its send to its acknowledgement, all of them together ``waited_ns``. ``held_back`` counts records that a
    producer left out because it had as many open as it may; ``read`` those that polls have returned. ``open``:
    operations without outcome. ``idle``: roles of which every client has finished. ``drained``: whether every final
    reader has read everything, and if not, ``remaining`` says what is left by partition. ``news``: partitions that were
    written to since the last reported status, with the run time of the latest acknowledgement (−1: none yet).
    ``tried``: how the other kinds of operations go, by client; of clients that do not count them, nothing.
    ``refusal``: the error with which a send failed last, as long as none was acknowledged.
    ``inconclusive_reasons``: why the history of the group is not to be trusted.
    """

    offered: int = 0
    first_offered_ns: int | None = None
    acknowledged: int = 0
    waited_ns: int = 0
    held_back: int = 0
    read: int = 0
    open: int = 0
    idle: tuple[Role, ...] = ()
    drained: bool = False
    remaining: dict[str, str] = {}
    news: dict[str, int] = {}
    tried: tuple[Tried, ...] = ()
    refusal: str = ""
    inconclusive_reasons: tuple[str, ...] = ()


class Group(Protocol):
    """A group of clients as the harness sees it, wherever they live."""

    def status(self) -> ClientStatus:
        """How they stand, as far as is known. From the harness's thread."""

    def finish(self, *roles: Role) -> None:
        """Let the clients of these roles begin nothing new. From the harness's thread."""


class HostedClients:
    """The cores of a group, on a host.

    Args:
        add: starts a core under a name.
        recorder: where they write down what they do.
    """

    def __init__(self, add: Callable[[str, Callable[[Ports], NodeCore]], None], recorder: HistoryRecorder) -> None:
        self._add = add
        self._recorder = recorder
        self._producers: list[RecordingProducer] = []
        self._consumers: list[RecordingConsumer] = []
        self._readers: list[RecordingConsumer] = []
        self._readers_asked_for = 0
        self._registers: list[RegisterClient] = []
        self._members: list[GroupMember] = []
        self._lookups: list[LookupClient] = []

    def start(self, settings: ClientSettings) -> None:
        for producer in settings.producers:
            self._add(producer.name, _late(self._producer(producer), producer.start_after_ns))
        for consumer in settings.consumers:
            self._readers_asked_for += consumer.drain
            self._add(consumer.name, _late(self._consumer(consumer), consumer.start_after_ns))
        for register in settings.registers:
            self._add(register.name, self._register(register))
        for member in settings.members:
            self._add(member.name, _late(self._member(member), member.start_after_ns))
        for lookup in settings.lookups:
            self._add(lookup.name, _late(self._lookup(lookup), lookup.start_after_ns))

    def finish(self, roles: Sequence[Role]) -> None:
        """See :class:`Group`; call it where the cores live."""
        for role in roles:
            for client in self._of(role):
                client.finish()

    def status(self, inconclusive_reasons: Sequence[str] = ()) -> ClientStatus:
        recorder = self._recorder
        return ClientStatus(
            offered=recorder.offered,
            first_offered_ns=recorder.first_offered_ns,
            acknowledged=recorder.acknowledged,
            waited_ns=recorder.waited_ns,
            held_back=sum(producer.held_back for producer in self._producers),
            read=recorder.read,
            open=recorder.open_operations,
            idle=tuple(role for role in ROLES if all(client.idle for client in self._of(role))),
            # A host may make a core later than it is asked to.
            drained=len(self._readers) == self._readers_asked_for and all(one.drained for one in self._readers),
            remaining={key: where for reader in self._readers for key, where in reader.remaining().items()},
            tried=tuple(recorder.tried.values()),
            refusal=recorder.refusal,
            inconclusive_reasons=tuple(inconclusive_reasons),
        )

    def _of(
        self, role: Role
    ) -> Sequence[RecordingProducer | RecordingConsumer | LookupClient | RegisterClient | GroupMember]:
        match role:
            case "producer":
                return self._producers
            case "register":
                return self._registers
            case "consumer":
                return [*self._consumers, *self._lookups]
            case "group-member":
                return self._members

    def _producer(self, options: ProducerOptions) -> Callable[[Ports], NodeCore]:
        def make(ports: Ports) -> NodeCore:
            self._producers.append(producer := RecordingProducer(options, ports, self._recorder))
            return producer

        return make

    def _consumer(self, options: ConsumerOptions) -> Callable[[Ports], NodeCore]:
        def make(ports: Ports) -> NodeCore:
            consumer = RecordingConsumer(options, ports, self._recorder)
            (self._readers if options.drain else self._consumers).append(consumer)
            return consumer

        return make

    def _register(self, options: RegisterOptions) -> Callable[[Ports], NodeCore]:
        def make(ports: Ports) -> NodeCore:
            self._registers.append(client := RegisterClient(options, ports, self._recorder))
            return client

        return make

    def _member(self, options: MemberOptions) -> Callable[[Ports], NodeCore]:
        def make(ports: Ports) -> NodeCore:
            self._members.append(member := GroupMember(options, ports, self._recorder))
            return member

        return make

    def _lookup(self, options: LookupOptions) -> Callable[[Ports], NodeCore]:
        def make(ports: Ports) -> NodeCore:
            self._lookups.append(client := LookupClient(options, ports, self._recorder))
            return client

        return make


class _StartsLate:
    """A client that does nothing for a while after its start."""

    def __init__(self, core: NodeCore, ports: Ports, after_ns: int) -> None:
        self._core = core
        self._ports = ports
        self._after_ns = after_ns

    def start(self) -> None:
        self._ports.clock.call_later(self._after_ns, self._core.start)

    def on_request(self, request: InboundRequest) -> None:
        self._core.on_request(request)

    def stop(self, on_stopped: Callable[[], None]) -> None:
        self._core.stop(on_stopped)


def _late(make: Callable[[Ports], NodeCore], after_ns: int) -> Callable[[Ports], NodeCore]:
    """Make a client that starts ``after_ns`` later than its host starts it."""
    return make if after_ns == 0 else lambda ports: _StartsLate(make(ports), ports, after_ns)
