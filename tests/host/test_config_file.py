"""The configuration file: Java's format, Kafka's names, and a message for each thing that is wrong."""

from __future__ import annotations

import time
from dataclasses import fields
from pathlib import Path

import pytest

from highwater_runtime.config import ConfigError, NodeConfig
from highwater_runtime.host.config.file import NodeSettings, read_settings
from highwater_runtime.host.config.properties import read_properties
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.metadata import MetadataVersion
from highwater_runtime.ports import Endpoint

GOOD = {
    "process.roles": "broker",
    "node.id": "3",
    "cluster.id": "abcdefghijklmnopqrst-_",
    "controller.quorum.voters": "1000@10.77.0.20:9093,1001@ctl.example:9094",
    "listeners": "PLAINTEXT://10.77.0.13:9092",
    "log.dirs": "/var/lib/highwater",
}


@pytest.fixture
def settings(tmp_path):
    def read(without: tuple[str, ...] = (), **changed: str) -> NodeSettings:
        given = {**GOOD, **{name.replace("_", "."): value for name, value in changed.items()}}
        path = tmp_path / "node.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in given.items() if name not in without))
        return read_settings(path)

    return read


def test_zookeeper_mode(settings):
    found = settings(without=("controller.quorum.voters",), zookeeper_connect="10.77.3.1:2181, zk.example:2182")
    assert found.zookeepers == (Endpoint("10.77.3.1", 2181), Endpoint("zk.example", 2182))
    assert found.voters == {}
    assert settings().zookeepers == ()


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"zookeeper_connect": "a:2181"}, "expected nothing beside controller.quorum.voters"),
        ({"zookeeper_connect": "a:2181/kafka"}, "a path behind the servers"),
        ({"zookeeper_connect": "a:2181,a:2181"}, "a:2181 comes twice"),
        ({"zookeeper_connect": "a"}, "'a' is not of that form"),
        ({"zookeeper_connect": "a:2181", "process_roles": "controller"}, "in ZooKeeper mode brokers elect one"),
    ],
)
def test_what_is_wrong_with_zookeeper_connect(settings, changed, problem):
    with pytest.raises(ConfigError, match=r"zookeeper\.connect") as raised:
        settings(**changed)
    assert problem in str(raised.value)


def properties(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "some.properties"
    path.write_text(text)
    return {name: found.value for name, found in read_properties(path).items()}


def test_javas_format(tmp_path):
    text = (
        "# comment\n! another\n\n  a=1\nb : two words \nc three\nd=\ne\n"
        "f=one,\\\n   two,\\\n\tthree\ng\\=h=x\\ty\\u00e9\ni=back\\\\\nj=k=l\n\\#m=n\n"
    )
    assert properties(tmp_path, text) == {
        "a": "1",
        "b": "two words",
        "c": "three",
        "d": "",
        "e": "",
        "f": "one,two,three",
        "g=h": "x\tyé",
        "i": "back\\",
        "j": "k=l",
        "#m": "n",
    }


def test_lines_are_known_behind_continuations(tmp_path):
    path = tmp_path / "x"
    path.write_text("a=1\\\n2\n\nb=3\n")
    assert [found.where for found in read_properties(path).values()] == [f"{path}:1", f"{path}:4"]


def test_a_property_given_twice(tmp_path):
    with pytest.raises(ConfigError, match=r":3: property 'a' was given before, at .*:1; keep one"):
        properties(tmp_path, "a=1\nb=2\na=1\n")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match=r"expected a configuration file, found: No such file"):
        read_settings(tmp_path / "missing")


def test_a_minimum_and_its_defaults(settings):
    found = settings()
    assert (found.role, found.node_id, found.name, found.seed) == ("broker", 3, "broker-3", 0)
    assert found.voters == {1000: Endpoint("10.77.0.20", 9093), 1001: Endpoint("ctl.example", 9094)}
    (listener,) = found.listeners
    assert (listener.name, listener.protocol) == ("PLAINTEXT", "PLAINTEXT")
    assert listener.endpoint == listener.advertised == Endpoint("10.77.0.13", 9092)
    assert found.inter_broker_listener == "PLAINTEXT"
    assert found.log_dir == Path("/var/lib/highwater")
    assert (found.limits, found.config) == (ServerLimits(), NodeConfig())
    assert found.bootstrap_version is MetadataVersion.latest()
    assert [found.trace_path, found.control_path, found.ready_path, found.admin, found.rack] == [None] * 5


def test_a_start_that_nobody_counts_is_like_no_other(settings):
    before = time.time_ns() // 1_000_000
    for found in (settings(highwater_incarnation="clock"), settings()):
        assert before <= found.incarnation <= time.time_ns() // 1_000_000


