"""From a node's settings to the security of its listeners and of what it connects to.

A node reaches the controllers by their listener (``controller.listener.names``) and other brokers by
``inter.broker.listener.name``; each has its own protocol, and its own prefix for properties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from ssl import CERT_REQUIRED
from typing import Any, Final

from highwater_runtime.host.config.file import ListenerSetting, NodeSettings
from highwater_runtime.host.net.listeners import PLAINTEXT, PLAINTEXT_OUTBOUND, ListenerSecurity, OutboundSecurity
from highwater_runtime.host.security.authorization import only_nodes, parse_principals
from highwater_runtime.host.security.credentials import Credentials, ScramCredentials, parse_bootstrap
from highwater_runtime.host.security.jaas import Jaas, parse_jaas
from highwater_runtime.host.security.plain import PlainServer
from highwater_runtime.host.security.properties import (
    MECHANISMS,
    SecurityProperties,
    choice,
    mechanisms,
    positive,
)
from highwater_runtime.host.security.server import Conversation, SaslServer
from highwater_runtime.host.security.tls import client_context, principal_of, server_context, shown_principal
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.metadata.scram import ScramMechanism
from highwater_runtime.ports import Endpoint

_DEFAULT_MECHANISM: Final = "SCRAM-SHA-256"
"""Kafka's default is GSSAPI, which is not supported."""
_DEFAULT_MECHANISMS: Final[tuple[str, ...]] = (_DEFAULT_MECHANISM,)
_SASL_BYTES: Final = 524_288
_AUTHENTICATION_MS: Final = 10_000


def _ignore(_listener: str, _why: str) -> None:
    """Nobody listens yet."""


@dataclass(slots=True)
class NodeSecurity:
    """What the host needs to protect one node. ``outbound`` is asked for each connection that the node opens."""

    listeners: Mapping[str, ListenerSecurity]
    outbound: Callable[[Endpoint], OutboundSecurity]
    credentials: ScramCredentials
    handshake_failed: Callable[[str, str], None] = _ignore
    """Called for each TLS handshake that failed, with the listener and the reason."""

    def of(self, listener: str) -> ListenerSecurity:
        """How clients of ``listener`` are met."""
        return self.listeners[listener]

    def read_credentials_from(self, image: Callable[[], MetadataImage | None]) -> None:
        """Where the metadata is, once there is a core that has some."""
        self.credentials.read_from(image)

    @property
    def bootstrap_records(self) -> tuple[Any, ...]:
        """Records with which the first active controller begins a new metadata log."""
        return self.credentials.bootstrap_records()


def node_security(settings: NodeSettings) -> NodeSecurity:
    """Read the security properties of a node, and the files that they name.

    Raises:
        ConfigError: with one line for each thing that is wrong.
    """
    names = [listener.name for listener in settings.listeners]
    properties = SecurityProperties(settings.security, [*names, settings.controller_listener])
    nothing: Credentials = {}
    credentials = ScramCredentials(
        properties.take(
            "highwater.scram.bootstrap", "SCRAM-SHA-256=[name=…,password=…]; and so on", parse_bootstrap, nothing
        ),
        settings.cluster_id,
    )
    security = NodeSecurity({}, lambda _: PLAINTEXT_OUTBOUND, credentials)

    def failed(listener: str, why: str) -> None:
        security.handshake_failed(listener, why)

    security.listeners = {
        listener.name: _listener_security(properties, listener, credentials, partial(failed, listener.name))
        for listener in settings.listeners
    }
    to_controllers, login = _outbound(
        properties, settings.controller_listener, settings.controller_protocol, "sasl.mechanism.controller.protocol"
    )
    logins = [(settings.controller_listener, settings.controller_protocol, login)]
    if settings.role == "controller":
        security.outbound = lambda _: to_controllers
    else:
        own = settings.listener(settings.inter_broker_listener)
        to_brokers, login = _outbound(properties, own.name, own.protocol, "sasl.mechanism.inter.broker.protocol")
        logins.append((own.name, own.protocol, login))
        controllers = frozenset(settings.voters.values())
        security.outbound = lambda endpoint: to_controllers if endpoint in controllers else to_brokers
    nobody: frozenset[str] = frozenset()
    nodes = properties.take("super.users", "User:name;User:name", parse_principals, nobody)
    properties.refuse()
    nodes |= {one for one in (_shown(properties, by, protocol, login) for by, protocol, login in logins) if one}
    authorize = only_nodes(nodes, is_controller=settings.role == "controller")
    nodes_authenticate = _authenticates(security.listeners[settings.inter_broker_listener])
    security.listeners = {
        name: replace(one, authorize=authorize) if nodes_authenticate or _authenticates(one) else one
        for name, one in security.listeners.items()
    }
    return security


