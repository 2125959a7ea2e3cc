"""Whatever a client asks, in any version and with any values, brokers and controllers answer and live."""

from __future__ import annotations

from random import Random

import pytest

from highwater_runtime.broker.apis.api_versions import LOWEST_SERVED, OFFERED
from highwater_runtime.log.records import build_batch
from highwater_runtime.ports import RpcFailure
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.codec import ZERO_UUID, SchemaError
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.registry import api_of

TEXTS = (
    *("orders", "other", "nothing", "__consumer_offsets", "__cluster_metadata", "no name", "", "x" * 300),
    *(
        "0",
        "1",
        "99",
        "retention.ms",
        "cleanup.policy",
        "log.retention.ms",
        "metadata.version",
        "delete",
        "-1",
        "range",
    ),
)
NUMBERS = (0, 0, 0, 1, 1, 2, 3, 4, 5, 7, 12, 100, -1, -1, -2, -3, -4, -5)
LIMITS = {"int8": 127, "int16": 2**15 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}


class Anything:
    """Requests with values that mean something as often as not."""

    def __init__(self, seed, topic_ids):
        self.random = Random(seed)
        self.uuids = (*topic_ids, ZERO_UUID)

    def request(self, key, version):
        return self._struct(api_of(key).request.SCHEMA, version)

    def _struct(self, struct, version):
        return struct.cls(**{f.name: self._value(f, version) for f in struct.fields if version in f.versions})

    def _value(self, field, version):
        if version in field.nullable and self.random.random() < 0.2:
            return None

        def one():
            return self._scalar(field) if field.struct is None else self._struct(field.struct, version)

        return [one() for _ in range(self.random.choice((0, 1, 1, 2, 3)))] if field.is_array else one()

    def _scalar(self, field):
        draw = self.random
        match field.type:
            case "bool":
                return draw.random() < 0.5
            case "uuid":
                return draw.choice(self.uuids)
            case "string":
                return draw.choice(TEXTS)
            case "bytes":
                return draw.randbytes(draw.choice((0, 1, 30)))
            case "records":
                batch = build_batch([b"a", b"b"], timestamp_ms=1000)
                return draw.choice((batch, batch, batch + batch, batch[:-3], b"", draw.randbytes(80)))
            case "float64":
                return draw.random()
            case kind:
                limit = LIMITS.get(kind, 2**15)
                return draw.choice((limit, -limit - 1)) if draw.random() < 0.05 else draw.choice(NUMBERS)


@pytest.mark.quick("0")
@pytest.mark.parametrize("seed", range(3))
def test_a_cluster_survives_whatever_it_is_asked(make_cluster, seed, record_values):
    c = make_cluster(controllers=3, codec="all", config={"auto.create.topics.enable": False})
    ids = [c.create_topic([0, 1, 2]), c.create_topic([1, 2], name="other")]
    anything = Anything(seed, ids)
    apis = [key for key in OFFERED if key != ApiKey.UNREGISTER_BROKER]  # that one does take a broker away
    answers = []
    asked = 0
    for _ in range(600):
        key = anything.random.choice(apis)
        low, high = OFFERED[key]
        version = anything.random.randint(max(low, LOWEST_SERVED.get(key, 0)), high)
        request = anything.request(key, version)
        try:
            request.encode(version)
        except SchemaError:
            continue
        asked += 1
        channel = f"any-{asked}"  # none waits for another
        c.send(f"broker-{anything.random.randrange(3)}", request, version, answers.append, channel=channel)
        if asked % 20 == 0:
            c.run(0.2)
    c.run(35)
    assert len(answers) == asked > 500
    assert not [answer for answer in answers if isinstance(answer, RpcFailure)]
    topic_id = c.create_topic([0, 1, 2], name="afterwards")
    assert c.produce(b"1", topic="afterwards").error_code == ErrorCode.NONE
    assert record_values(c.fetch(topic_id, 0, to=0).records) == [b"1"]
    assert all(c.unfenced(b) for b in range(3))
