"""docs/security.md names exactly the properties and protocols that there are, and its example is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trustme

from highwater_runtime.host.config.file import SECURITY_PROTOCOLS, read_settings
from highwater_runtime.host.net.listeners import ListenerSecurity
from highwater_runtime.host.security import node_security
from highwater_runtime.host.security.properties import OF_A_LISTENER, OF_A_MECHANISM, OF_THE_NODE
from highwater_runtime.ports import Endpoint


def test_properties(security: Any) -> None:
    rows = security.table("Properties")
    assert [name.strip("`") for name in rows] == [*OF_A_LISTENER, *OF_A_MECHANISM, *OF_THE_NODE]
    default = ListenerSecurity()
    assert rows["`sasl.server.max.receive.size`"][0] == f"`{default.largest_frame_before_authentication}`"
    assert rows["`highwater.authentication.timeout.ms`"][0] == f"`{default.authentication_timeout_s * 1000:.0f}`"


def test_protocols(security: Any) -> None:
    rows = security.tables("TLS and SASL")[0][1:]
    assert [row[0].strip("`") for row in rows] == list(SECURITY_PROTOCOLS)


def test_the_example_is_one(security: Any, tmp_path: Path) -> None:
    (text,) = security.blocks("properties")
    authority = trustme.CA()
    identity = authority.issue_cert("broker-0.example")
    keystore, truststore, config = tmp_path / "node.pem", tmp_path / "ca.pem", tmp_path / "broker-0.properties"
    identity.private_key_and_cert_chain_pem.write_to_path(keystore)
    authority.cert_pem.write_to_path(truststore)
    text = text.replace("/etc/highwater/broker-0.pem", str(keystore)).replace("/etc/highwater/ca.pem", str(truststore))
    config.write_text(text)
    secured = node_security(read_settings(config))
    for listener in ("CLIENTS", "INTERNAL"):
        assert secured.of(listener).ssl_context is not None
        assert secured.of(listener).authenticator is not None
    for server in ("controller-0.example:9093", "broker-1.internal.example:9094"):
        host, _, port = server.partition(":")
        assert secured.outbound(Endpoint(host, int(port))).authenticator is not None
    assert [record.name for record in secured.bootstrap_records] == ["node", "alice"]