def _authenticates(listener: ListenerSecurity) -> bool:
    """Whether the principal of every client of ``listener`` is proved."""
    context = listener.ssl_context
    return listener.authenticator is not None or (context is not None and context.verify_mode is CERT_REQUIRED)


def _shown(properties: SecurityProperties, listener: str, protocol: str, login: str | None) -> str | None:
    """The principal that this node has at a server of ``listener``; None: it shows none."""
    if login is not None:
        return f"User:{login}"
    if protocol != "SSL" or properties.find("ssl.keystore.location", listener) is None:
        return None
    return shown_principal(properties, listener)


def _listener_security(
    properties: SecurityProperties,
    listener: ListenerSetting,
    credentials: ScramCredentials,
    handshake_failed: Callable[[str], None],
) -> ListenerSecurity:
    if listener.protocol == "PLAINTEXT":
        return PLAINTEXT
    seconds = (
        properties.take("highwater.authentication.timeout.ms", "milliseconds", positive, _AUTHENTICATION_MS) / 1000
    )
    context = None
    if listener.protocol.endswith("SSL"):
        context = server_context(properties, listener.name, handshake_failed)
    if not listener.protocol.startswith("SASL"):
        return ListenerSecurity(context, principal_of_peer=principal_of, authentication_timeout_s=seconds)
    offered = properties.take(
        "sasl.enabled.mechanisms",
        f"some of {', '.join(MECHANISMS)}",
        mechanisms,
        _DEFAULT_MECHANISMS,
        listener.name,
    )
    begin = {mechanism: _conversation(properties, listener.name, mechanism, credentials) for mechanism in offered}
    return ListenerSecurity(
        context,
        authenticator=lambda: SaslServer(begin),
        authentication_timeout_s=seconds,
        largest_frame_before_authentication=properties.take(
            "sasl.server.max.receive.size", "a number of bytes", positive, _SASL_BYTES, listener.name
        ),
    )


def _conversation(
    properties: SecurityProperties, listener: str, mechanism: str, credentials: ScramCredentials
) -> Callable[[], Conversation]:
    jaas = _jaas(properties, listener, mechanism)
    if mechanism == "PLAIN":
        users = {} if jaas is None else jaas.users
        return lambda: PlainServer(users)
    from highwater_runtime.host.security.scram import ScramServer  # noqa: PLC0415 - scramp is slow to import

    scram = ScramMechanism.named(mechanism)
    return lambda: ScramServer(mechanism, lambda user: credentials.find(user, scram))


def _jaas(properties: SecurityProperties, listener: str, mechanism: str) -> Jaas | None:
    return properties.take(
        f"{mechanism.lower()}.sasl.jaas.config",
        "a JAAS login module with its options",
        lambda text: parse_jaas(text, mechanism),
        None,
        listener,
    )


def _outbound(
    properties: SecurityProperties, listener: str, protocol: str, mechanism_property: str
) -> tuple[OutboundSecurity, str | None]:
    """How this node meets the servers of ``listener``, and the user as which it logs in there."""
    if protocol == "PLAINTEXT":
        return PLAINTEXT_OUTBOUND, None
    context = client_context(properties, listener) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return OutboundSecurity(context), None
    mechanism = properties.take(
        mechanism_property, f"one of {', '.join(MECHANISMS)}", choice(*MECHANISMS), _DEFAULT_MECHANISM
    )
    jaas = _jaas(properties, listener, mechanism)
    if jaas is None or jaas.username is None or jaas.password is None:
        name = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
        properties.missing(name, "username and password of this node")
        return OutboundSecurity(context), None
    from highwater_runtime.host.security.client import SaslClient  # noqa: PLC0415 - scramp is slow to import

    client = SaslClient(mechanism, jaas.username, jaas.password)
    return OutboundSecurity(context, authenticator=lambda _: client), jaas.username
