"""A Kubernetes node made of this machine: pods as control groups, network namespaces and processes, and an agent."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests
import trustme
import yaml
from processes import command_lines
from waiting import until

from highwater_chaos.kube.kinds import CLUSTER_LABEL, VOLUME_CLUSTER_UID
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.network.links import Hub, Link
from highwater_chaos.machine.network.namespaces import Namespace
from highwater_chaos.machine.runs.heal import heal
from highwater_chaos.machine.runs.run import MachineRun

if TYPE_CHECKING:
    from api_server import ApiServer

NODE = "node-1"
PROGRAM = "highwater_operator.agent"
TOKEN = "a-token-that-nobody-guesses"
ACCOUNT = "highwater-system/highwater-agent"
RIGHTS = Path(__file__).parents[3] / "manifests" / "base" / "rbac" / "agent.yaml"
STAND_IN = Path(__file__).with_name("node_stand_in.py")
_addresses = itertools.count(1)


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def control_groups() -> Path:
    """Where version 2 of control groups is mounted."""
    for line in os.fsdecode(Path("/proc/self/mountinfo").read_bytes()).split("\n")[:-1]:
        before, _, after = line.partition(" - ")
        if after.split()[0] == "cgroup2":
            return Path(before.split()[4])
    raise LookupError("version 2 of control groups is not mounted")


@dataclass
class Pod:
    """One pod on this machine."""

    name: str
    world: World
    labels: dict[str, str]
    annotations: dict[str, str]
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))
    children: list[subprocess.Popen[str]] = field(default_factory=list)
    groups: list[Path] = field(default_factory=list)
    address: str = ""
    namespace: str = ""

    @property
    def reference(self) -> dict[str, str]:
        return {"namespace": "default", "name": self.name, "uid": self.uid}

    @property
    def volume(self) -> str:
        return f"default_{self.name}"

    @property
    def data(self) -> Path:
        cluster = self.annotations.get(VOLUME_CLUSTER_UID)
        folder = self.world.volumes if cluster is None else self.world.volumes / f"default_{cluster}"
        return folder / self.volume / "data"

    @property
    def control(self) -> Path:
        return self.world.kubelet / "pods" / self.uid / "volumes" / "kubernetes.io~empty-dir" / "control"

    def start_container(
        self, *arguments: str, executable: str | None = None, mounts: str = "", in_network: bool = True
    ) -> subprocess.Popen[str]:
        """A container of this pod, in its network, with a mount namespace of its own that follows the machine's."""
        container = secrets.token_hex(32)
        group = self.world.groups / f"kubepods-burstable-pod{self.uid.replace('-', '_')}.slice"
        group = group / f"cri-containerd-{container}.scope"
        group.mkdir(parents=True)
        self.groups.append(group)
        script = f'echo $$ > {group}/cgroup.procs; {mounts or ":"}; exec "$@"'
        if executable is not None:
            script = script.replace('exec "$@"', f'exec -a {executable} "$@"')
        child = subprocess.Popen(
            [
                *(["nsenter", f"--net=/run/netns/{self.namespace}"] if in_network else []),
                *("unshare", "-m", "--propagation", "slave"),
                *("bash", "-c", script, "bash", *arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.children.append(child)
        until(lambda: (group / "cgroup.procs").read_text().split() or child.poll() is not None, "it has begun")
        return child

    def start_node(self, file: Path | str = "-") -> subprocess.Popen[str]:
        """The stand-in of a node; up when this returns."""
        child = self.start_container(sys.executable, str(STAND_IN), "highwater-node", str(file))
        assert child.stdout is not None
        said = child.stdout.readline()
        assert said == "up\n", child.stderr.read() if child.stderr else said
        return child

    def start_waiting_node(self) -> subprocess.Popen[str]:
        """The same, which does not begin while it is kept down; it may not be up yet."""
        return self.start_container(sys.executable, str(STAND_IN), "highwater-node", "-", str(self.control))

    def end(self) -> None:
        children, self.children = self.children, []
        groups, self.groups = self.groups, []
        for child in children:
            child.kill()
            child.wait()
            for stream in (child.stdout, child.stderr):
                if stream is not None:
                    stream.close()
        for group in groups:
            until(lambda group=group: not (group / "cgroup.procs").read_text().split(), f"{group} is empty")
            group.rmdir()
        for parent in {group.parent for group in groups}:
            parent.rmdir()


class World:
    """The node: an API server, pods, and the agent's directories."""

    def __init__(self, folder: Path, api: ApiServer) -> None:
        self.folder = folder
        self.api = api
        self.state = folder / "state"
        self.volumes = folder / "volumes"
        self.kubelet = folder / "kubelet"
        self.token = folder / "token"
        self.token.write_text(TOKEN + "\n")
        self.authority = trustme.CA()
        self.authority_file = folder / "ca.pem"
        self.authority.cert_pem.write_to_path(str(self.authority_file))
        self.certificate, self.key = folder / "tls.crt", folder / "tls.key"
        self.issue()
        # Agents have the rights that are shipped, and no others.
        self.account = api.authorizer.add_manifests("the-agents", ACCOUNT, list(yaml.safe_load_all(RIGHTS.read_text())))
        self.agents_kubeconfig = api.kubeconfig(folder / "agents-kubeconfig", "the-agents")
        self.kubeconfig = api.kubeconfig(folder / "kubeconfig")
        self.groups = control_groups() / f"hwtest-{secrets.token_hex(4)}.slice"
        self.groups.mkdir()
        self.volumes.mkdir()
        # As a Bidirectional mount in the agent, and HostToContainer in pods.
        linux.mount(str(self.volumes), self.volumes, "none", linux.MS_BIND)
        linux.mount("none", self.volumes, "none", linux.MS_SHARED)
        self.run = MachineRun.open(label="agent test", root=folder / "machine")
        self.hub = self.run.name("net")
        self.run.make(Namespace(self.hub, self.run.directory))
        self.run.make(Hub(self.hub, "10.79.0.1/16"))
        self.pods: list[Pod] = []

    def issue(self, authority: trustme.CA | None = None, **how: Any) -> None:
        """Another certificate where the agent reads its own."""
        made = (authority or self.authority).issue_cert("highwater-agent", "127.0.0.1", **how)
        made.private_key_pem.write_to_path(str(self.key))
        made.cert_chain_pems[0].write_to_path(str(self.certificate))

    def remove(self, pod: Pod) -> None:
        """End a pod, and delete it from the API server, if a test has not."""
        pod.end()
        if self.api.get("v1", "Pod", pod.name, "default") is not None:
            self.api.delete("v1", "Pod", pod.name, "default", grace=0)

    def pod(
        self,
        name: str,
        *,
        node: str = NODE,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        owner: dict[str, Any] | None = None,
        containers: Sequence[str] = ("node",),
        claims: dict[str, str] | None = None,
    ) -> Pod:
        """A pod with its pause container. ``owner``: its controller, in place of a StatefulSet of its LogCluster.
        ``claims``: by names of its volumes."""
        number = next(_addresses)
        labels = {"highwater.dev/cluster": "demo"} if labels is None else labels
        pod = Pod(name, self, labels, annotations or {})
        pod.namespace = self.run.name(f"p{number}")
        pod.address = f"10.79.1.{number}"
        self.run.make(Namespace(pod.namespace, self.run.directory))
        self.run.make(Link(self.hub, pod.namespace, f"p{number}", f"{pod.address}/16"))
        self.pods.append(pod)
        spec = {
            "nodeName": node,
            "securityContext": {"runAsUser": 10001, "fsGroup": 10002},
            "containers": [{"name": one, "image": "highwater/node:0.2.0"} for one in containers],
            "volumes": [
                {"name": volume, "persistentVolumeClaim": {"claimName": claim}}
                for volume, claim in (claims or {}).items()
            ],
        }
        meta = {"name": name, "namespace": "default", "uid": pod.uid, "labels": labels, "annotations": pod.annotations}
        if (owner := owner or self.owner_of(name, labels)) is not None:
            meta["ownerReferences"] = [owner]
        made = self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        pod.uid = made["metadata"]["uid"]
        pod.start_container("/bin/sleep", "100000", executable="/pause")
        pod.control.mkdir(parents=True)
        return pod

    def owner_of(self, name: str, labels: dict[str, str]) -> dict[str, Any] | None:
        """The StatefulSet of a LogCluster whose pod it is; both are made, as the operator does, where missing."""
        if CLUSTER_LABEL not in labels:
            return None
        group = {"apiVersion": "highwater.dev/v1alpha1", "kind": "LogCluster"}
        # A LogCluster for each StatefulSet: no test has as many of them as pods' names have stems.
        set_name = name.rpartition("-")[0]
        owner = self._made({**group, "metadata": {"name": set_name, "namespace": "default"}, "spec": {}})
        meta = {"name": set_name, "namespace": "default", "ownerReferences": [owner]}
        selector = {"app": set_name}
        template = {"metadata": {"labels": selector}, "spec": {"containers": [{"name": "node", "image": "node"}]}}
        spec = {"serviceName": set_name, "selector": {"matchLabels": selector}, "template": template, "replicas": 100}
        made = self._made({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec})
        status = {"status": {"statefulSets": [f"{set_name}/{made['uid']}"]}}
        self.api.patch(owner["apiVersion"], owner["kind"], set_name, "default", status, "status")
        return made

    def _made(self, manifest: dict[str, Any]) -> dict[str, Any]:
        api_version, kind, name = manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"]
        there = self.api.get(api_version, kind, name, "default") or self.api.create(manifest)
        return {
            "apiVersion": api_version,
            "kind": kind,
            "name": name,
            "uid": there["metadata"]["uid"],
            "controller": True,
        }

    def close(self) -> None:
        """And see that nothing is left."""
        failures: list[str] = []

        def attempt(step: Callable[[], object]) -> None:
            # All of it is tried: what one step leaves must not become many.
            try:
                step()
            except (AssertionError, MachineError, OSError) as error:
                failures.append(str(error))

        for pod in self.pods:
            attempt(pod.end)
        attempt(self._heal)
        for path in (self.state / "volumes").glob("*.json"):
            attempt(partial(self._remove, path.name.removesuffix(".json")))
        attempt(partial(linux.umount, self.volumes, linux.MNT_DETACH))
        attempt(self.groups.rmdir)
        attempt(self.run.__exit__)
        assert failures == []
        assert linux.mount_points(self.folder) == []

    def _heal(self) -> None:
        healed = heal(self.state / "runs", living=True)
        assert [left for result in healed for left in result.left] == []

    def _remove(self, name: str) -> None:
        from highwater_operator.agent.volumes import Volumes

        # Others on this machine may hold copies of our mounts for a while, in mount namespaces of their tests.
        deadline = time.monotonic() + 60
        while True:
            try:
                Volumes(self.state, self.volumes).remove(name, claim=name.startswith("csi_"))
            except MachineError:
                if time.monotonic() > deadline:
                    raise
            else:
                return


class Agent:
    """One agent process."""

    def __init__(self, world: World, program: Sequence[str] = ("-m", PROGRAM), **environment: str) -> None:
        self.world = world
        self.verify = str(world.authority_file)
        self.certificate: tuple[str, str] | None = None
        self._session = requests.Session()
        (world.state / "port").unlink(missing_ok=True)
        self.log = world.folder / "agent.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, *program],
                stderr=log,
                start_new_session=True,
                env={
                    **os.environ,
                    "NODE_NAME": NODE,
                    "KUBECONFIG": str(world.agents_kubeconfig),
                    "HIGHWATER_AGENT_TOKEN_FILE": str(world.token),
                    "HIGHWATER_AGENT_TLS_CERT": str(world.certificate),
                    "HIGHWATER_AGENT_TLS_KEY": str(world.key),
                    "HIGHWATER_AGENT_STATE": str(world.state),
                    "HIGHWATER_AGENT_VOLUMES": str(world.volumes),
                    "HIGHWATER_KUBELET_DIR": str(world.kubelet),
                    "HIGHWATER_AGENT_HOST": "127.0.0.1",
                    "HIGHWATER_AGENT_PORT": "0",
                    **environment,
                },
            )
        until(lambda: (world.state / "port").exists() or self.process.poll() is not None, "the agent listens")
        assert self.process.poll() is None, self.log.read_text()
        self.port = int((world.state / "port").read_text())

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str | None = TOKEN, **more: Any
    ) -> requests.Response:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        url = f"https://127.0.0.1:{self.port}{path}"
        return self._session.request(
            method,
            url,
            data=data,
            headers=headers,
            **{"timeout": 120, "verify": self.verify, "cert": self.certificate, **more},
        )

    def put(
        self, fault: str, kind: str, pod: Pod, seconds: float = 600, volume: str = "", **parameters: Any
    ) -> requests.Response:
        reference = {**pod.reference, **({"volume": volume} if volume else {})}
        body = {"kind": kind, "pod": reference, "deadline": in_seconds(seconds), **parameters}
        return self.ask("PUT", f"/v1/faults/{fault}", body)

    def inject(self, fault: str, kind: str, pod: Pod, seconds: float = 600, **parameters: Any) -> dict[str, Any]:
        answer = self.put(fault, kind, pod, seconds, **parameters)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def heal(self, fault: str) -> dict[str, Any]:
        answer = self.ask("DELETE", f"/v1/faults/{fault}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def state(self, fault: str) -> str:
        return str(self.ask("GET", f"/v1/faults/{fault}").json()["state"])

    def kill(self) -> None:
        """SIGKILL, to the agent alone: its guardian lives on."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def states(*pids: int) -> list[str]:
    """What processes are doing: running, stopped or gone."""
    return ["gone" if (one := Identity.of(pid)) is None else one.state() for pid in pids]


def stopped(pod: Pod) -> bool:
    """Whether the node in it, its second container, stands still."""
    return states(pod.children[1].pid) == ["stopped"]


def guardians(world: World) -> list[Identity]:
    """Living guardians of the agent's runs."""
    found = [
        Identity.of(pid)
        for pid, words in command_lines()
        if b"highwater_chaos.machine.runs.guardian" in words and str(world.state).encode() in b" ".join(words)
    ]
    return [identity for identity in found if identity is not None]


def mounted_loops(image: Path) -> list[str]:
    """Devices over an image, deleted or not, that are mounted here."""
    found = []
    mounted = {line.split()[2] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    for entry in Path("/sys/block").glob("loop*"):
        with suppress(OSError):
            over = (entry / "loop" / "backing_file").read_text().strip().removesuffix(" (deleted)")
            if over == str(image) and (entry / "dev").read_text().strip() in mounted:
                found.append(entry.name)
    return found


def confirmed(record: dict[str, Any], phase: str) -> list[str]:
    """What was seen in a phase; all of it must be as it should, and there must be something."""
    seen = [one for one in record["evidence"] if one["phase"] == phase]
    assert seen, record
    assert all(one["confirmed"] for one in seen), seen
    return [one["saw"] for one in seen]
