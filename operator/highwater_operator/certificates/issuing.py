"""Authorities, and certificates that they sign; and which of them agents should have, from those that there are.

No API server, no clock. What a LogCluster should have says :mod:`.cluster`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_FOR: Final = timedelta(days=3 * 365)
CERTIFICATE_FOR: Final = timedelta(days=90)
PUBLISHED_BEFORE: Final = timedelta(days=1)
"""How long a new authority is published before it signs: kubelets bring a ConfigMap to its pods within minutes."""
_BACKDATED: Final = timedelta(hours=1)
"""Clocks of nodes differ."""
_LONGEST_NAME: Final = 64
"""Of a common name, by X.520."""


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def read(cls, certificate: bytes, key: bytes) -> Self:
        """From PEM. Raises ``ValueError``: it cannot be read, or the key is another certificate's."""
        found = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, None)
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise ValueError(f"expected a key on an elliptic curve, found {type(private).__name__}")
        if found.public_key() != private.public_key():
            raise ValueError("the key is not the certificate's")
        return cls(found, private)

    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self) -> bytes:
        """Return the private key as PEM, for its holder alone."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


@dataclass(frozen=True, slots=True)
class Holdings:
    """``authorities``: oldest first. ``certificate``: of the agents."""

    authorities: tuple[Issued, ...] = ()
    certificate: Issued | None = None

    def bundle(self) -> bytes:
        """What callers are to trust."""
        return b"".join(one.certificate_pem() for one in self.authorities)


def due(held: Holdings, name: str, other_names: Sequence[str], now: datetime) -> Holdings:
    """What there should be at ``now``; equal to ``held`` if nothing is due.

    Args:
        held: what there is.
        name: what callers expect in the certificate.
        other_names: what else it is for.
        now: with a time zone.
    """
    authorities = tuple(one for one in held.authorities if now < one.certificate.not_valid_after_utc)
    if not authorities or is_due(authorities[-1], now):
        authorities = (*authorities, authority("highwater agents", now))
    signer = _signer(authorities, now)
    names = (name, *other_names)
    certificate = held.certificate
    if (
        certificate is None
        or is_due(certificate, now)
        or not signed_by(certificate, signer)
        or names_of(certificate) != names
    ):
        certificate = issue(signer, names[0], names, now)
    return Holdings(authorities, certificate)


def _signer(authorities: Sequence[Issued], now: datetime) -> Issued:
    known = [one for one in authorities if is_published(one, now)]
    return known[-1] if known else authorities[0]


def is_published(authority: Issued, now: datetime) -> bool:
    """Whether an authority was made so long ago that those who trust it have heard of it."""
    return authority.certificate.not_valid_before_utc + _BACKDATED + PUBLISHED_BEFORE <= now


def is_about_to_end(issued: Issued, now: datetime) -> bool:
    """Whether a sixth of its time, or less, is left: it should have been renewed long ago."""
    begins, ends = issued.certificate.not_valid_before_utc, issued.certificate.not_valid_after_utc
    return now >= ends - (ends - begins) / 6


def is_due(issued: Issued, now: datetime) -> bool:
    """Whether a third of its time, or less, is left."""
    begins, ends = issued.certificate.not_valid_before_utc, issued.certificate.not_valid_after_utc
    return now >= ends - (ends - begins) / 3


def signed_by(issued: Issued, by: Issued) -> bool:
    """Whether the authority ``by`` has signed it."""
    try:
        issued.certificate.verify_directly_issued_by(by.certificate)
    except Exception:  # whatever is wrong with it, it is to be made again
        return False
    return True


def names_of(issued: Issued) -> tuple[str, ...]:
    """The DNS names that it is for."""
    try:
        found = issued.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    return tuple(found.value.get_values_for_type(x509.DNSName))


def authority(whose: str, now: datetime) -> Issued:
    """Make an authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{whose} {now:%Y-%m-%d}"[:_LONGEST_NAME])])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    made = (
        _begin(subject, subject, key, now, now + AUTHORITY_FOR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    return Issued(made.sign(key, hashes.SHA256()), key)


def issue(by: Issued, common_name: str, names: Sequence[str], now: datetime, *, client: bool = False) -> Issued:
    """Make a certificate that the authority ``by`` signs.

    Args:
        by: the authority.
        common_name: its subject.
        names: DNS names of the server that shows it; none: it is a client's.
        now: with a time zone.
        client: whether a client may show it too.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:_LONGEST_NAME])])
    ends = min(now + CERTIFICATE_FOR, by.certificate.not_valid_after_utc)
    usages = [ExtendedKeyUsageOID.SERVER_AUTH] if names else []
    usages += [ExtendedKeyUsageOID.CLIENT_AUTH] if client else []
    made = (
        _begin(subject, by.certificate.subject, key, now, ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.key.public_key()), critical=False)
    )
    if names:
        alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        made = made.add_extension(alternatives, critical=False)
    return Issued(made.sign(by.key, hashes.SHA256()), key)


def _begin(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
