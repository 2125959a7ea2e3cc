"""The runner's journal, while the API server has a bad day."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from experiments.conftest import KIND, experiment, until

from highwater_chaos.backends.kubernetes import journal as journal_module
from highwater_chaos.backends.kubernetes.agents import AgentClient
from highwater_chaos.backends.kubernetes.faults import FaultClient, InjectedFault, PodPlace
from highwater_chaos.backends.kubernetes.healing import heal
from highwater_chaos.backends.kubernetes.journal import StatusJournal, TakenOverError
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.kube.client import Kube, RefusedError
from highwater_chaos.kube.conditions import stamp
from highwater_chaos.kube.kinds import Json
from highwater_runtime.ports import SECOND


@pytest.fixture
def journal(kube_api: Any, monkeypatch: pytest.MonkeyPatch) -> StatusJournal:
    monkeypatch.setattr(journal_module, "_LOOK_EVERY", 0.0)
    uid = kube_api.create(experiment())["metadata"]["uid"]
    kube_api.patch(*KIND, "demo", "default", {"status": {"phase": "Steady"}}, "status")
    return StatusJournal(Kube(kube_api.configuration(), patience=0.2), "default", "demo", uid)


def looked(journal: StatusJournal) -> bool:
    """Whether a look was begun and has ended, so that the next call tells what came of it."""
    if journal._looking is None:
        journal.check_now_and_then()
    return journal._looking is not None and journal._looking.done()


def test_looking_whether_it_is_over_holds_up_nothing(
    kube_api: Any, journal: StatusJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    get = Kube.get

    def slow(self: Kube, *args: Any, **kwargs: Any) -> Any:
        assert answers.wait(60.0)
        return get(self, *args, **kwargs)

    monkeypatch.setattr(Kube, "get", slow)
    for _ in range(3):
        journal.check_now_and_then()
    assert journal._looking is not None
    assert not journal._looking.done()
    kube_api.patch(*KIND, "demo", "default", {"status": {"phase": "Aborting"}}, "status")
    answers.set()
    until(lambda: looked(journal), "the look")
    with pytest.raises(TakenOverError):
        journal.check_now_and_then()


def test_an_api_server_that_is_away_says_nothing_and_one_that_refuses_ends_the_run(
    kube_api: Any, journal: StatusJournal
) -> None:
    kube_api.fault(verb="get", resource="chaosexperiments", status=503, times=2)
    kube_api.fault(verb="get", resource="chaosexperiments", status=403, times=None)
    for _ in range(2):
        until(lambda: looked(journal), "the look")
        journal.check_now_and_then()
    until(lambda: looked(journal), "the look")
    with pytest.raises(RefusedError):
        journal.check_now_and_then()


def test_a_fault_that_cannot_be_written_down_is_not_asked_for(kube_api: Any, journal: StatusJournal) -> None:
    """The run goes on without it: it is inconclusive, and its recordings are kept."""
    agent = AgentClient("https://127.0.0.1:1", "token")
    client = FaultClient(journal, 3600 * SECOND)
    away = kube_api.fault(verb="patch", resource="chaosexperiments/status", status=503, times=None)
    with pytest.raises(BackendError, match="kill broker-0: it could not be written down first"):
        client.inject(PodPlace("default", "demo-broker-0", "uid", agent), "kill", "kill broker-0")
    assert away.hits
    assert journal.open_faults == []
    kube_api.faults.clear()
    journal.write(lambda _: {"phase": "Injecting"})
    assert kube_api.get(*KIND, "demo", "default")["status"].get("journal", []) == []
    client.close()


def test_how_far_a_fault_got_is_written_with_what_is_written_next(kube_api: Any, journal: StatusJournal) -> None:
    fault, _ = journal.intend("kill broker-0", ["demo-broker-0"], SECOND)
    kube_api.fault(verb="patch", resource="chaosexperiments/status", status=503, times=None)
    journal.note(fault, "done", "gone")
    journal.note(fault, "undone", "it runs")

    def states() -> list[str]:
        return [one["state"] for one in kube_api.get(*KIND, "demo", "default")["status"]["journal"]]

    assert states() == ["intent"]
    kube_api.faults.clear()
    journal.write(lambda now: {"reason": now["status"]["journal"][0]["state"]})
    assert states() == ["undone"]
    assert kube_api.get(*KIND, "demo", "default")["status"]["reason"] == "undone", "and decided by"


def test_counts_are_written_with_the_journal_and_follow_what_is_seen_later(
    kube_api: Any, journal: StatusJournal
) -> None:
    """A fault is seen in force, and healed, after the last entry about it: what it says then must not stay."""
    counts = {"planned": 1, "injected": 0, "confirmed": 0, "healed": 0}
    journal.extra = lambda: {"faults": counts}

    def written() -> Any:
        return kube_api.get(*KIND, "demo", "default")["status"].get("faults")

    fault, _ = journal.intend("kill broker-0", ["demo-broker-0"], SECOND)
    assert written() == counts
    counts = counts | {"injected": 1}
    journal.note(fault, "done", "gone")
    assert written() == counts
    for seen in ("confirmed", "healed"):
        counts = counts | {seen: 1}
        until(lambda now=counts: looked(journal) and written() == now, f"{seen} to be written without an entry", 10.0)
        journal.check_now_and_then()


class LateAgent:
    """Answers a look only when the fault has been healed, with what was so when it was asked."""

    def __init__(self) -> None:
        self.asked, self.healed = threading.Event(), threading.Event()

    def fault(self, fault: str) -> dict[str, Any]:
        self.asked.set()
        assert self.healed.wait(60.0)
        return {"id": fault, "state": "inForce", "evidence": []}

    def heal_fault(self, fault: str) -> dict[str, Any]:
        return {"id": fault, "state": "healed", "evidence": [{"phase": "heal", "saw": "gone", "confirmed": True}]}


def test_an_answer_from_before_a_heal_hides_nothing_that_was_seen_after_it(journal: StatusJournal) -> None:
    agent: Any = LateAgent()
    client = FaultClient(journal, 3600 * SECOND)
    fault = InjectedFault("fault-1", PodPlace("default", "demo-broker-0", "uid", agent), {"state": "inForce"})
    looking = client.look_soon(fault)
    assert agent.asked.wait(60.0)
    assert client._undo(fault)
    agent.healed.set()
    looking.result(60.0)
    assert client.seen_healed(fault) is None
    client.close()


def test_nobody_says_that_no_agent_had_a_fault_whose_agent_is_away() -> None:
    """Also where no pod says on which node it was: pods of others, or pods that have moved."""

    class NeverHad:
        def heal_fault(self, fault: str) -> Json:
            return {"id": fault, "state": "healed", "request": None, "evidence": []}

    now = datetime.now(UTC)
    entry = {"id": "f-1", "step": "kill", "state": "done", "at": stamp(now), "deadline": stamp(now), "node": "n1"}
    agents: Any = {"n2": NeverHad()}
    left = heal([entry], agents, set(), now)
    assert (left.journal, left.left) == ([entry], ["f-1 (kill): node n1: no agent is there"])
    found = heal([entry], {**agents, "n1": NeverHad()}, set(), now)
    assert (found.left, found.journal[0]["state"]) == ([], "undone")
