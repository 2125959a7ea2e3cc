"""The agents' certificate: made by the operator with the rights that are shipped, renewed in time, always trusted."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import ssl
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trustme
import yaml
from cryptography import x509

from highwater_chaos.backends.kubernetes.agent_trust import SERVER_NAME, Trust
from highwater_chaos.backends.kubernetes.agents import AgentSettings
from highwater_chaos.kube.client import Kube, RefusedError
from highwater_operator.certificates.issuing import AUTHORITY_FOR, CERTIFICATE_FOR, Holdings, Issued, due
from highwater_operator.certificates.keeper import CertificateError, CertificateSettings, keep, keep_always
from highwater_operator.experiments.context import RunnerSettings
from highwater_operator.kube import AsyncKube
from highwater_runtime.log_lines import JsonLines

from .conftest import BASE, by_key, documents

SYSTEM = "highwater-system"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def verified(bundle: bytes, shown: Issued, now: datetime) -> bool:
    """As a caller's TLS library does it, at another time than now."""
    roots = x509.load_pem_x509_certificates(bundle)
    verifier = x509.verification.PolicyBuilder().store(x509.verification.Store(roots)).time(now)
    try:
        verifier.build_server_verifier(x509.DNSName(SERVER_NAME)).verify(shown.certificate, [])
    except x509.verification.VerificationError:
        return False
    return True


def test_what_is_shown_is_trusted_for_ten_years_by_what_was_published_an_hour_before() -> None:
    """Looked at every hour at first, then once a day, and in the hour after it. Between a change and the next the same
    is valid, so it is verified at both ends and once a week."""
    held, published, shown = Holdings(), b"", None
    renewed, authorities = 0, set()
    hours = [*range(48), *(24 * day + hour for day in range(2, 10 * 365) for hour in (0, 1))]
    for hour in hours:
        now = BEGIN + timedelta(hours=hour)
        # Agents and callers hear of a change at different times: the new certificate with the old bundle, and the
        # old certificate with the new bundle.
        before = held
        if hour % 24 == 0 or hour < 48:
            held = due(held, SERVER_NAME, (), now)
        assert held.certificate is not None
        renewed += shown is not None and held.certificate != shown
        authorities.add(held.authorities[-1].certificate.serial_number)
        if shown is not None and (held != before or hour % (7 * 24) < 2):
            assert verified(published, held.certificate, now), now
            assert verified(held.bundle(), shown, now), now
        published, shown = held.bundle(), held.certificate
        assert now < shown.certificate.not_valid_after_utc - timedelta(days=29)
    assert renewed == pytest.approx(10 * 365 / 60, rel=0.1)
    assert len(authorities) == 5


def test_nothing_is_due_until_a_third_of_the_time_is_left() -> None:
    held = due(Holdings(), SERVER_NAME, ("service",), BEGIN)
    assert due(held, SERVER_NAME, ("service",), BEGIN + timedelta(days=59)) == held
    later = due(held, SERVER_NAME, ("service",), BEGIN + timedelta(days=61))
    assert later.authorities == held.authorities
    assert later.certificate != held.certificate
    assert due(held, SERVER_NAME, ("another",), BEGIN).certificate != held.certificate
    assert timedelta(days=90) == CERTIFICATE_FOR
    gone = due(held, SERVER_NAME, ("service",), BEGIN + AUTHORITY_FOR + timedelta(days=1))
    assert not set(gone.authorities) & set(held.authorities)


@pytest.fixture
def installed(kube_api: Any) -> Any:
    kube_api.apply_file(BASE / "namespace.yaml", *sorted((BASE / "rbac").glob("*.yaml")))
    rules = [one for one in yaml.safe_load_all((BASE / "rbac" / "operator.yaml").read_text()) if one is not None]
    kube_api.authorizer.add_manifests("operator", f"{SYSTEM}/highwater-operator", rules)
    return kube_api


def of(api: Any, kind: str, name: str = "highwater-agent-tls") -> dict[str, str]:
    found = api.get("v1", kind, name, SYSTEM)
    return {} if found is None else dict(found["data"])


def shown_by(api: Any) -> Issued:
    data = of(api, "Secret")
    return Issued.read(base64.b64decode(data["tls.crt"]), base64.b64decode(data["tls.key"]))


