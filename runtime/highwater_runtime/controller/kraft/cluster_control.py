"""Brokers: registration, heartbeats, fencing, controlled shutdown, unregistration (KIP-631, KIP-841, KIP-903).

Rules in words:

* A broker's epoch is the offset of its registration record. A registration by the same incarnation keeps the epoch,
  and amends what else it says; one by another incarnation is refused while the session of the registered one is alive.
* A new incarnation starts fenced, and is taken out of every ISR but those whose last member it is, before it is
  registered. Kafka does so after a clean stop, too, as long as there are no eligible leader replicas (KIP-966): a
  broker that stopped cleanly had left its ISRs before, so ``previous_broker_epoch`` decides nothing yet.
* A heartbeat under another epoch is refused. A fenced broker is unfenced once it has followed the metadata log up to
  its own registration, unless it wants to stay fenced. A broker that wants to shut down first hands over what it leads;
  it may go when it leads nothing and every active broker knows of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, assert_never

from highwater_runtime.controller.decision import Decision, RefusedError, check_broker_epoch
from highwater_runtime.controller.kraft import broker_state
from highwater_runtime.controller.kraft.sessions import BrokerSessions
from highwater_runtime.controller.partition_change import UncleanAllowed, never_unclean
from highwater_runtime.metadata import BrokerRegistration, MetadataImage, MetadataVersion
from highwater_runtime.metadata.metadata_version import FEATURE_NAME
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from highwater_runtime.wire.messages.broker_registration_request import BrokerRegistrationRequest
from highwater_runtime.wire.messages.broker_registration_response import BrokerRegistrationResponse
from highwater_runtime.wire.messages.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from highwater_runtime.wire.messages.unregister_broker_request import UnregisterBrokerRequest
from highwater_runtime.wire.messages.unregister_broker_response import UnregisterBrokerResponse


def register_broker(
    image: MetadataImage,
    request: BrokerRegistrationRequest,
    *,
    cluster_id: str,
    base_offset: int,
    session_alive: bool,
    unclean: UncleanAllowed = never_unclean,
) -> Decision[BrokerRegistrationResponse]:
    """Register a broker; ``base_offset`` is where the first record will be. That of its registration is its epoch.

    Raises:
        RefusedError: INCONSISTENT_CLUSTER_ID, DUPLICATE_BROKER_REGISTRATION, UNSUPPORTED_VERSION (the cluster's
            metadata.version is out of the broker's range), INVALID_REGISTRATION (no listener).
    """
    if request.cluster_id != cluster_id:
        raise RefusedError(
            ErrorCode.INCONSISTENT_CLUSTER_ID, f"expected cluster id {cluster_id!r}, found {request.cluster_id!r}"
        )
    existing = image.brokers.get(request.broker_id)
    same_incarnation = existing is not None and existing.incarnation_id == request.incarnation_id
    if session_alive and not same_incarnation:
        raise RefusedError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION, f"another broker {request.broker_id} is registered and alive"
        )
    if not request.listeners:
        raise RefusedError(ErrorCode.INVALID_REGISTRATION, f"broker {request.broker_id} names no listener")
    _check_feature_range(image.metadata_version, request)
    if existing is not None and same_incarnation:
        records: list[Any] = []
        if not _same_registration(existing, request):
            records.append(_registration_record(request, existing.epoch, existing))
        return Decision(BrokerRegistrationResponse(broker_epoch=existing.epoch), records)
    records = [] if existing is None else [*broker_state.remove_from_isrs(image, request.broker_id, unclean)]
    epoch = base_offset + len(records)
    records.append(_registration_record(request, epoch, None))
    return Decision(BrokerRegistrationResponse(broker_epoch=epoch), records)


def _check_feature_range(current: MetadataVersion, request: BrokerRegistrationRequest) -> None:
    # A broker that names no range is one from before the feature: Kafka takes it to know the lowest level only.
    least = most = int(MetadataVersion.minimum())
    for feature in request.features:
        if feature.name == FEATURE_NAME:
            least, most = feature.min_supported_version, feature.max_supported_version
    if not least <= current <= most:
        raise RefusedError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"the cluster is at metadata.version {int(current)}; broker {request.broker_id} supports {least} to {most}",
        )


def _registration_record(
    request: BrokerRegistrationRequest, epoch: int, existing: BrokerRegistration | None
) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(name=li.name, host=li.host, port=li.port, security_protocol=li.security_protocol)
            for li in request.listeners
        ],
        features=[
            BrokerFeature(
                name=f.name,
                min_supported_version=f.min_supported_version,
                max_supported_version=f.max_supported_version,
            )
            for f in request.features
        ],
        rack=request.rack,
        fenced=True if existing is None else existing.fenced,
        in_controlled_shutdown=False if existing is None else existing.in_controlled_shutdown,
    )


def _same_registration(existing: BrokerRegistration, request: BrokerRegistrationRequest) -> bool:
    listeners = tuple((li.name, (li.host, li.port), li.security_protocol) for li in request.listeners)
    features = {f.name: (f.min_supported_version, f.max_supported_version) for f in request.features}
    return existing.listeners == listeners and existing.rack == request.rack and existing.features == features


class BrokerControlState(Enum):
    """A broker's life as the controller steers it. May go: FENCED → UNFENCED, SHUTDOWN_NOW; UNFENCED → FENCED,
    CONTROLLED_SHUTDOWN, SHUTDOWN_NOW; CONTROLLED_SHUTDOWN → SHUTDOWN_NOW. Fencing by time-out is possible from any."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled-shutdown"
    SHUTDOWN_NOW = "shutdown-now"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a heartbeat leads to: the answer, and the state the broker is in from now on."""

    response: BrokerHeartbeatResponse
    state: BrokerControlState


def heartbeat(
    image: MetadataImage,
    request: BrokerHeartbeatRequest,
    sessions: BrokerSessions,
    unclean: UncleanAllowed = never_unclean,
) -> Decision[Heartbeat]:
    """Judge one heartbeat; the caller keeps the session as :class:`Heartbeat` says.

    Raises:
        RefusedError: STALE_BROKER_EPOCH.
    """
    check_broker_epoch(image, request.broker_id, request.broker_epoch)
    broker = image.brokers[request.broker_id]
    state = next_state(image, broker, request, sessions)
    records: list[Any]
    match state:
        case BrokerControlState.FENCED:
            records = [] if broker.fenced else broker_state.fence(image, broker.id, unclean)
        case BrokerControlState.SHUTDOWN_NOW:
            records = broker_state.fence(image, broker.id, unclean)
        case BrokerControlState.UNFENCED:
            records = broker_state.unfence(image, broker.id, unclean) if broker.fenced else []
        case BrokerControlState.CONTROLLED_SHUTDOWN:
            records = broker_state.begin_controlled_shutdown(image, broker.id, unclean)
        case _:
            assert_never(state)
    response = BrokerHeartbeatResponse(
        is_caught_up=request.current_metadata_offset >= broker.epoch,
        is_fenced=state in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW),
        should_shut_down=state is BrokerControlState.SHUTDOWN_NOW,
    )
    return Decision(Heartbeat(response, state), records)


def next_state(
    image: MetadataImage, broker: BrokerRegistration, request: BrokerHeartbeatRequest, sessions: BrokerSessions
) -> BrokerControlState:
    """The broker's next state, from its present one and what the heartbeat asks for."""
    if broker.fenced:
        if request.want_shut_down:
            return BrokerControlState.SHUTDOWN_NOW
        if not request.want_fence and request.current_metadata_offset >= broker.epoch:
            return BrokerControlState.UNFENCED
        return BrokerControlState.FENCED
    if broker.in_controlled_shutdown:
        if broker_state.leads_any(image, broker.id) or not _known_to_all(image, broker.id, sessions):
            return BrokerControlState.CONTROLLED_SHUTDOWN
        return BrokerControlState.SHUTDOWN_NOW
    if request.want_fence:
        return BrokerControlState.SHUTDOWN_NOW if request.want_shut_down else BrokerControlState.FENCED
    if request.want_shut_down:
        if broker_state.leads_any(image, broker.id):
            return BrokerControlState.CONTROLLED_SHUTDOWN
        return BrokerControlState.SHUTDOWN_NOW
    return BrokerControlState.UNFENCED


def _known_to_all(image: MetadataImage, broker_id: int, sessions: BrokerSessions) -> bool:
    """Whether every broker that may lead has followed the metadata log past the broker's controlled shutdown."""
    lowest = sessions.lowest_active_offset(image)
    if lowest is None:
        return True
    session = sessions.get(broker_id)
    if session is None or session.shutdown_offset < 0:
        # A new active controller does not know where the shutdown began: wait until all know what it knows.
        return lowest >= image.offset
    return lowest >= session.shutdown_offset


def unregister_broker(
    image: MetadataImage, request: UnregisterBrokerRequest, unclean: UncleanAllowed = never_unclean
) -> Decision[UnregisterBrokerResponse]:
    """Take a broker out of the cluster.

    Raises:
        RefusedError: BROKER_ID_NOT_REGISTERED.
    """
    if request.broker_id not in image.brokers:
        raise RefusedError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {request.broker_id} is not registered")
    return Decision(UnregisterBrokerResponse(), broker_state.unregister(image, request.broker_id, unclean))
