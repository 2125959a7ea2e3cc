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
    monkeypatch.setattr("highwater_pipeline.jepsen._MOST_LINE", 1 << 20)
    file = highwater.write("history.edn", HEAD + " " * (3 << 20))
    done = highwater("check", file, "--format", "jepsen-edn")
    assert done.status == 254
    assert "history.edn:2: expected lines of at most" in done.err


def test_an_address_that_is_none_is_refused(highwater: Any) -> None:
    done = highwater("check", "http://[x/y")
    assert done.status == 254
    assert "expected a path, or an address that begins with s3://, s3a://, hdfs://, file://" in done.err
