"""``highwater check --format jepsen-edn``: histories as Jepsen stores them, one small history for each question."""

from typing import Any

import pytest

HEAD = "{:type :info, :f :start-partition, :value nil, :process :nemesis, :time 1, :index 0}\n"


def history(*rows: str) -> str:
    """Operations ``type f value process``, with time and index."""
    lines = []
    for index, row in enumerate(rows, start=1):
        kind, f, process, value = row.split(" ", 3)
        lines.append(
            f"{{:type :{kind}, :f :{f}, :value {value}, :process {process}, :time {index * 1000}, :index {index}}}\n"
        )
    return HEAD + "".join(lines)


SENT = (
    "invoke send 0 [[:send 5 7]]",
    "ok send 0 [[:send 5 [0 7]]]",
    "invoke send 0 [[:send 5 8]]",
    "ok send 0 [[:send 5 [1 8]]]",
)
POLL = "invoke poll 1 [[:poll]]"
SUBSCRIBED = (
    "invoke send 0 [[:send 5 9]]",
    "ok send 0 [[:send 5 [2 9]]]",
    "invoke subscribe 1 [5]",
    "ok subscribe 1 [5]",
)
REST = ("invoke poll 2 [[:poll]]", "ok poll 2 [[:poll {5 [[0 7] [1 8] [2 9]]}]]")
LOGS = {
    "all is read": ((*SENT, POLL, "ok poll 1 [[:poll {5 [[0 7] [1 8]]}]]"), {}, True),
    "acknowledged and overtaken": ((*SENT, POLL, "ok poll 1 [[:poll {5 [[1 8]]}]]"), {"lost-write", "unseen"}, False),
    "two values at one offset": (
        (*SENT, POLL, "ok poll 1 [[:poll {5 [[0 7] [1 8]]}]]", POLL, "ok poll 1 [[:poll {5 [[1 9]]}]]"),
        {"inconsistent-offsets"},
        False,
    ),
    "read though its writer failed": (
        (
            *SENT,
            "invoke send 0 [[:send 5 9]]",
            "fail send 0 [[:send 5 9]]",
            POLL,
            "ok poll 1 [[:poll {5 [[0 7] [1 8] [2 9]]}]]",
        ),
        {"aborted-read"},
        False,
    ),
    "one value twice": ((*SENT, POLL, "ok poll 1 [[:poll {5 [[0 7] [1 8] [2 7]]}]]"), {"duplicate"}, False),
    "a value that was read of another key": (
        (
            *SENT,
            "invoke txn 2 [[:send 6 8]]",
            "info txn 2 [[:send 6 [0 8]]]",
            "invoke send 0 [[:send 6 9]]",
            "ok send 0 [[:send 6 [0 9]]]",
            POLL,
            "ok poll 1 [[:poll {5 [[0 7] [1 8]], 6 [[0 9]]}]]",
        ),
        set(),
        True,
    ),
    "read of a key that it was not sent to": (
        (*SENT, POLL, "ok poll 1 [[:poll {5 [[0 7] [1 8]], 6 [[0 7]]}]]"),
        {"never-sent"},
        False,
    ),
    "read before it was sent": (
        (POLL, "ok poll 1 [[:poll {5 [[0 7]]}]]", *SENT, POLL, "ok poll 1 [[:poll {5 [[1 8]]}]]"),
        {"never-sent"},
        False,
    ),
    "a poll of a subscriber that goes past a record": (
        (*SENT, *SUBSCRIBED, POLL, "ok poll 1 [[:poll {5 [[0 7] [2 9]]}]]", *REST),
        {"int-poll-skip"},
        False,
    ),
    "a transaction of a subscriber that goes back": (
        (
            *SENT,
            *SUBSCRIBED,
            "invoke txn 1 [[:poll] [:poll]]",
            "ok txn 1 [[:poll {5 [[1 8]]}] [:poll {5 [[0 7]]}]]",
            *REST,
        ),
        {"int-nonmonotonic-poll"},
        False,
    ),
    "polls of a subscriber, moved in between": (
        (*SENT, *SUBSCRIBED, POLL, "ok poll 1 [[:poll {5 [[1 8]]}]]", POLL, "ok poll 1 [[:poll {5 [[0 7]]}]]", *REST),
        set(),
        True,
    ),
    "nobody read": (SENT, set(), "unknown"),
    "of a transaction": (
        (
            "invoke txn 0 [[:send 5 7] [:poll]]",
            "ok txn 0 [[:send 5 [0 7]] [:poll {5 [[0 7]]}]]",
            POLL,
            "ok poll 1 [[:poll {5 [[0 7]]}]]",
        ),
        {"precommitted-read"},
        False,
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log(highwater: Any, name: str) -> None:
    rows, anomalies, valid = LOGS[name]
    file = highwater.write("history.edn", history(*rows))
    done = highwater("check", file, "--format", "jepsen-edn", "--acks", "all", "--idempotence", "--json")
    assert set(done.json["anomalies"]) >= set(anomalies), done.json
    assert done.json["valid"] == valid
    assert bool(done.json["anomalies"]) == bool(anomalies)
    assert done.status == {True: 0, False: 1, "unknown": 2}[valid]
    sent = sum(row.startswith(("invoke send", "invoke txn")) for row in rows)
    assert done.json["stats"]["operations"] >= sent


@pytest.mark.parametrize(
    ("log", "valid"),
    [
        ("nil", False),
        ("({:type :revoked, :keys [5]} {:type :assigned, :keys [5 6]})", True),
        ("[{:type :assigned, :keys [6]}]", False),
        ("{:before [], :during [{:type :lost, :keys #{5}}]}", True),
        ('[{:type :lost, :partitions [{:topic "t5", :partition 0}]}]', True),
    ],
)
@pytest.mark.parametrize("f", ["poll", "txn"])
def test_what_the_rebalance_log_explains(highwater: Any, f: str, log: str, valid: bool) -> None:
    polled = f"ok {f} 1 [[:poll {{5 [[0 7] [2 9]]}}]]"
    text = history(*SENT, *SUBSCRIBED, f"invoke {f} 1 [[:poll]]", polled, *REST)
    file = highwater.write("history.edn", text.replace("[2 9]]}]]", f"[2 9]]}}]], :rebalance-log {log}", 1))
    done = highwater("check", file, "--format", "jepsen-edn", "--acks", "all", "--idempotence", "--json")
    assert done.json["valid"] == valid, done.json
    assert set(done.json["anomalies"]) == (set() if valid else {"int-poll-skip"})


def test_fields_that_do_not_matter_may_have_any_value(highwater: Any) -> None:
    """Clojure prints more than EDN has. What is read must still be right."""
    rows = [*SENT, POLL, "ok poll 1 [[:poll {5 [[0 7] [1 8]]}]]"]
    more = (
        ":latency ##NaN, :most ##-Inf, :debug #:op{:f 1, :_/g 2}, :seen #{{:a 1} {:a 2}}, :by {{:k 1} 2}, :c \\o101,"
        ' :ratio 1/3, :at #inst "2026-01-01", :what ^{:line 1} [a], :like #"a.*", '
    )
    file = highwater.write("history.edn", history(*rows).replace("{:type", f"{{{more}:type"))
    done = highwater("check", file, "--format", "jepsen-edn", "--acks", "all", "--idempotence", "--json")
    assert (done.status, done.json["valid"]) == (0, True), done.err
    broken = highwater.write("broken.edn", history(*rows).replace(":value [[:send 5 7]]", ":value ##NaN", 1))
    refused = highwater("check", broken, "--format", "jepsen-edn")
    assert (refused.status, "expected :value to be a vector, found nan" in refused.err) == (254, True), refused.err


REGISTERS = {
    "a stale read": (
        ("invoke write 0 1", "ok write 0 1", "invoke write 0 2", "ok write 0 2", "invoke read 1 nil", "ok read 1 1"),
        False,
    ),
    "a cas of what was written": (
        (
            "invoke write 0 1",
            "ok write 0 1",
            "invoke cas 0 [1 3]",
            "ok cas 0 [1 3]",
            "invoke read 1 nil",
            "ok read 1 3",
        ),
        True,
    ),
    "never written": (("invoke read 1 nil", "ok read 1 nil", "invoke write 0 1", "ok write 0 1"), True),
    "independent keys": (
        (
            "invoke write 0 [7 1]",
            "ok write 0 [7 1]",
            "invoke cas 0 [8 [nil 4]]",
            "ok cas 0 [8 [nil 4]]",
            "invoke read 1 [7 nil]",
            "ok read 1 [7 1]",
            "invoke read 1 [8 nil]",
            "ok read 1 [8 nil]",
        ),
        False,
    ),
}


@pytest.mark.parametrize("name", REGISTERS)
def test_registers(highwater: Any, name: str) -> None:
    rows, valid = REGISTERS[name]
    file = highwater.write("history.edn", f"[{history(*rows)}]")
    done = highwater("check", file, "--format", "jepsen-edn", "--model", "register", "--json")
    assert (done.json["valid"], done.status) == (valid, 0 if valid else 1), done.json
    assert set(done.json["anomalies"]) == (set() if valid else {"stale-read"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{:type :ok", "history.edn:1: the text ends within '{'"),
        ("[:a]\n", "history.edn:1: expected a map, an operation, found 'a'"),
        (history("done send 0 [[:send 5 7]]"), "history.edn:2: expected :type to be one of :invoke, :ok, :fail, :info"),
        (history('invoke send 0 [[:send 5 "a"]]'), "history.edn:2: expected a value to be an integer of 64 bits"),
        (history("ok poll 0 [[:poll {5 [[0 7 1]]}]]"), "expected a record [offset value], found (0, 7, 1)"),
        (history("invoke send 0 [[:get 5 7]]"), "expected [:send key value]"),
        (history("invoke read 0 nil"), "expected operations of a log, found only others, such as 'read'"),
        (history("ok send 0 [[:send 5 [0 7]]]"), "expected process 0 to have an open operation"),
    ],
)
def test_what_is_no_history_is_refused_with_its_line(highwater: Any, text: str, said: str) -> None:
    done = highwater("check", highwater.write("history.edn", text), "--format", "jepsen-edn")
    assert (done.status, done.out) == (254, "")
    assert said in done.err


def test_an_empty_history_is_unknown(highwater: Any) -> None:
    done = highwater("check", highwater.write("history.edn", HEAD), "--format", "jepsen-edn", "--json")
    assert (done.status, done.json["valid"], done.json["unseen"]) == (2, "unknown", None)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_says_the_same(highwater: Any) -> None:
    rows, _, _ = LOGS["acknowledged and overtaken"]
    file = highwater.write("history.edn", history(*rows))
    common = ("check", file, "--format", "jepsen-edn", "--acks", "all", "--idempotence", "--json", "--engine")
    here, there = (highwater(*common, engine) for engine in ("process", "spark"))
    assert here.json == there.json


def test_a_line_that_does_not_end_is_refused_before_it_fills_memory(highwater: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("highwater_pipeline.jepsen.history._MOST_LINE", 1 << 20)
    file = highwater.write("history.edn", HEAD + " " * (3 << 20))
    done = highwater("check", file, "--format", "jepsen-edn")
    assert done.status == 254
    assert "history.edn:2: expected lines of at most" in done.err


def test_an_address_that_is_none_is_refused(highwater: Any) -> None:
    done = highwater("check", "http://[x/y")
    assert done.status == 254
    assert "expected a path, or an address that begins with s3://, s3a://, hdfs://, file://" in done.err
