"""How clients meet a cluster: Kafka's own client properties, in a file as Kafka's tools take it (``--command-config``).

Of all client properties only those count that say where a cluster is and how to get in. A property that is not
understood is an error: somebody who asks for protection must not be left without it unawares.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from highwater_runtime.config import ConfigError
from highwater_runtime.host.config.properties import Property, bounded_bytes, read_properties
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND, ClientAuthenticator, OutboundSecurity
from highwater_runtime.host.security.jaas import Jaas, parse_jaas
from highwater_runtime.host.security.properties import MECHANISMS, SecurityProperties, choice
from highwater_runtime.host.security.tls import MOST_PEM, client_context
from highwater_runtime.ports import Endpoint

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
KNOWN: Final = (
    "bootstrap.servers",
    "security.protocol",
    "sasl.mechanism",
    "sasl.jaas.config",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
    "ssl.enabled.protocols",
)
_OF_STORES: Final = ("ssl.truststore.password", "ssl.keystore.password")
_MOST_SERVERS: Final = 100
_NAME: Final = re.compile(r"[a-z]{1,30}(\.[a-z]{1,30}){0,9}")


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """``bootstrap``: empty if the file names none. ``outbound``: what each connection does."""

    bootstrap: tuple[Endpoint, ...] = ()
    protocol: str = "PLAINTEXT"
    outbound: OutboundSecurity = PLAINTEXT_OUTBOUND
    librdkafka: dict[str, str] = field(default_factory=dict, repr=False)
    """The same for clients of librdkafka, by its names; with secrets."""

    def security(self, _server: Endpoint) -> OutboundSecurity:
        """How to meet any server of the cluster."""
        return self.outbound


def read_client_config(path: Path) -> ClientConfig:
    """Read a file of client properties, and the files that it names.

    Raises:
        ConfigError: with one line for each thing that is wrong. No message shows a value.
    """
    properties = SecurityProperties(read_properties(path), (), known=_why_refused)
    protocol = properties.take("security.protocol", f"one of {', '.join(PROTOCOLS)}", choice(*PROTOCOLS), "PLAINTEXT")
    nowhere: tuple[Endpoint, ...] = ()
    bootstrap = properties.take("bootstrap.servers", "host:port, several separated by commas", endpoints, nowhere)
    context: ssl.SSLContext | None = None
    shown: dict[str, str] = {"security.protocol": protocol}
    if protocol.endswith("SSL"):
        context = client_context(properties, "")
        shown |= _tls_of_librdkafka(properties)
    client: ClientAuthenticator | None = None
    if protocol.startswith("SASL"):
        mechanism, jaas = _login(properties)
        if jaas is not None and jaas.username is not None and jaas.password is not None:
            from highwater_runtime.host.security.client import SaslClient  # noqa: PLC0415 - scramp is slow to import

            client = SaslClient(mechanism, jaas.username, jaas.password)
            shown |= {
                "sasl.mechanism": mechanism,
                "sasl.username": jaas.username,
                "sasl.password": jaas.password,
            }
    properties.refuse()
    outbound = OutboundSecurity(context, None if client is None else lambda _: client)
    return ClientConfig(bootstrap, protocol, outbound, shown)


def endpoints(text: str) -> tuple[Endpoint, ...]:
    """From ``host:port,[::1]:port``. Raises ``ValueError``."""
    found = []
    for part in text.split(","):
        host, colon, port = part.strip().rpartition(":")
        host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
        if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
            raise ValueError(f"{part.strip()[:80]!r} is not host:port")
        found.append(Endpoint(host, int(port)))
    if len(found) > _MOST_SERVERS:
        raise ValueError(f"at most {_MOST_SERVERS} servers, found {len(found)}")
    return tuple(dict.fromkeys(found))


def _why_refused(name: str) -> str | None:
    if name in KNOWN:
        return None
    if name in _OF_STORES:
        return f"property {name!r}: JKS and PKCS12 stores are not supported; give PEM (ssl.*store.type=PEM), without it"
    near = get_close_matches(name, KNOWN, n=1)
    if near:
        return f"unknown property {name!r}; did you mean {near[0]!r}?"
    # What is no name may be half of a key or a password, and messages are shown to others than the file's owner.
    what = f"property {name!r}" if _NAME.fullmatch(name) else "what is on this line"
    return f"{what} is not supported here; leave it out. These are: {', '.join(KNOWN)}"


def _login(properties: SecurityProperties) -> tuple[str, Jaas | None]:
    """Mechanism and user; None if something is wrong, which is noted."""
    found = properties.find("sasl.mechanism")
    if found is None:
        properties.missing(
            "sasl.mechanism", f"one of {', '.join(MECHANISMS)} (Kafka's default, GSSAPI, is not supported)"
        )
        return "", None
    mechanism = properties.take("sasl.mechanism", f"one of {', '.join(MECHANISMS)}", choice(*MECHANISMS), "")
    if not mechanism:
        return "", None
    text = properties.find("sasl.jaas.config")
    if text is None:
        properties.missing("sasl.jaas.config", "a login module with username and password")
        return mechanism, None
    read: Callable[[str], Jaas | None] = lambda value: parse_jaas(value, mechanism)  # noqa: E731
    jaas = properties.take("sasl.jaas.config", "a JAAS login module with its options", read, None)
    if jaas is not None and jaas.username is None:
        properties.wrong(text, "a login module with username and password", "it has none")
    return mechanism, jaas


def _tls_of_librdkafka(properties: SecurityProperties) -> dict[str, str]:
    def pem(location: str, inline: str) -> str | None:
        path, text = properties.find(location), properties.find(inline)
        if path is not None:
            try:
                return bounded_bytes(Path(path.value), MOST_PEM).decode("ascii")
            except (OSError, ValueError):
                return None  # noted by whoever made the context of it
        return None if text is None else text.value

    key = pem("ssl.keystore.location", "ssl.keystore.key")
    chain = pem("ssl.keystore.location", "ssl.keystore.certificate.chain")
    algorithm = properties.find("ssl.endpoint.identification.algorithm")
    given = {
        "ssl.ca.pem": pem("ssl.truststore.location", "ssl.truststore.certificates"),
        "ssl.key.pem": key,
        "ssl.certificate.pem": chain,
        "ssl.key.password": _value(properties.find("ssl.key.password")),
        "ssl.endpoint.identification.algorithm": "none" if _value(algorithm) == "" else None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _value(found: Property | None) -> str | None:
    return None if found is None else found.value


__all__ = ["KNOWN", "ClientConfig", "ConfigError", "endpoints", "read_client_config"]
