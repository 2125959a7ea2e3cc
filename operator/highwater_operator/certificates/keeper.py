"""Keeps the Secrets and the ConfigMap of the agents' certificate as they should be."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509 import InvalidVersion

from highwater_chaos.backends.kubernetes.agent_trust import SERVER_NAME
from highwater_chaos.kube.client import ConflictError, Kube, KubeError
from highwater_chaos.kube.kinds import CONFIG_MAP, SECRET, Json, Kind
from highwater_operator.certificates.issuing import Holdings, Issued, due
from highwater_operator.kube import AsyncKube
from highwater_runtime.log_lines import log_event

ISSUED_BY: Final = "highwater.dev/issued-by"
_OURS: Final = "highwater-operator"
_LOOK_EVERY: Final = 300.0
_AGAIN_AFTER: Final = 5.0
_PEM: Final = re.compile(rb"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----\s*", re.DOTALL)

_UNREADABLE: Final = (ValueError, TypeError, UnsupportedAlgorithm, InvalidVersion)
"""What ``cryptography`` raises of a Secret that somebody edited."""

_log = logging.getLogger(__name__)


class CertificateError(Exception):
    """The certificate that somebody brought is not whole or cannot be read; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class CertificateSettings:
    """``secret``: the agents', and the ConfigMap's name too. ``published``: a file that is to hold what callers trust,
    for the operator itself. ``brought``: somebody else makes the Secret; it is waited for."""

    namespace: str
    secret: str = "highwater-agent-tls"  # noqa: S105 - a Secret's name
    authority_secret: str = "highwater-agent-ca"  # noqa: S105
    name: str = SERVER_NAME
    published: Path | None = None
    brought: bool = False

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """``POD_NAMESPACE``, ``HIGHWATER_AGENT_TLS_SECRET``, ``…_CA_SECRET``, ``…_SERVER_NAME``, ``…_CA`` (a file), and
        ``HIGHWATER_AGENT_TLS`` (``issued``, ``brought``).

        Raises:
            ValueError: the last one is neither.
        """
        made = cls(environment.get("POD_NAMESPACE") or "highwater-system")
        source = environment.get("HIGHWATER_AGENT_TLS") or "issued"
        if source not in ("issued", "brought"):
            raise ValueError(f"HIGHWATER_AGENT_TLS: expected issued or brought, found {source!r}")
        published = environment.get("HIGHWATER_AGENT_CA")
        return cls(
            namespace=made.namespace,
            secret=environment.get("HIGHWATER_AGENT_TLS_SECRET") or made.secret,
            authority_secret=environment.get("HIGHWATER_AGENT_CA_SECRET") or made.authority_secret,
            name=environment.get("HIGHWATER_AGENT_SERVER_NAME") or made.name,
            published=Path(published) if published else None,
            brought=source == "brought",
        )

    @property
    def other_names(self) -> tuple[str, ...]:
        """Of the agents' Service, for who asks them there."""
        found = (f"highwater-agent.{self.namespace}.svc",)
        return tuple(name for name in found if name != self.name)


def keep(kube: Kube, settings: CertificateSettings, now: datetime) -> list[str]:
    """Look once, and write what is due; returns what was done.

    Raises:
        KubeError: the API server refuses or does not answer. ConflictError: an object has changed since it was read.
        CertificateError: somebody's own certificate comes without its authority, or with one that cannot be read.
    """
    found = kube.get(SECRET, settings.namespace, settings.secret)
    done: list[str] = []
    if settings.brought or (found is not None and _labels(found).get(ISSUED_BY) != _OURS):
        bundle = _brought(found, settings)
    else:
        bundle, done = _issue(kube, settings, found, now)
    published = {"ca.crt": bundle.decode(), "server-name": settings.name}
    there = kube.get(CONFIG_MAP, settings.namespace, settings.secret)
    if there is None or (there.get("data") or {}) != published:
        manifest = _manifest(CONFIG_MAP, settings.namespace, settings.secret, data=published)
        _write(kube, CONFIG_MAP, manifest, there)
        done.append(f"published what callers of agents trust: ConfigMap {settings.secret}")
    if settings.published is not None:
        _publish(settings.published, bundle)
    return done


async def keep_always(
    kube: AsyncKube, settings: CertificateSettings, now: Callable[[], datetime], *, every: float = _LOOK_EVERY
) -> None:
    """Look again and again, until cancelled. What went wrong is logged once, and tried again."""
    loop = asyncio.get_running_loop()
    last = ""
    while True:
        pause = every
        try:
            for what in await loop.run_in_executor(kube.threads, keep, kube.kube, settings, now()):
                log_event(_log, logging.INFO, "certificates of agents", what=what)
            last = ""
        except ConflictError:
            pause = _AGAIN_AFTER
        except Exception as error:  # Secrets hold what people put there; whatever it is, renewal must go on
            pause = _AGAIN_AFTER
            if str(error) != last:
                last = str(error)
                expected = isinstance(error, KubeError | CertificateError | OSError)
                fields = {"fields": {"error": str(error)}}
                _log.error("certificates of agents", exc_info=not expected, extra=fields)
        await asyncio.sleep(pause)


