"""Real ``highwater-node`` processes as pods that restart like a kubelet's, an agent that really acts on them, and the
runner as the pod of its Job: everything is what it is on a cluster but for kernel things that need privileges."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from experiments.agents import FakeAgent, evidence
from log_cluster.real_nodes import POLL, RealNodes, answers

from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.process.control_socket import call_program
from highwater_chaos.machine.process.processes import PROCESS_MARK, Process
from highwater_chaos.records.dump import dump_replicas
from highwater_runtime.host.files.posix_disk import PosixDisk

_RUNNER_ENDS_WITHIN = 60.0
Json = dict[str, Any]


class RestartingNodes(RealNodes):
    """Containers that end are started again, and kept from running while somebody holds their pod down."""

    def __init__(self, api: Any, folder: Path, runner: Callable[[Json], int]) -> None:
        super().__init__(api, folder)
        self._runner = runner
        self.folder = folder
        self.held: set[str] = set()
        self._gone: set[str] = set()
        self._uids: dict[str, str] = {}
        self._marks: dict[str, str] = {}
        self._runners: list[threading.Thread] = []

    def start(self, handle: Any) -> None:
        if "highwater.dev/cluster" in handle.pod["metadata"]["labels"]:
            self._begin_pod(handle.pod["metadata"])
            super().start(handle)
            return
        handle.running(ready=True)
        if handle.pod["spec"].get("restartPolicy") != "Never":
            return
        thread = threading.Thread(target=lambda: handle.finished(self._runner(handle.pod)), daemon=True)
        self._runners.append(thread)
        thread.start()

    def _begin_pod(self, pod: Json) -> None:
        """Each pod has a file of events of its own, and that of the one before is what an agent keeps of it."""
        name, events = pod["name"], self.home(pod["name"]) / "events.jsonl"
        if name in self._gone and events.exists():
            events.rename(self.kept_events(name, self._uids[name]))
        self._gone.discard(name)
        self._uids[name] = pod["uid"]

    def kept_events(self, pod: str, uid: str) -> Path:
        return self.home(pod) / f"events-{uid}.jsonl"

    def stop(self, handle: Any, grace_seconds: int) -> None:
        self._gone.add(handle.pod["metadata"]["name"])
        super().stop(handle, grace_seconds)

    def close(self) -> None:
        """Runners are waited for: one whose experiment was taken away has yet to notice."""
        for runner in self._runners:
            runner.join(_RUNNER_ENDS_WITHIN)
            assert not runner.is_alive(), "a runner does not end"
        super().close()

    def is_gone(self, pod: str) -> bool:
        """Whether it was deleted, and its process has ended."""
        return pod in self._gone and pod not in self._processes

    def process(self, pod: str) -> subprocess.Popen[bytes]:
        return self._processes[pod]

    def container(self, pod: str) -> Process:
        """All processes of the life that the pod's container has now, as the machine finds them."""
        return Process(pod, str(self.folder), mark=self._marks[pod])

    def home(self, pod: str) -> Path:
        return self.folder / pod

    def admin(self, pod: str) -> int:
        return self._port(f"{pod}.admin")

    def _life(self, handle: Any) -> None:
        name = handle.pod["metadata"]["name"]
        admin = self._port(f"{name}.admin")
        command = [sys.executable, "-m", *self._program(handle.pod, admin)]
        while not self._ended.is_set() and name not in self._gone:
            mark = self._marks[name] = secrets.token_hex(8)
            environment = {**self.environment(name), **environment_of(handle.pod), PROCESS_MARK: mark}
            with (self.folder / f"{name}.log").open("ab") as log:
                process = self._processes[name] = subprocess.Popen(
                    command, stderr=log, start_new_session=True, env=environment
                )
            ready: bool | None = None
            while process.poll() is None and not self._ended.is_set():
                # A paused node does not answer: whoever asks would wait for long.
                now = answers(admin)
                if now != ready:
                    ready = now
                    handle.running(ready=now)
                time.sleep(POLL[ready])
            while name in self.held and not self._ended.is_set() and name not in self._gone:
                time.sleep(0.02)
            if not self._ended.is_set() and name not in self._gone:
                handle.restarted(exit_code=137)
        self._processes.pop(name, None)
        if not self._ended.is_set():
            handle.stopped()


