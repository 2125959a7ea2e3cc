"""TLS of the agent's port: there is no other way to it, because callers send a token and get a pod's data.

The certificate is a mounted Secret (:mod:`highwater_operator.certificates` makes it, or somebody brings one). It is
read again every few seconds: one that was renewed counts for the next connection, and no connection ends for it.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

from asn1crypto import pem, x509

from highwater_chaos.machine.errors import MachineError
from highwater_operator.agent import metrics
from highwater_operator.agent.settings import Settings


class ServerCertificate:
    """The certificate that callers are shown, as ``context`` for the server.

    Raises:
        MachineError: there is none that can be read.
    """

    def __init__(self, settings: Settings) -> None:
        self._certificate, self._key = settings.tls_certificate, settings.tls_key
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._read = (b"", b"")
        self._said = ""
        try:
            self.reload()
            if settings.tls_client_authority is not None:
                self.context.load_verify_locations(settings.tls_client_authority)
                self.context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ValueError) as error:
            raise MachineError(
                f"no certificate to serve with: expected one at {self._certificate} and its key at {self._key}; "
                f"found {error}"
            ) from error

    def reload(self) -> str | None:
        """Take the files as they are now; returns what is to be logged, once; None: nothing is new.

        Raises:
            OSError, ValueError: they cannot be read, or do not go together; what was read before goes on.
        """
        content = (self._certificate.read_bytes(), self._key.read_bytes())
        notes = []
        if content != self._read:
            until = _valid_until(content[0])
            # First where a certificate and a key that do not go together do no harm.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._certificate, self._key)
            self.context.load_cert_chain(self._certificate, self._key)
            metrics.CERTIFICATE_EXPIRES.set(until.timestamp())
            if self._read[0]:
                notes.append(f"the certificate was renewed: valid until {until:%Y-%m-%d %H:%M} UTC")
            self._read = content
        expired = self._expired()
        if expired != self._said:
            self._said = expired
            notes += [expired] if expired else []
        return "; ".join(notes) or None

    def _expired(self) -> str:
        until = _valid_until(self._read[0])
        if datetime.now(UTC) < until:
            return ""
        return (
            f"the certificate at {self._certificate} expired at {until:%Y-%m-%d %H:%M} UTC: callers refuse this agent "
            "until the operator has renewed it (does it run?), or whoever brought it has"
        )


def _valid_until(certificate: bytes) -> datetime:
    """When the first certificate of a PEM file ends."""
    try:
        _, _, der = pem.unarmor(certificate)
        until: datetime = x509.Certificate.load(der).not_valid_after
    except (ValueError, TypeError) as error:
        raise ValueError(f"it is no certificate in PEM: {error}") from error
    return until


def read_again(certificate: ServerCertificate, path: Path) -> str | None:
    """:meth:`ServerCertificate.reload`, with an error as what is to be logged."""
    try:
        return certificate.reload()
    except (OSError, ValueError) as error:
        return f"the certificate at {path} cannot be read; going on with the one before: {error}"
