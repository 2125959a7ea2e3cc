"""Which authorities and certificates a LogCluster with ``spec.security`` should have: no API server, no clock.

**Theory of operation.** An authority of the LogCluster's own signs a certificate for each node, with the names of its
pod and its Services, and one for the harness. Nodes know each other by it (mutual TLS), and clients know the brokers.
All of it is in one Secret (:func:`encoded`), which no pod mounts, with the password of the cluster's clients.

Nodes read their files when they start. So each change of what they have is one rolling restart: it raises ``batch``,
which the pod template says. One step is taken at a time, once every pod has the one before (``settled``):

* Certificates are issued again when a third of their time is left, or somebody asks for it.
* An authority is replaced in three steps. Its successor is trusted beside it; then (a day later, so that clients have
  read the Secret again) the successor signs all certificates; then the old one is no longer trusted. At each moment of
  each restart, what any node shows is trusted by all others.

If certificates are about to end, the next step does not wait for pods that are not ready: they may be so because of it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

from highwater_operator.certificates.issuing import (
    Issued,
    authority,
    is_about_to_end,
    is_due,
    is_published,
    issue,
    names_of,
    signed_by,
)
from highwater_operator.objects.identity import Identity

HARNESS: Final = "harness"
"""The certificate of the operator and of runners, which talk to controllers too."""
_PEM: Final = re.compile(rb"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----\s*", re.DOTALL)
_AUTHORITIES, _PASSWORD, _STATE = "authorities.pem", "password", "state.json"
_SUFFIX: Final = ".pem"


class Request(NamedTuple):
    """The values of the annotations by which somebody asks for a rotation; another value than before: now."""

    certificates: str = ""
    authority: str = ""


NOTHING_ASKED: Final = Request()


@dataclass(frozen=True, slots=True)
class ClusterHoldings:
    """``authorities``: oldest first. ``certificates``: by the pod's name, and :data:`HARNESS`. ``request``: the last
    one that was followed. ``hurried``: the newest authority signs as soon as all nodes trust it."""

    authorities: tuple[Issued, ...] = field(repr=False)
    certificates: Mapping[str, Issued] = field(repr=False)
    password: str = field(repr=False)
    batch: int = 1
    request: Request = NOTHING_ASKED
    hurried: bool = False

    def bundle(self) -> bytes:
        """What nodes and clients are to trust."""
        return b"".join(one.certificate_pem() for one in self.authorities)

    @property
    def ends(self) -> datetime:
        """When the first certificate ends."""
        return min(one.certificate.not_valid_after_utc for one in self.certificates.values())

    def identity(self) -> Identity:
        """What the objects of the LogCluster say of it."""
        keystores = {name: one.key_pem() + one.certificate_pem() for name, one in self.certificates.items()}
        return Identity(self.bundle(), keystores, keystores[HARNESS], self.password, self.batch)


def first_of(cluster: str, names: Mapping[str, Sequence[str]], request: Request, now: datetime) -> ClusterHoldings:
    """What a new LogCluster called ``cluster`` begins with. ``names``: DNS names of each node, by its pod's name."""
    made = authority(cluster, now)
    held = ClusterHoldings((made,), {}, secrets.token_urlsafe(32), request=request)
    return _with_certificates(held, cluster, names, made, now)


def due(
    held: ClusterHoldings,
    cluster: str,
    names: Mapping[str, Sequence[str]],
    request: Request,
    now: datetime,
    *,
    settled: bool,
) -> ClusterHoldings:
    """What there should be at ``now``; equal to ``held`` if nothing is due.

    Args:
        held: what there is.
        cluster: the LogCluster's name.
        names: DNS names of each node, by its pod's name.
        request: what the annotations say.
        now: with a time zone.
        settled: whether every pod runs with what is held, and may be replaced.
    """
    if settled or any(is_about_to_end(one, now) for one in held.certificates.values()):
        held = _step(held, cluster, names, request, now)
    signer = _signer(held)
    lacking = {
        name: of for name, of in names.items() if name not in held.certificates or _differs(held.certificates[name], of)
    }
    return _with_certificates(held, cluster, lacking, signer, now) if lacking else held


