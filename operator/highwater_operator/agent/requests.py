"""What callers may ask for, as data: the bodies of ``PUT /v1/faults/<id>`` and ``PUT /v1/volumes/<name>``.

Durations are written as in experiment files (``5s``). Names of RPCs, and of clients in ``sources``, are Kafka's; nodes
are clients by their own names (``broker-1``).
"""

from __future__ import annotations

import ipaddress
import json
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)

from highwater_chaos.base.quantities import Duration, format_signed_duration, parse_signed_duration
from highwater_chaos.base.strict_model import Model
from highwater_operator.agent.refusals import RefusalError

_MIB: Final = 1 << 20
LARGEST: Final = 1 << 44
"""Bytes of a crashable volume: 16 TiB, the most that ext4 and a sparse file can be."""
MOST_PEERS: Final = 200


def _address(text: str) -> str:
    return str(ipaddress.ip_address(text))


Address = Annotated[str, Field(max_length=45), AfterValidator(_address)]


class PodReference(Model):
    """Which pod. ``uid``: of the one that the caller saw; a pod that has been replaced since is another one."""

    namespace: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
    name: Annotated[str, Field(pattern=r"^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$")]
    uid: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]


class _Fault(Model):
    pod: PodReference
    deadline: AwareDatetime


class _Down(_Fault):
    restart_after: Duration | None = None
    """What the kubelet starts in place of the killed one does not begin before."""


class PowerLossRequest(_Down):
    """Processes and page cache of a crashable volume are lost."""

    kind: Literal["powerLoss"]
    keep: Literal["none", "prefix", "torn"] = "none"
    wipe: bool = False


class KillRequest(_Down):
    """SIGKILL."""

    kind: Literal["kill"]


class StopRequest(_Down):
    """SIGTERM to the node; confirmed once it is gone."""

    kind: Literal["stop"]


class DiskWipeRequest(_Down):
    """SIGKILL, and an empty file system."""

    kind: Literal["diskWipe"]


class PauseRequest(_Fault):
    """SIGSTOP."""

    kind: Literal["pause"]


class DiskRequest(_Fault):
    """A crashable volume without a free block, or that fails with EIO; a node whose flushes do not end."""

    kind: Literal["diskFull", "diskError", "diskStall"]


class CutRequest(Model):
    """``in``: what comes from ``peer`` is dropped by the pod; ``out``: what it sends there. ``probePort``: a TCP
    port of the peer by which the cut is seen."""

    peer: Address
    direction: Literal["in", "out", "both"] = "in"
    probe_port: Annotated[int, Field(ge=1, le=65535)] = 9404


class PartitionRequest(_Fault):
    """Packets between the pod and others are lost."""

    kind: Literal["partition"]
    cuts: Annotated[list[CutRequest], Field(min_length=1, max_length=MOST_PEERS)]


class MessagesRequest(_Fault):
    """Messages that the pod's node receives (requests), or its answers to them (responses)."""

    kind: Literal["hold", "drop", "delay", "duplicate"]
    rpc: Annotated[str, Field(min_length=1, max_length=60)]
    sources: Annotated[list[Annotated[str, Field(max_length=253)]], Field(max_length=MOST_PEERS, default_factory=list)]
    part: Literal["request", "response"] = "request"
    by: Duration = 0


class SessionExpiryRequest(_Fault):
    """On a controller's pod: heartbeats of ``brokers`` are lost."""

    kind: Literal["sessionExpiry"]
    brokers: Annotated[list[Annotated[str, Field(max_length=253)]], Field(min_length=1, max_length=MOST_PEERS)]


class ClockSkewRequest(_Fault):
    """The node's clock is off by ``offset`` and runs at ``rate``. A slow clock that was wrong for a while is
    behind: then ``offset`` of the node's next incarnation is negative."""

    kind: Literal["clockSkew"]
    offset: Annotated[int, BeforeValidator(parse_signed_duration), PlainSerializer(format_signed_duration)] = 0
    rate: Annotated[float, Field(gt=0, le=100, strict=False)] = 1.0


FaultRequest = (
    PowerLossRequest
    | KillRequest
    | StopRequest
    | DiskWipeRequest
    | PauseRequest
    | DiskRequest
    | PartitionRequest
    | MessagesRequest
    | SessionExpiryRequest
    | ClockSkewRequest
)


class VolumeRequest(Model):
    """A crashable volume. ``user`` and ``group``: whose its data directory is."""

    size_bytes: Annotated[int, Field(ge=32 * _MIB, le=LARGEST)] = 1024 * _MIB
    file_system: Literal["ext4", "xfs"] = "ext4"
    user: Annotated[int, Field(ge=0, lt=1 << 32)] = 10001
    group: Annotated[int, Field(ge=0, lt=1 << 32)] = 10001


_FAULT: Final[TypeAdapter[FaultRequest]] = TypeAdapter(Annotated[FaultRequest, Field(discriminator="kind")])


def read_fault(body: bytes) -> FaultRequest:
    """Raises ``RefusalError`` (400) that says what is wrong where."""
    try:
        return _FAULT.validate_json(body)
    except ValidationError as error:
        raise _refusal(error) from error


def read_volume(body: bytes) -> VolumeRequest:
    """Raises ``RefusalError`` (400) that says what is wrong where."""
    try:
        return VolumeRequest.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise _refusal(error) from error


def read_peer(peer: str, port: str) -> tuple[str, int]:
    """An address to probe. Raises ``RefusalError`` (400)."""
    try:
        address, number = _address(peer), int(port) if port.isdecimal() else 0
    except ValueError as error:
        raise RefusalError(400, "peer is no IP address", expected="such as 10.244.1.7", found=peer[:60]) from error
    if not 1 <= number <= 65535:
        raise RefusalError(400, "port is no TCP port", expected="1 to 65535", found=port[:60])
    return address, number


def plain(request: FaultRequest) -> dict[str, Any]:
    """As JSON has it; equal for equal requests."""
    return request.model_dump(mode="json", by_alias=True)


def read_stored(row: dict[str, Any] | None) -> FaultRequest:
    """What :func:`plain` wrote."""
    assert row is not None, "a fault that was never asked for has no request"
    return _FAULT.validate_json(json.dumps(row))


def _refusal(error: ValidationError) -> RefusalError:
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the body"
    return RefusalError(400, f"{where}: {first['msg']}", expected=first["type"], found=repr(first["input"])[:200])
