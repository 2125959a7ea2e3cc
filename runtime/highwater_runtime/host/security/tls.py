"""TLS contexts of PEM files, by Kafka's ``ssl.`` properties (KIP-651).

A keystore is the private key (in PKCS#8, encrypted or not) and the chain of certificates; a truststore is the
certificates that are trusted, by default those of the machine. Each is a file or is given in the properties themselves,
there also on one line.
"""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from highwater_runtime.host.config.properties import Property, bounded_bytes
from highwater_runtime.host.net.listeners import ANONYMOUS
from highwater_runtime.host.security.properties import SecurityProperties, choice, readable, words

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_PEM: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_ATTRIBUTES: Final = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "domainComponent": "DC",
    "userId": "UID",
}

_HANDSHAKE_STEPS: Final = 10
MOST_PEM: Final = 16 << 20

HandshakeFailed = Callable[[str], None]


class ReportingContext(ssl.SSLContext):
    """Reports failed handshakes, since the event loop closes such a connection without an error."""

    on_failure: HandshakeFailed

    def __new__(cls, protocol: int, on_failure: HandshakeFailed) -> ReportingContext:
        """A context of ``protocol``; ``on_failure`` gets the reason of each handshake that fails."""
        context = super().__new__(cls, protocol)
        context.on_failure = on_failure
        context.sslobject_class = _ReportingObject
        return context


class _ReportingObject(ssl.SSLObject):
    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            context = self.context
            assert isinstance(context, ReportingContext)
            context.on_failure(getattr(error, "verify_message", "") or error.reason or str(error))
            raise


def server_context(properties: SecurityProperties, listener: str, on_failure: HandshakeFailed) -> ssl.SSLContext:
    """How ``listener`` meets its clients. What is wrong is noted in ``properties``."""
    context = ReportingContext(ssl.PROTOCOL_TLS_SERVER, on_failure)
    _limit_versions(context, properties, listener)
    if not _load_keystore(context, properties, listener):
        properties.missing(
            f"listener.name.{listener.lower()}.ssl.keystore.location",
            "a PEM file with private key and certificates, or ssl.keystore.key and ssl.keystore.certificate.chain",
        )
    wanted = properties.take("ssl.client.auth", "none, requested or required", choice(*_CLIENT_AUTH), "none", listener)
    context.verify_mode = _CLIENT_AUTH[wanted]
    if wanted != "none":
        _load_truststore(context, properties, listener)
    return context