def test_everything_that_can_be_said(settings):
    found = settings(
        process_roles="controller",
        node_id="1001",
        listeners="CONTROLLER://0.0.0.0:0, CLIENT://[::1]:9095",
        advertised_listeners="CONTROLLER://ctl.example:9094",
        listener_security_protocol_map="CONTROLLER:PLAINTEXT,CLIENT:SASL_SSL",
        inter_broker_listener_name="CONTROLLER",
        broker_rack="r1",
        highwater_node_name="controller-1",
        highwater_incarnation="4",
        highwater_seed="7",
        highwater_switches="replica-epoch-check=off,pre-vote=on",
        highwater_bootstrap_metadata_version="3.5-IV1",
        highwater_trace_path="/t/events.jsonl",
        highwater_control_path="/t/control.sock",
        highwater_ready_path="/t/ready",
        highwater_admin_listener="http://127.0.0.1:0",
        highwater_log_format="json",
        highwater_event_loop="uvloop",
        highwater_shutdown_timeout_ms="1500",
        socket_request_max_bytes="1000",
        max_connections="10",
        max_connections_per_ip="5",
        queued_max_request_bytes="-1",
        connections_max_idle_ms="-1",
        min_insync_replicas="2",
        ssl_keystore_location="/k.pem",
        sasl_enabled_mechanisms="SCRAM-SHA-512",
    )
    assert found.switches.replica_epoch_check == "off"
    assert [(one.name, one.protocol, one.endpoint, one.advertised) for one in found.listeners] == [
        ("CONTROLLER", "PLAINTEXT", Endpoint("0.0.0.0", 0), Endpoint("ctl.example", 9094)),
        ("CLIENT", "SASL_SSL", Endpoint("::1", 9095), Endpoint("::1", 9095)),
    ]
    assert (found.rack, found.name, found.incarnation, found.seed) == ("r1", "controller-1", 4, 7)
    assert found.bootstrap_version is MetadataVersion.IBP_3_5_IV1
    assert found.admin == Endpoint("127.0.0.1", 0)
    assert (found.log_format, found.event_loop, found.shutdown_timeout_s) == ("json", "uvloop", 1.5)
    assert found.limits.max_frame_bytes == 1000
    assert (found.limits.max_connections, found.limits.max_connections_per_ip) == (10, 5)
    assert (found.limits.max_queued_bytes, found.limits.max_idle_ms) == (-1, -1)
    assert found.config.min_insync_replicas == 2
    assert sorted(found.security) == ["sasl.enabled.mechanisms", "ssl.keystore.location"]


def test_every_property_of_the_cores_is_accepted(settings):
    for field in fields(NodeConfig):
        name = field.metadata["property"]
        default = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
        assert settings(**{name: default}).config == NodeConfig.of({name: default})


@pytest.mark.parametrize("missing", GOOD)
def test_what_must_be_given(settings, missing):
    with pytest.raises(ConfigError, match=f"property '{missing}' is missing: expected "):
        settings(without=(missing,))


WRONG = {
    (
        "node_id",
        "x",
    ): r"node\.properties:2: property 'node.id': expected a whole number between 0 and 2147483647, found 'x'",
    ("node_id", "-1"): "expected a whole number between 0",
    ("node_id", "1000"): "expected an id that is none of the controllers', found '1000'",
    ("process_roles", "broker,controller"): "expected broker or controller, found 'broker,controller'",
    ("process_roles", "controller"): "expected this controller's own id 3 among the voters",
    ("cluster_id", "short"): "22 characters, found 'short' .it has 5 characters",
    ("cluster_id", "x" * 21 + "/"): "only letters, digits, - and _",
    ("controller_quorum_voters", "10.0.0.1:9093"): "expected id@host:port .* found '10.0.0.1:9093'",
    ("controller_quorum_voters", "1@a:9093,1@b:9093"): "id 1 comes twice",
    ("controller_quorum_voters", "1@a:9093,2@a:9093"): "a:9093 comes twice",
    ("controller_quorum_voters", "2147483648@a:9093"): "an id is at most 2147483647, not 2147483648",
    ("controller_quorum_voters", "1@a:0"): "must name a host and a port",
    ("listeners", "PLAINTEXT://a"): "'PLAINTEXT://a' is not of that form",
    ("listeners", "a:9092"): "'a:9092' has no name",
    ("listeners", "PLAINTEXT://a:99999"): "there is no port 99999",
    ("listeners", "PLAINTEXT://a:1,PLAINTEXT://a:2"): "PLAINTEXT comes twice",
    ("listeners", "CLIENT://a:1"): "CLIENT is neither",
    ("advertised_listeners", "SSL://a:1"): "expected names that are among the listeners",
    ("listeners", "PLAINTEXT://0.0.0.0:9092"): "expected an address that clients can reach, or advertised.listeners",
    ("advertised_listeners", "PLAINTEXT://0.0.0.0:1"): "expected addresses that clients can reach",
    ("listener_security_protocol_map", "CLIENT:TLS"): "'CLIENT:TLS' is not of that form",
    ("inter_broker_listener_name", "OTHER"): "expected the name of one of the listeners, found 'OTHER'",
    ("security_inter_broker_protocol", "SSL"): "expected the protocol of one of the listeners",
    ("log_dirs", "/a,/b"): "several directories are not supported",
    ("highwater_switches", "pre-vote"): "'pre-vote' has no value",
    ("highwater_switches", "pre-vot=off"): "unknown switch 'pre-vot'",
    ("highwater_bootstrap_metadata_version", "1.0"): "unknown metadata.version '1.0'; known are",
    ("highwater_admin_listener", "https://a:1"): "only http is served",
    ("highwater_log_format", "xml"): "expected text or json, found 'xml'",
    ("highwater_event_loop", "trio"): "expected asyncio or uvloop",
    ("min_insync_replicas", "0"): r"node\.properties:7: property 'min.insync.replicas' must be at least 1, not 0",
    ("min_insync_replica", "1"): "unknown property 'min.insync.replica'; did you mean 'min.insync.replicas'",
    ("highwater_trace_paht", "x"): "did you mean 'highwater.trace.path'",
    ("zzz", "x"): "node.properties:7: unknown property 'zzz'$",
}


@pytest.mark.parametrize(("given", "message"), WRONG.items(), ids=["=".join(given) for given in WRONG])
def test_what_is_wrong(settings, given, message):
    with pytest.raises(ConfigError, match=message):
        settings(**dict([given]))


def test_everything_wrong_is_told_at_once(settings):
    with pytest.raises(ConfigError) as raised:
        settings(node_id="x", log_dirs="", highwater_seed="-1", nod_id="3")
    assert len(str(raised.value).splitlines()) == 4