def test_the_operator_makes_them_and_leaves_them_until_they_are_due(installed: Any, tmp_path: Any) -> None:
    kube = Kube(installed.configuration("operator"), patience=0.0)
    settings = CertificateSettings(SYSTEM, published=tmp_path / "ca.crt")
    now = datetime.now(UTC)
    assert len(keep(kube, settings, now)) == 3
    secret = of(installed, "Secret")
    assert set(secret) == {"tls.crt", "tls.key", "ca.crt"}
    assert installed.get("v1", "Secret", "highwater-agent-tls", SYSTEM)["type"] == "kubernetes.io/tls"
    published = of(installed, "ConfigMap")
    assert published["server-name"] == SERVER_NAME
    assert (tmp_path / "ca.crt").read_text() == published["ca.crt"]
    assert "PRIVATE" not in published["ca.crt"]
    # What Python's own TLS says of it, as agent and caller.
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).write_bytes(base64.b64decode(secret[name]))
    server.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    caller = ssl.create_default_context(cadata=published["ca.crt"])
    caller.verify_flags |= ssl.VERIFY_X509_STRICT
    shake_hands(server, caller)
    assert keep(kube, settings, now + timedelta(days=59)) == []
    assert keep(kube, settings, now + timedelta(days=61)) != []
    assert of(installed, "ConfigMap") == published, "the authority is the same"
    assert of(installed, "Secret")["tls.crt"] != secret["tls.crt"]
    # One that somebody deleted, or changed, is made again.
    installed.delete("v1", "Secret", "highwater-agent-tls", SYSTEM)
    nonsense = base64.b64encode(b"nonsense").decode()
    installed.patch("v1", "Secret", "highwater-agent-ca", SYSTEM, {"data": {"tls.crt": nonsense}})
    assert len(keep(kube, settings, now)) == 3
    assert verified(of(installed, "ConfigMap")["ca.crt"].encode(), shown_by(installed), now)