def environment_of(pod: Json) -> dict[str, str]:
    """What the kubelet makes of the container's fields."""
    paths = {"metadata.name": pod["metadata"]["name"], "metadata.namespace": pod["metadata"]["namespace"]}
    environment = pod["spec"]["containers"][0]["env"]
    return {one["name"]: paths[one["valueFrom"]["fieldRef"]["fieldPath"]] for one in environment}


class ActingAgent(FakeAgent):
    """Does to the processes what an agent would do to a container's."""

    def __init__(self, nodes: Callable[[], RestartingNodes]) -> None:
        super().__init__()
        self._nodes = nodes
        self.inject = self._inject
        self.heal = self._heal
        self.observe = self._observe
        self.answers = self._answers
        self.processes = self._processes

    def _inject(self, fault: str, body: Json) -> list[Json]:
        nodes, pod = self._nodes(), body["pod"]["name"]
        match body["kind"]:
            case "kill" | "stop" as kind:
                if "restartAfter" in body:
                    nodes.held.add(pod)
                process = nodes.process(pod)
                if kind == "kill":
                    nodes.container(pod).undo()  # all of the container, as the kernel ends it
                else:
                    process.terminate()
                process.wait(60)
                return [evidence("all processes of the container are gone")]
            case "pause":
                # As the agent does it: it waits until all threads of all processes stand still, which takes a while
                # where the processor is busy.
                Pause(nodes.container(pod)).make([])
                return [evidence("stopped")]
            case "cordon":
                return [evidence("new pods are kept off")]
            case "drop" | "hold" | "delay" | "duplicate" as action:
                rule = {"action": action, "rpc": body["rpc"], "sources": body["sources"], "part": body["part"]}
                call_program(self._socket(pod), "addRule", {"key": fault, **rule})
                return [evidence("the rule is in force")]
            case kind:
                raise AssertionError(f"{kind} cannot be done without privileges")

    def _heal(self, fault: str, body: Json) -> list[Json]:
        nodes, pod = self._nodes(), body["pod"]["name"]
        if nodes.is_gone(pod):
            return [evidence("its pod is gone", "heal")]
        match body["kind"]:
            case "pause":
                Pause(nodes.container(pod)).undo()
            case "kill" | "stop":
                nodes.held.discard(pod)
            case "cordon":
                pass
            case _:
                seen = self._matches(fault, body)
                call_program(self._socket(pod), "dropRule", {"key": fault})
                return [*seen, evidence("the node has taken it back", "heal")]
        return [evidence("gone", "heal")]

    def _observe(self, record: Json) -> list[Json]:
        if record["state"] == "inForce" and "rpc" in record["request"]:
            return self._matches(record["id"], record["request"])
        return []

    def _matches(self, fault: str, body: Json) -> list[Json]:
        matches = call_program(self._socket(body["pod"]["name"]), "ruleMatches", {"key": fault})
        return [evidence(f"acted upon {matches}", matches=matches)]

    def _processes(self, pod: str) -> list[str]:
        return [member.state() for member in self._nodes().container(pod).members()]

    def _socket(self, pod: str) -> str:
        return str(self._nodes().home(pod) / "control.sock")

    def _answers(self, pod: str, what: str, offset: int) -> bytes | None:
        home = self._nodes().home(pod)
        match what:
            case "events":
                kept = self._nodes().kept_events(pod, self.asked.uid)
                path = kept if kept.exists() else home / "events.jsonl"
                if not path.exists():
                    return None
                with path.open("rb") as file:
                    file.seek(offset)
                    return file.read()
            case "dump":
                disk = PosixDisk(home / "data", run_blocking=lambda task: task(), post=lambda task: task())
                number = int(pod.rpartition("-")[2])
                return msgspec.json.Encoder().encode_lines(list(dump_replicas(number, disk)))
            case "session":
                key = call_program(self._socket(pod), "session")
                return json.dumps({"result": key}).encode()
            case _:
                try:
                    url = f"http://127.0.0.1:{self._nodes().admin(pod)}/metrics"
                    with urllib.request.urlopen(url, timeout=5) as answer:
                        found: bytes = answer.read()
                        return found
                except (urllib.error.URLError, OSError):
                    return None