def _step(
    held: ClusterHoldings, cluster: str, names: Mapping[str, Sequence[str]], request: Request, now: datetime
) -> ClusterHoldings:
    *older, newest = held.authorities
    if older and all(signed_by(one, newest) for one in held.certificates.values()):
        return replace(held, authorities=(newest,), batch=held.batch + 1, hurried=False)
    if older:
        if not held.hurried and not is_published(newest, now):
            return held
        return _with_certificates(replace(held, batch=held.batch + 1), cluster, names, newest, now, anew=True)
    asked = request.authority != held.request.authority
    if asked or is_due(newest, now):
        held = replace(held, request=held.request._replace(authority=request.authority), hurried=asked)
        return replace(held, authorities=(newest, authority(cluster, now)), batch=held.batch + 1)
    if request.certificates != held.request.certificates or any(is_due(one, now) for one in held.certificates.values()):
        held = replace(held, request=held.request._replace(certificates=request.certificates), batch=held.batch + 1)
        return _with_certificates(held, cluster, names, newest, now, anew=True)
    return held


def _signer(held: ClusterHoldings) -> Issued:
    """Who has signed what nodes show."""
    shown = held.certificates[HARNESS]
    return next((one for one in held.authorities if signed_by(shown, one)), held.authorities[-1])


def _with_certificates(
    held: ClusterHoldings,
    cluster: str,
    names: Mapping[str, Sequence[str]],
    by: Issued,
    now: datetime,
    *,
    anew: bool = False,
) -> ClusterHoldings:
    """Issue one for each of ``names``, and that of the harness if there is none, or all are made ``anew``."""
    made = {name: issue(by, f"{cluster}-node", of, now, client=True) for name, of in names.items()}
    if anew or HARNESS not in held.certificates:
        made[HARNESS] = issue(by, f"{cluster}-{HARNESS}", (), now, client=True)
    kept = {} if anew else held.certificates
    return replace(held, certificates={**kept, **made})


def _differs(issued: Issued, names: Sequence[str]) -> bool:
    return names_of(issued) != tuple(names)


def encoded(held: ClusterHoldings) -> dict[str, bytes]:
    """As the Secret has it."""
    state = {"batch": held.batch, "hurried": held.hurried, "request": list(held.request)}
    return {
        _AUTHORITIES: b"".join(one.certificate_pem() + one.key_pem() for one in held.authorities),
        **{f"{name}{_SUFFIX}": one.certificate_pem() + one.key_pem() for name, one in held.certificates.items()},
        _PASSWORD: held.password.encode(),
        _STATE: json.dumps(state).encode(),
    }


def decoded(data: Mapping[str, bytes]) -> ClusterHoldings:
    """From the Secret. Raises ``ValueError``: it is not one; the message shows no secret."""
    lacking = [name for name in (_AUTHORITIES, f"{HARNESS}{_SUFFIX}", _PASSWORD, _STATE) if not data.get(name)]
    if lacking:
        raise ValueError(f"there is no {' and no '.join(lacking)}")
    certificates: dict[str, Issued] = {}
    for name, content in data.items():
        if name.endswith(_SUFFIX) and name != _AUTHORITIES:
            (certificates[name.removesuffix(_SUFFIX)],) = _read(name, content)
    try:
        state = json.loads(data[_STATE])
        batch, hurried = int(state["batch"]), bool(state["hurried"])
        request = Request(*map(str, state["request"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{_STATE} is not as it was written") from error
    password = data[_PASSWORD].decode("ascii", "replace")
    if re.fullmatch(r"[-_A-Za-z0-9]+", password) is None:
        raise ValueError(f"{_PASSWORD} is not as it was written")
    return ClusterHoldings(_read(_AUTHORITIES, data[_AUTHORITIES]), certificates, password, batch, request, hurried)


def _read(name: str, content: bytes) -> tuple[Issued, ...]:
    blocks = [match.group() for match in _PEM.finditer(content)]
    if not blocks or len(blocks) % 2:
        raise ValueError(f"{name}: expected certificates, each with its key, found {len(blocks)} PEM blocks")
    try:
        return tuple(Issued.read(*pair) for pair in zip(blocks[::2], blocks[1::2], strict=True))
    except Exception as error:  # whatever ``cryptography`` raises of a Secret that somebody edited
        raise ValueError(f"{name} cannot be read: {type(error).__name__}") from error