def _issue(kube: Kube, settings: CertificateSettings, found: Json | None, now: datetime) -> tuple[bytes, list[str]]:
    authorities = kube.get(SECRET, settings.namespace, settings.authority_secret)
    held = Holdings(_authorities(authorities), _certificate(found))
    wanted = due(held, settings.name, settings.other_names, now)
    done: list[str] = []
    if wanted.authorities != held.authorities:
        keys = b"".join(one.key_pem() for one in wanted.authorities)
        _write_secret(kube, settings, settings.authority_secret, "Opaque", authorities, wanted.bundle(), keys)
        done.append(f"made an authority: Secret {settings.authority_secret}")
    certificate = wanted.certificate
    if certificate is not None and certificate != held.certificate:
        _write_secret(
            kube,
            settings,
            settings.secret,
            "kubernetes.io/tls",
            found,
            certificate.certificate_pem(),
            certificate.key_pem(),
            wanted.bundle(),
        )
        until = certificate.certificate.not_valid_after_utc
        done.append(f"made the agents' certificate, until {until:%Y-%m-%d}: Secret {settings.secret}")
    return wanted.bundle(), done


def _brought(found: Json | None, settings: CertificateSettings) -> bytes:
    where = f"Secret {settings.namespace}/{settings.secret}"
    if found is None:
        raise CertificateError(f"{where} is not there; expected your certificate, its key and ca.crt in it")
    bundle = _data(found, "ca.crt")
    if not bundle:
        raise CertificateError(f"{where} has no ca.crt; expected the authority's certificate, which callers trust")
    try:
        ssl.create_default_context(cadata=bundle.decode("ascii"))  # as callers read it
    except (ValueError, ssl.SSLError) as error:
        raise CertificateError(
            f"ca.crt of {where} cannot be read: {error}; expected certificates in PEM. What was published before stays"
        ) from error
    return bundle


def _authorities(found: Json | None) -> tuple[Issued, ...]:
    """Those of the Secret; none, if it cannot be read: they are made again."""
    if found is None:
        return ()
    certificates = [match.group() for match in _PEM.finditer(_data(found, "tls.crt"))]
    keys = [match.group() for match in _PEM.finditer(_data(found, "tls.key"))]
    try:
        return tuple(Issued.read(one, key) for one, key in zip(certificates, keys, strict=True))
    except _UNREADABLE as error:
        log_event(_log, logging.ERROR, "the authorities cannot be read, new ones are made", error=str(error))
        return ()


def _certificate(found: Json | None) -> Issued | None:
    if found is None:
        return None
    try:
        return Issued.read(_data(found, "tls.crt"), _data(found, "tls.key"))
    except _UNREADABLE as error:
        log_event(_log, logging.ERROR, "the certificate cannot be read, a new one is made", error=str(error))
        return None


def _data(found: Json, key: str) -> bytes:
    try:
        return b64decode((found.get("data") or {}).get(key) or "")
    except Base64Error:
        return b""


def _labels(found: Json) -> Json:
    labels: Json = found["metadata"].get("labels") or {}
    return labels


def _write_secret(
    kube: Kube,
    settings: CertificateSettings,
    name: str,
    kind: str,
    found: Json | None,
    certificate: bytes,
    key: bytes,
    bundle: bytes | None = None,
) -> None:
    data = {"tls.crt": certificate, "tls.key": key, **({} if bundle is None else {"ca.crt": bundle})}
    encoded = {name: b64encode(content).decode() for name, content in data.items()}
    _write(kube, SECRET, {**_manifest(SECRET, settings.namespace, name, data=encoded), "type": kind}, found)


def _manifest(kind: Kind, namespace: str, name: str, **content: Json) -> Json:
    labels = {"app.kubernetes.io/name": "highwater", "app.kubernetes.io/part-of": "highwater", ISSUED_BY: _OURS}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **content}


def _write(kube: Kube, kind: Kind, manifest: Json, found: Json | None) -> None:
    """Make it, or change what was ``found``. Raises :class:`ConflictError` if somebody else did either."""
    if found is None:
        kube.create(manifest)
        return
    metadata = manifest["metadata"]
    version = {"resourceVersion": found["metadata"]["resourceVersion"], "labels": metadata["labels"]}
    kube.patch(kind, metadata["namespace"], metadata["name"], {"metadata": version, "data": manifest["data"]})


def _publish(file: Path, bundle: bytes) -> None:
    if not file.exists() or file.read_bytes() != bundle:
        part = file.with_name(f"{file.name}.part")
        part.write_bytes(bundle)
        part.replace(file)
