"""Requests that a host reads at once: a broker wakes those who wait for them once."""

from __future__ import annotations

from highwater_runtime.ports import InboundRequest


def test_who_waits_is_answered_once_for_all_produces_of_a_read(make_cluster, record_values):
    cluster = make_cluster()
    topic_id = cluster.create_topic([0])
    broker, answers = cluster.broker(0), []

    def take(request, version):
        broker.take(InboundRequest(request, version, "client", "client:1", answers.append))

    def records():
        return [record_values(data.records) for topic in answers.pop().responses for data in topic.partitions]

    def in_session(session_id, epoch):
        request = cluster.fetch_request(topic_id, 0)
        request.session_id, request.session_epoch = session_id, epoch
        request.topics = request.topics if epoch == 0 else []
        return request

    take(in_session(0, 0), 15)
    session_id = answers.pop().session_id
    take(in_session(session_id, 1), 15)
    assert records() == [], "from now on the session looks at the partition only when there is news"
    take(cluster.fetch_request(topic_id, 0, max_wait_ms=500), 15)
    broker.settle()
    take(cluster.produce_request(b"a"), 9)
    take(cluster.produce_request(b"b"), 9)
    assert [type(answer).__name__ for answer in answers] == ["ProduceResponse"] * 2, "nobody was woken yet"
    answers.clear()
    take(in_session(session_id, 2), 15)
    assert records() == [[b"a", b"b"]], "any other request sees what the Produces before it have changed"
    assert records() == [[b"a", b"b"]], "and so has the one that waited, in one response"
    take(cluster.produce_request(b"c"), 9)
    answers.clear()
    take(cluster.fetch_request(topic_id, 3, max_wait_ms=500), 15)
    take(cluster.produce_request(b"d"), 9)
    answers.clear()
    broker.settle()
    assert records() == [[b"d"]]
