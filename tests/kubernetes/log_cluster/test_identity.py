"""The certificates of a LogCluster with ``spec.security``: what is due, and that nodes trust each other meanwhile."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from highwater_operator.certificates.cluster import (
    HARNESS,
    ClusterHoldings,
    Request,
    decoded,
    due,
    encoded,
    first_of,
)
from highwater_operator.certificates.issuing import AUTHORITY_FOR, Issued, names_of

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = {
    f"demo-{role}-{n}": (f"demo-{role}-{n}.demo-{role}s.ns.svc",) for role in ("broker", "controller") for n in (0, 1)
}
NOTHING = Request()


def trusts(holdings: ClusterHoldings, shown: Issued, name: str, now: datetime) -> bool:
    """Whether who has these ``holdings`` accepts a server's certificate for ``name``, and a client's."""
    store = x509.verification.Store(x509.load_pem_x509_certificates(holdings.bundle()))
    builder = x509.verification.PolicyBuilder().store(store).time(now)
    try:
        builder.build_server_verifier(x509.DNSName(name)).verify(shown.certificate, [])
        builder.build_client_verifier().verify(shown.certificate, [])
    except x509.verification.VerificationError:
        return False
    return True


def step(held: ClusterHoldings, now: datetime, request: Request = NOTHING, *, settled: bool = True) -> ClusterHoldings:
    return due(held, "demo", NAMES, request, now, settled=settled)


def assert_compatible(one: ClusterHoldings, other: ClusterHoldings, now: datetime) -> None:
    """While nodes are restarted, some have ``one`` and some the ``other``."""
    for here, there in ((one, other), (other, one)):
        for name in NAMES:
            assert trusts(here, there.certificates[name], NAMES[name][0], now), (name, now)


def test_each_node_has_a_certificate_with_its_names_that_servers_and_clients_show() -> None:
    held = first_of("demo", NAMES, NOTHING, BEGIN)
    for name, names in NAMES.items():
        certificate = held.certificates[name].certificate
        assert names_of(held.certificates[name]) == names
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert set(usage) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
        (subject,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        assert subject.value == "demo-node", "the same for all: none is a stranger to another"
    harness = held.certificates[HARNESS].certificate
    assert "demo-harness" in harness.subject.rfc4514_string()
    assert list(harness.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [
        ExtendedKeyUsageOID.CLIENT_AUTH
    ]
    assert re.fullmatch(r"[-_A-Za-z0-9]{43}", held.password)
    assert held.password not in repr(held)
    assert "PRIVATE" not in repr(held.identity())


def test_ten_years_of_rolling_restarts_never_part_nodes() -> None:
    held = first_of("demo", NAMES, NOTHING, BEGIN)
    authorities, batches = {held.authorities[-1].certificate.serial_number}, 0
    for hour in (h for day in range(10 * 365) for h in (24 * day, 24 * day + 1)):
        now = BEGIN + timedelta(hours=hour)
        before, held = held, step(held, now)
        if held != before:
            assert held.batch == before.batch + 1, "nodes are restarted for it"
            assert held.password == before.password
            batches += 1
            assert_compatible(before, held, now)
        authorities.add(held.authorities[-1].certificate.serial_number)
        assert now < held.ends - timedelta(days=29)
        assert len(held.authorities) <= 2
    assert len(authorities) == 5
    assert batches > 60


def test_nothing_happens_while_pods_are_behind_unless_certificates_are_about_to_end() -> None:
    held = first_of("demo", NAMES, NOTHING, BEGIN)
    late = BEGIN + timedelta(days=61)
    assert step(held, BEGIN + timedelta(days=59)) == held
    assert step(held, late, settled=False) == held
    assert step(held, late) != held
    assert step(held, BEGIN + timedelta(days=76), settled=False) != held


def test_certificates_are_rotated_on_request_and_once() -> None:
    held = first_of("demo", NAMES, Request("before"), BEGIN)
    assert step(held, BEGIN, Request("before")) == held
    rotated = step(held, BEGIN, Request("now"))
    assert rotated.authorities == held.authorities
    assert all(rotated.certificates[name] != held.certificates[name] for name in held.certificates)
    assert step(rotated, BEGIN, Request("now")) == rotated


def test_an_authority_is_rotated_on_request_in_three_restarts() -> None:
    request = Request("", "now")
    states = [first_of("demo", NAMES, NOTHING, BEGIN)]
    while (after := step(states[-1], BEGIN, request)) != states[-1]:
        assert_compatible(states[-1], after, BEGIN)
        assert step(states[-1], BEGIN, request, settled=False) == states[-1]
        states.append(after)
    assert [len(one.authorities) for one in states] == [1, 2, 2, 1]
    first, last = states[0], states[-1]
    assert not trusts(last, first.certificates["demo-broker-0"], NAMES["demo-broker-0"][0], BEGIN)


def test_a_successor_that_is_due_by_itself_signs_a_day_later() -> None:
    now = BEGIN + AUTHORITY_FOR * 2 / 3 + timedelta(days=1)
    held = replace(first_of("demo", NAMES, NOTHING, BEGIN))
    held = step(held, now - timedelta(days=2))
    published = step(held, now)
    assert len(published.authorities) == 2
    assert step(published, now + timedelta(hours=23)) == published
    assert step(published, now + timedelta(hours=25)).certificates != published.certificates


def test_a_new_node_gets_a_certificate_and_nobody_is_restarted() -> None:
    held = first_of("demo", NAMES, NOTHING, BEGIN)
    more = {**NAMES, "demo-broker-2": ("demo-broker-2.demo-brokers.ns.svc",)}
    grown = due(held, "demo", more, NOTHING, BEGIN, settled=False)
    assert grown.batch == held.batch
    assert trusts(held, grown.certificates["demo-broker-2"], more["demo-broker-2"][0], BEGIN)
    assert {name: grown.certificates[name] for name in held.certificates} == held.certificates
    assert names_of(
        due(held, "demo", {**NAMES, "demo-broker-0": ("other",)}, NOTHING, BEGIN, settled=False).certificates[
            "demo-broker-0"
        ]
    ) == ("other",)


def test_it_is_read_back_as_it_was_written() -> None:
    held = replace(first_of("demo", NAMES, Request("a", "b"), BEGIN), batch=7, hurried=True)
    again = decoded(encoded(held))
    assert encoded(again) == encoded(held)
    assert (again.batch, again.request, again.hurried) == (7, Request("a", "b"), True)


@pytest.mark.parametrize("key", ["authorities.pem", "harness.pem", "password", "state.json", "demo-broker-0.pem"])
@pytest.mark.parametrize(
    "found", [b"", b"junk \xff", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" * 2]
)
def test_what_somebody_edited_is_refused_and_not_shown(key: str, found: bytes) -> None:
    data = encoded(first_of("demo", NAMES, NOTHING, BEGIN))
    with pytest.raises(ValueError, match=re.escape(key)) as caught:
        decoded({**data, key: found})
    assert data["password"].decode() not in str(caught.value)