def client_context(properties: SecurityProperties, listener: str) -> ssl.SSLContext:
    """How this node meets servers that it reaches by their ``listener``. What is wrong is noted in ``properties``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit_versions(context, properties, listener)
    _load_keystore(context, properties, listener)
    algorithm = properties.take(
        "ssl.endpoint.identification.algorithm", "https, or nothing at all", choice("https", ""), "https", listener
    )
    context.check_hostname = algorithm == "https"
    context.verify_mode = ssl.CERT_REQUIRED
    _load_truststore(context, properties, listener)
    return context


def _limit_versions(context: ssl.SSLContext, properties: SecurityProperties, listener: str) -> None:
    def parse(text: str) -> list[ssl.TLSVersion]:
        unknown = [name for name in words(text) if name not in _VERSIONS]
        if unknown or not words(text):
            raise ValueError(f"there are {', '.join(_VERSIONS)}")
        return [_VERSIONS[name] for name in words(text)]

    versions = properties.take(
        "ssl.enabled.protocols", " or ".join(_VERSIONS), parse, list(_VERSIONS.values()), listener
    )
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _check_type(properties: SecurityProperties, kind: str, listener: str) -> None:
    properties.take(f"ssl.{kind}.type", "PEM, the only type that is supported", choice("PEM"), "PEM", listener)


def _load_keystore(context: ssl.SSLContext, properties: SecurityProperties, listener: str) -> bool:
    """Load key and certificates; False if none are given."""
    _check_type(properties, "keystore", listener)
    found = properties.find("ssl.keystore.location", listener)
    key = properties.find("ssl.keystore.key", listener)
    chain = properties.find("ssl.keystore.certificate.chain", listener)
    password = properties.find("ssl.key.password", listener)
    if found is not None:
        if key is not None or chain is not None:
            properties.wrong(found, "either a file or the properties with key and chain", "both are given")
            return True
        path = properties.take("ssl.keystore.location", "a PEM file", readable, None, listener)
        if path is not None:
            _load_chain(context, properties, found, path, password)
        return True
    if key is None and chain is None:
        return False
    if key is None or chain is None:
        properties.wrong(
            key or chain or Property("", "", ""), "ssl.keystore.key and ssl.keystore.certificate.chain", "one"
        )
        return True
    try:
        text = _pem(key.value) + _pem(chain.value)
    except ValueError as error:
        properties.wrong(key, "PEM", str(error))
        return True
    # The library reads keys from files only.
    handle, name = tempfile.mkstemp(prefix="highwater-key-")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(text)
        _load_chain(context, properties, key, Path(name), password)
    finally:
        Path(name).unlink()
    return True


def _load_chain(
    context: ssl.SSLContext, properties: SecurityProperties, found: Property, path: Path, password: Property | None
) -> None:
    try:
        # Without a password none is asked for: OpenSSL would read one from the terminal.
        context.load_cert_chain(path, password="" if password is None else password.value)
    except (ssl.SSLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        properties.wrong(found, "a private key in PKCS#8 and its certificates, in PEM", reason)


def _load_truststore(context: ssl.SSLContext, properties: SecurityProperties, listener: str) -> None:
    _check_type(properties, "truststore", listener)
    location = properties.find("ssl.truststore.location", listener)
    inline = properties.find("ssl.truststore.certificates", listener)
    found = location or inline
    if found is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return
    try:
        text = found.value if location is None else bounded_bytes(Path(found.value), MOST_PEM).decode("ascii")
        context.load_verify_locations(cadata=_pem(text))
    except (ssl.SSLError, OSError, ValueError) as error:
        properties.wrong(found, "certificates in PEM", getattr(error, "reason", None) or str(error))


def _pem(text: str) -> str:
    """The PEM blocks of ``text``, each on lines of its own: in a property they may be on one line."""
    blocks = []
    for kind, content in _PEM.findall(text):
        base64 = "".join(content.split())
        lines = [base64[start : start + 64] for start in range(0, len(base64), 64)]
        blocks.append("\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""]))
    if not blocks:
        raise ValueError("there is no PEM block in it; keytool -exportcert -rfc writes PEM from a JKS or PKCS12 store")
    return "".join(blocks)


def principal_of(ssl_object: object) -> str:
    """``User:CN=alice,O=acme`` from the certificate that the client has shown, the subject in the order of RFC 2253."""
    assert isinstance(ssl_object, ssl.SSLObject) or hasattr(ssl_object, "getpeercert")
    certificate: Any = ssl_object.getpeercert()
    if not certificate:
        return ANONYMOUS
    parts = [
        "+".join(f"{_ATTRIBUTES.get(name, name)}={_escaped(value)}" for name, value in names)
        for names in reversed(certificate.get("subject", ()))
    ]
    return f"User:{','.join(parts)}"


def shown_principal(properties: SecurityProperties, listener: str) -> str | None:
    """The principal that this node's certificate gives it at a server of ``listener``, as principal_of says there.

    Found by a TLS handshake of this node with itself, in memory. None: the node does not trust its own certificate.
    """
    server = server_context(properties, listener, lambda _: None)
    server.verify_mode = ssl.CERT_REQUIRED
    _load_truststore(server, properties, listener)
    client = client_context(properties, listener)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(_HANDSHAKE_STEPS):
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return None
            ends.remove(end)
            if end.server_side:
                return principal_of(end)
    return None


def _escaped(value: str) -> str:
    escaped = re.sub(r'([,+"\\<>;])', r"\\\1", value)
    if escaped.startswith(("#", " ")):
        escaped = f"\\{escaped}"
    return f"{escaped[:-1]}\\ " if escaped.endswith(" ") and len(escaped) > 1 else escaped