def shake_hands(server: ssl.SSLContext, caller: ssl.SSLContext) -> None:
    to_server, to_caller = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        caller.wrap_bio(to_caller, to_server, server_hostname=SERVER_NAME),
        server.wrap_bio(to_server, to_caller, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
    assert all(end.cipher() for end in ends)


def test_somebodys_own_certificate_is_never_touched(installed: Any) -> None:
    kube = Kube(installed.configuration("operator"), patience=0.0)
    own = trustme.CA()
    made = own.issue_cert(SERVER_NAME)
    data = {"tls.crt": made.cert_chain_pems[0].bytes(), "tls.key": made.private_key_pem.bytes()}
    encoded = {name: base64.b64encode(content).decode() for name, content in data.items()}
    meta = {"name": "highwater-agent-tls", "namespace": SYSTEM}
    installed.create(
        {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": meta, "data": encoded}
    )
    settings = CertificateSettings(SYSTEM)
    with pytest.raises(CertificateError, match=r"highwater-agent-tls has no ca.crt; expected the authority's"):
        keep(kube, settings, datetime.now(UTC))
    authority = own.cert_pem.bytes()
    installed.patch("v1", "Secret", meta["name"], SYSTEM, {"data": {"ca.crt": base64.b64encode(authority).decode()}})
    before = of(installed, "Secret")
    assert keep(kube, settings, datetime.now(UTC)) == [
        "published what callers of agents trust: ConfigMap highwater-agent-tls"
    ]
    assert keep(kube, settings, datetime.now(UTC) + timedelta(days=5000)) == []
    assert of(installed, "Secret") == before
    assert of(installed, "ConfigMap")["ca.crt"].encode() == authority
    assert of(installed, "Secret", "highwater-agent-ca") == {}
    # One that is announced is waited for.
    installed.delete("v1", "Secret", meta["name"], SYSTEM)
    with pytest.raises(CertificateError, match="is not there; expected your certificate"):
        keep(kube, CertificateSettings(SYSTEM, brought=True), datetime.now(UTC))


@pytest.mark.parametrize("content", [b"\x30\x82\x01\xff\xfe", b"nonsense"], ids=["binary", "no PEM"])
def test_an_authority_that_callers_cannot_read_is_never_published_and_is_read_again(
    installed: Any, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    """``kubectl edit`` of a Secret, or one made from a file in DER: it must not end renewal until a restart."""
    own = trustme.CA()
    made = own.issue_cert(SERVER_NAME)
    data = {
        "tls.crt": made.cert_chain_pems[0].bytes(),
        "tls.key": made.private_key_pem.bytes(),
        "ca.crt": own.cert_pem.bytes(),
    }
    meta = {"name": "highwater-agent-tls", "namespace": SYSTEM}
    encoded = {name: base64.b64encode(one).decode() for name, one in data.items()}
    installed.create(
        {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": meta, "data": encoded}
    )
    keep(Kube(installed.configuration("operator"), patience=0.0), CertificateSettings(SYSTEM), datetime.now(UTC))
    before = of(installed, "ConfigMap")

    def bring(authority: bytes) -> None:
        change = {"data": {"ca.crt": base64.b64encode(authority).decode()}}
        installed.patch("v1", "Secret", meta["name"], SYSTEM, change)

    async def serve() -> None:
        bring(content)
        kube = AsyncKube(installed.configuration("operator"), patience=5.0)
        looks = iter(range(1_000_000))

        def now() -> datetime:
            if next(looks) == 1:  # it looked once, and met the one that cannot be read
                meanwhile.append(of(installed, "ConfigMap"))
                bring(other.cert_pem.bytes())
            return datetime.now(UTC)

        keeping = asyncio.create_task(keep_always(kube, CertificateSettings(SYSTEM), now, every=0.05))
        try:
            async with asyncio.timeout(60):
                while of(installed, "ConfigMap")["ca.crt"].encode() != other.cert_pem.bytes():
                    assert not keeping.done(), keeping
                    await asyncio.sleep(0.02)
        finally:
            keeping.cancel()
            kube.close()

    other, meanwhile = trustme.CA(), list[dict[str, str]]()
    asyncio.run(serve())
    assert meanwhile == [before]
    lines = [json.loads(JsonLines("operator").format(one)) for one in caplog.records if one.name.endswith("keeper")]
    # It may have looked more than once; what it published is logged too, if another test asked for that level.
    (error,) = {line["error"] for line in lines if "error" in line}
    assert "ca.crt of Secret highwater-system/highwater-agent-tls cannot be read" in error
    assert "expected certificates in PEM. What was published before stays" in error


def test_the_operators_rights_reach_no_other_secret(installed: Any) -> None:
    kube = Kube(installed.configuration("operator"), patience=0.0)
    with pytest.raises(RefusedError):
        keep(kube, CertificateSettings(SYSTEM, secret="highwater-agent-token"), datetime.now(UTC))


def test_the_operator_looks_by_itself_and_survives_a_bad_day(installed: Any, tmp_path: Any) -> None:
    met = installed.fault(verb="create", resource="secrets", status=500, times=2)

    async def serve() -> None:
        kube = AsyncKube(installed.configuration("operator"), patience=5.0)
        settings = CertificateSettings(SYSTEM, published=tmp_path / "ca.crt")
        keeping = asyncio.create_task(keep_always(kube, settings, lambda: datetime.now(UTC), every=0.05))
        try:
            async with asyncio.timeout(60):
                while not of(installed, "ConfigMap"):
                    await asyncio.sleep(0.02)
                installed.delete("v1", "ConfigMap", "highwater-agent-tls", SYSTEM)
                while not of(installed, "ConfigMap"):
                    await asyncio.sleep(0.02)
        finally:
            keeping.cancel()
            kube.close()

    asyncio.run(serve())
    assert len(met.hits) == 2


@pytest.mark.parametrize("values", [{}, {"agent": {"tls": {"existingSecret": "mine", "serverName": "agents.example"}}}])
def test_operator_agents_and_runners_agree_on_names(render: Any, values: Any) -> None:
    objects = render(values)
    (container,) = objects["Deployment", "highwater-operator"]["spec"]["template"]["spec"]["containers"]
    environment = {one["name"]: one.get("value", SYSTEM) for one in container["env"]}
    settings = CertificateSettings.from_environment(environment)
    agents = objects["DaemonSet", "highwater-agent"]["spec"]["template"]["spec"]
    (mounted,) = [one["secret"]["secretName"] for one in agents["volumes"] if one["name"] == "tls"]
    brought = bool(values)
    assert (settings.secret, settings.brought) == (mounted, brought)
    assert settings.name == ("agents.example" if brought else SERVER_NAME)
    assert RunnerSettings.from_environment(environment).trust == mounted
    assert AgentSettings.from_environment(environment).trust == Trust(settings.published, settings.name)
    rules = objects["Role", "highwater-operator"]["rules"]
    named = [rule["resourceNames"] for rule in rules if "resourceNames" in rule and rule["resources"] != ["roles"]]
    assert named == [[settings.authority_secret, mounted], [mounted]]


def test_without_agents_the_operator_needs_no_secret(render: Any) -> None:
    objects = render({"agent": {"enabled": False}})
    assert not [rule for rule in objects["Role", "highwater-operator"]["rules"] if "secrets" in rule["resources"]]


def test_the_chart_and_the_base_make_no_key_themselves(render: Any, base: Any) -> None:
    for objects in (render(), base, by_key(documents(""))):
        for (kind, name), found in objects.items():
            if kind == "Secret":
                assert set(found.get("data", {})) <= {"token"}, name
