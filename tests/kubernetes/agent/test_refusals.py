from __future__ import annotations

import pytest
from agent_world import TOKEN, Agent, World, in_seconds

REFERENCE = {"namespace": "default", "name": "nobody", "uid": "00000000-0000-4000-8000-000000000000"}


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "ü"])
def test_nobody_gets_in_without_the_token(agent: Agent, token: str | None) -> None:
    shown = None if token is None else token.encode().decode("latin-1")
    for method, path in (
        ("GET", "/v1/faults"),
        ("PUT", "/v1/faults/x"),
        ("DELETE", "/v1/faults/x"),
        ("GET", "/v1/pods/default/x/events"),
        ("GET", "/nowhere"),
    ):
        answer = agent.ask(method, path, token=shown)
        assert answer.status_code == 401
        assert TOKEN not in answer.text
        assert answer.json()["error"] in ("no token", "wrong token")


def test_a_secret_that_was_changed_counts_at_once(agent: Agent, world: World) -> None:
    world.token.write_text("another-token-entirely")
    try:
        assert agent.ask("GET", "/v1/faults").status_code == 401
        assert agent.ask("GET", "/v1/faults", token="another-token-entirely").status_code == 200
        world.token.write_text("")
        assert agent.ask("GET", "/v1/faults", token="").status_code == 503
        world.token.unlink()
        assert agent.ask("GET", "/v1/faults").status_code == 503
    finally:
        world.token.write_text(TOKEN)
    assert agent.ask("GET", "/v1/faults").status_code == 200


def test_health_and_metrics_are_open(agent: Agent) -> None:
    assert agent.ask("GET", "/healthz", token=None).text == "ok\n"
    text = agent.ask("GET", "/metrics", token=None).text
    for name in ("faults_in_force", "volumes", "unauthorized_total", "watch_failures_total", "faults_overdue"):
        assert f"highwater_agent_{name} " in text


def test_a_pod_of_another_node_is_not_touched(agent: Agent, world: World) -> None:
    pod = world.pod("elsewhere-broker-0", node="node-2")
    node = pod.start_node()
    answer = agent.put("elsewhere-1", "kill", pod)
    assert answer.status_code == 403
    assert answer.json()["error"] == "pod default/elsewhere-broker-0 does not live on this agent's node"
    assert answer.json()["found"] == "node node-2"
    assert node.poll() is None
    unknown = {"kind": "kill", "pod": REFERENCE, "deadline": in_seconds(60)}
    assert agent.ask("PUT", "/v1/faults/unknown", unknown).status_code == 404


def test_a_pod_that_was_made_anew_is_another_one(agent: Agent, world: World) -> None:
    pod = world.pod("anew-broker-0")
    node = pod.start_node()
    seen, pod_uid = REFERENCE["uid"], pod.uid
    body = {"kind": "kill", "pod": pod.reference | {"uid": seen}, "deadline": in_seconds(60)}
    answer = agent.ask("PUT", "/v1/faults/anew", body)
    assert answer.status_code == 409
    assert (answer.json()["expected"], answer.json()["found"]) == (f"uid {seen}", f"uid {pod_uid}")
    assert node.poll() is None


def test_an_id_is_one_fault(agent: Agent, world: World) -> None:
    pod = world.pod("id-broker-0")
    node = pod.start_node()
    first = agent.inject("id-1", "pause", pod)
    body = {"kind": "kill", "pod": pod.reference, "deadline": first["request"]["deadline"]}
    answer = agent.ask("PUT", "/v1/faults/id-1", body)
    assert answer.status_code == 409
    assert answer.json()["expected"].startswith("kind='pause'")
    assert answer.json()["found"].startswith("kind='kill'")
    assert agent.ask("PUT", "/v1/faults/id-1", body | {"kind": "pause"}).json()["state"] == "inForce"
    agent.heal("id-1")
    assert agent.ask("PUT", "/v1/faults/id-1", body | {"kind": "pause"}).json()["state"] == "healed", "not again"
    assert node.poll() is None


def test_without_the_api_server_nothing_is_broken_and_everything_can_be_healed(agent: Agent, world: World) -> None:
    pod = world.pod("dark-broker-0")
    pod.start_node()
    agent.inject("dark-1", "pause", pod)
    with_fault = world.api.fault(verb="get", resource="pods", status=500, times=1)
    answer = agent.put("dark-2", "kill", pod)
    assert answer.status_code == 503, with_fault
    assert agent.heal("dark-1")["state"] == "healed"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "melt"}, "union_tag_invalid"),
        ({"deadline": "tomorrow"}, "deadline"),
        ({"deadline": "2030-01-01T00:00:00"}, "deadline"),
        ({"extra": 1}, "extra"),
        ({"pod": {"namespace": "default", "name": "../x", "uid": REFERENCE["uid"]}}, "pod.name"),
        ({"pod": {"namespace": "default", "name": "x", "uid": "*"}}, "pod.uid"),
        ({"kind": "partition", "peer": "10.0.0.1"}, "probePort"),
        ({"kind": "partition", "peer": "10.0.0.1", "probePort": 65536}, "probePort"),
        ({"kind": "partition", "peer": "example.com", "probePort": 9404}, "peer"),
        ({"kind": "partition", "peer": "10.0.0.1; drop", "probePort": 9404}, "peer"),
        ({"kind": "partition", "peer": "fe80::1%" + "x" * 60, "probePort": 9404}, "peer"),
        ({"kind": "delay", "rpc": "Fetch", "by": "soon"}, "by"),
    ],
)
def test_what_is_wrong_with_a_request_is_said(agent: Agent, change: dict[str, object], said: str) -> None:
    body = {"kind": "kill", "pod": REFERENCE, "deadline": in_seconds(60), **change}
    answer = agent.ask("PUT", "/v1/faults/wrong", body)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error", "expected", "found"}
    assert said in f"{answer.json()['error']} {answer.json()['expected']}"


def test_bodies_and_names_are_bounded(agent: Agent) -> None:
    assert agent.ask("PUT", "/v1/faults/large", b" " * 300_000).status_code == 413
    assert agent.ask("PUT", "/v1/faults/broken", b"{").status_code == 400
    assert agent.ask("PUT", "/v1/faults/" + "x" * 101, b"{}").status_code == 400
    assert agent.ask("PUT", "/v1/faults/..", b"{}").status_code in (400, 404, 405)
    assert agent.ask("PUT", "/v1/faults/a%2Fb", b"{}").status_code in (400, 404)
    assert agent.ask("GET", "/v1/faults/never").status_code == 404
    assert agent.ask("POST", "/v1/faults", b"{}").status_code == 405


@pytest.mark.parametrize("seconds", [-1, 25 * 3600])
def test_a_deadline_must_be_one(agent: Agent, world: World, seconds: int) -> None:
    body = {"kind": "kill", "pod": REFERENCE, "deadline": in_seconds(seconds)}
    answer = agent.ask("PUT", "/v1/faults/deadline", body)
    assert answer.status_code == 422
    assert answer.json()["expected"] == "within the next 24 hours"
