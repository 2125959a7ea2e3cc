"""Addresses that peers are heard from, and who is believed."""

from __future__ import annotations

from highwater_runtime.host.logs import NodeLog
from highwater_runtime.host.net.peer_addresses import PeerAddresses
from highwater_runtime.ports import Endpoint

NAMED = Endpoint("controller-1.example", 9093)
NUMBERED = Endpoint("10.0.0.7", 9093)


def test_an_address_stands_in_for_a_name_only_while_the_name_leads_nowhere() -> None:
    addresses = PeerAddresses(NodeLog("n"), [NAMED, NUMBERED])
    addresses.heard(NAMED, "10.0.0.8")
    assert addresses.instead_of_name(NAMED) is None
    addresses.failed(NAMED, None)
    assert addresses.instead_of_name(NAMED) == "10.0.0.8"
    addresses.heard(NAMED, "10.0.0.9")
    addresses.failed(NAMED, "10.0.0.8")
    assert addresses.instead_of_name(NAMED) == "10.0.0.9", "what failed is not the newest"
    addresses.reached(NAMED, "10.0.0.9")
    assert addresses.instead_of_name(NAMED) == "10.0.0.9", "the name is not known to be right again"
    addresses.failed(NAMED, "10.0.0.9")
    assert addresses.instead_of_name(NAMED) is None
    addresses.heard(NAMED, "10.0.0.9")
    addresses.reached(NAMED, None)
    assert addresses.instead_of_name(NAMED) is None


def test_nobody_else_is_remembered() -> None:
    addresses = PeerAddresses(NodeLog("n"), [NAMED, NUMBERED])
    for peer in (NUMBERED, Endpoint("stranger.example", 9093)):
        addresses.heard(peer, "10.0.0.8")
        addresses.failed(peer, None)
        assert addresses.instead_of_name(peer) is None
