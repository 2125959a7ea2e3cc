"""TLS and SASL for clients and between nodes, by Kafka's property names.

``node_security`` turns the security properties of a node's file into what the host's hooks take: a
:class:`~highwater_runtime.host.net.listeners.ListenerSecurity` for each listener, and an
:class:`~highwater_runtime.host.net.listeners.OutboundSecurity` for the controllers and one for the brokers. Cores know
nothing of it but the credentials in the metadata log, and the names of listeners.

=================  ==================================================================================================
protocol           what a connection begins with
=================  ==================================================================================================
PLAINTEXT          its first request
SSL                a TLS handshake; with ``ssl.client.auth`` the client shows a certificate, and is who that says
SASL_PLAINTEXT     ApiVersions if it likes, SaslHandshake, then SaslAuthenticate until it is known who the client is
SASL_SSL           both
=================  ==================================================================================================

Where to look: ``properties`` which names there are; ``tls`` contexts of PEM files; ``server`` and ``client`` the two
ends of a SASL conversation; ``scram`` and ``plain`` the mechanisms; ``credentials`` where SCRAM credentials come from.
"""

from __future__ import annotations

from highwater_runtime.host.security.assembly import NodeSecurity, node_security

__all__ = ["NodeSecurity", "node_security"]
