"""What a broker that has just started tells clients: nothing, until it knows something."""

from __future__ import annotations

from highwater_runtime.ports import RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.metadata_request import MetadataRequest


def restarted(cluster):
    """Broker 2 anew, whose registration must wait until the session of its last life is over."""
    cluster.create_topic([0, 1, 2])
    cluster.sim.kill("broker-2")
    cluster.sim.start("broker-2")
    cluster.run(0.2)
    assert cluster.broker(2).broker_epoch == -1


def test_a_request_waits_for_the_metadata_that_answers_it(make_cluster):
    c = make_cluster(hold_until_published=True)
    restarted(c)
    answers = []
    c.send("broker-2", MetadataRequest(topics=None), 12, answers.append)
    # What a client needs to connect is no metadata, and is answered at once.
    versions = c.ask("broker-2", ApiVersionsRequest(), 3, channel="other")
    assert versions.error_code == ErrorCode.NONE
    assert answers == []
    assert c.broker(2).broker_epoch == -1
    c.until(lambda: bool(answers))
    assert not isinstance(answers[0], RpcFailure)
    assert {0, 1} <= {broker.node_id for broker in answers[0].brokers}
    assert [topic.name for topic in answers[0].topics] == ["orders"]
    c.until(lambda: c.unfenced(2))
    assert [broker.node_id for broker in c.ask("broker-2", MetadataRequest(topics=None), 12).brokers] == [0, 1, 2]


def test_a_simulated_broker_answers_at_once_that_it_knows_nobody(make_cluster):
    c = make_cluster()
    restarted(c)
    answer = c.ask("broker-2", MetadataRequest(topics=None), 12)
    assert c.broker(2).broker_epoch == -1
    assert (answer.brokers, answer.topics) == ([], [])
