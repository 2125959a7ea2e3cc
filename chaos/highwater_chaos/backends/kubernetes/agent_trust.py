"""By what callers know an agent: the authority that signed its certificate, and the name in it.

An agent is asked at its pod's address, which no certificate can name in advance. All agents show one certificate for
one name instead, and callers expect that name. Nothing, the token least of all, is sent before both are verified; there
is no way to ask an agent without TLS.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

from highwater_chaos.kube.client import KEEP_ALIVE

SERVER_NAME: Final = "highwater-agent"
_EXPIRED: Final = 10
_NOT_YET_VALID: Final = 9
_OTHER_NAME: Final = 62
"""Of OpenSSL: X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_HOSTNAME_MISMATCH."""


@dataclass(frozen=True, slots=True)
class Trust:
    """``authority``: certificates to trust, as PEM or a file of it, which is read for each connection, so that one that
    was renewed counts; None: those that this machine trusts. ``name``: what the agent's certificate must be for."""

    authority: Path | str | None = None
    name: str = SERVER_NAME

    def secured(self, plain: socket.socket) -> ssl.SSLSocket:
        """TLS over a connection. Raises ``OSError``: the agent is not who it must be, or the authority is not there."""
        match self.authority:
            case Path() as file:
                context = ssl.create_default_context(cafile=str(file))
            case text:
                context = ssl.create_default_context(cadata=text)
        return context.wrap_socket(plain, server_hostname=self.name)


class AgentConnection(HTTPConnection):
    """A connection to an agent's address."""

    def __init__(self, host: str, port: int | None, timeout: float, trust: Trust) -> None:
        super().__init__(host, port, timeout=timeout)
        self._trust = trust

    def connect(self) -> None:
        super().connect()
        self.sock = self._trust.secured(self.sock)


def keep_alive(connection: socket.socket) -> None:
    """Have the kernel notice within about ten seconds that the other machine is gone."""
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return  # a tunnel's end, on this machine
    for option in KEEP_ALIVE:
        connection.setsockopt(*option)


def why_refused(error: Exception, trust: Trust) -> str:
    """Say in a sentence why there was no answer, if the certificate is the cause."""
    match error:
        case ssl.SSLCertVerificationError(verify_code=code) if code == _EXPIRED:
            return (
                "its certificate has expired; expected one that the operator renews a month before (does the operator "
                "run?), or a new one in the Secret, if you bring your own"
            )
        case ssl.SSLCertVerificationError(verify_code=code) if code == _NOT_YET_VALID:
            return "its certificate is not valid yet: do the clocks of this machine and of the operator's agree?"
        case ssl.SSLCertVerificationError(verify_code=code) if code == _OTHER_NAME:
            return f"its certificate is for another name; expected {trust.name}"
        case ssl.SSLCertVerificationError():
            where = trust.authority if isinstance(trust.authority, Path) else "the authority that is trusted"
            return f"its certificate is not signed by {where}: {error.verify_message}"
        case FileNotFoundError():
            return f"there are no certificates to trust yet; expected the operator to make {trust.authority}"
        case ssl.SSLError():
            return f"it does not speak TLS as expected: {error}"
        case _:
            return str(error)
